// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// machine describes where the figures were measured.
type machine struct {
	Go         string `json:"go_version"`
	Kubernetes string `json:"kubernetes_version"`
	CPUs       int    `json:"cpus"`
}

func thisMachine() machine {
	return machine{runtime.Version(), kubebuild.Kubernetes.Version, runtime.NumCPU()}
}

// outcome counts what happened to a fleet's pods. It is the content of a record.
type outcome struct {
	machine
	Run     string  `json:"run"`
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"` // from the first workload until all pods ran
	Ended   int     `json:"replicas_ended"`

	Running int `json:"pods_running"`
	Given   int `json:"pods_given"`
	Skipped int `json:"pods_skipped"`
	Left    int `json:"pods_not_opted_in"`
	Missed  int `json:"pods_missed"` // opted in, something was due, but neither given nor annotated
	Unsaid  int `json:"pods_unsaid"` // opted in, nothing was due, but not annotated

	FailedCreate int            `json:"failed_create_events"`
	Creates      map[string]int `json:"pod_creates_by_code"` // of the controllers, as counted by the server
	Slowest      float64        `json:"slowest_create_below_seconds"`
	FailedOpen   int            `json:"webhook_failed_open"` // failed calls of the webhook, including dry runs

	Asked       int     `json:"dry_runs"`
	AskedMissed int     `json:"dry_runs_missed"`
	Longest     float64 `json:"dry_runs_longest_seconds"`

	missed, unsaid []string // namespaces and names
}

// look returns what happened to the rows' pods. It fails the test if one is lost, does not run, has
// anything but what is due, or was changed although it is not opted in.
func (f *fleet) look(t testing.TB, run string, all []row) *outcome {
	t.Helper()
	o := &outcome{machine: thisMachine(), Run: run}
	pods := f.pods(t)
	for i := range all {
		r := &all[i]
		o.Pods += r.pods
		if n := len(pods[r.key()]); n != r.pods {
			t.Errorf("%s: %d pods, want %d", r.key(), n, r.pods)
		}
		for _, p := range pods[r.key()] {
			line, said := hook.Stored(p)
			if running(p) {
				o.Running++
			} else {
				t.Errorf("%s does not run", name(p))
			}
			switch {
			case r.fate == left && said == "" && line == r.stored:
				o.Left++
			case r.fate == given && strings.HasPrefix(said, "added: ") && line == r.stored:
				o.Given++
			case r.fate == skipped && strings.HasPrefix(said, "skipped: ") && line == r.stored:
				o.Skipped++
			case r.fate == given && said == "":
				o.Missed++
				o.missed = append(o.missed, name(p))
			case r.fate == skipped && said == "" && line == r.stored:
				o.Unsaid++
				o.unsaid = append(o.unsaid, name(p))
			default:
				t.Errorf("%s is %s: %s, %s", name(p), r.fate, line, said)
			}
		}
	}
	o.FailedCreate = len(f.refused(t))
	for _, text := range f.refused(t) {
		t.Errorf("refused: %s", text)
	}
	f.measure(t, o)
	return o
}

// series matches a line of the API server's metrics.
var series = regexp.MustCompile(`(?m)^([a-z_]+)\{(.*)\} ([0-9.e+]+)$`)

// measure reads the API server's counters.
func (f *fleet) measure(t testing.TB, o *outcome) {
	t.Helper()
	o.Creates = map[string]int{}
	var total float64
	within := map[float64]float64{}
	for _, m := range series.FindAllStringSubmatch(f.metrics(t), -1) {
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		creates := has(m[2], "resource", "pods") && has(m[2], "verb", "POST") && has(m[2], "dry_run", "") && has(m[2], "subresource", "")
		switch {
		case m[1] == "apiserver_request_total" && creates:
			o.Creates[label(m[2], "code")] += int(value)
		case m[1] == "apiserver_request_duration_seconds_count" && creates:
			total += value
		case m[1] == "apiserver_request_duration_seconds_bucket" && creates:
			if le, err := strconv.ParseFloat(label(m[2], "le"), 64); err == nil {
				within[le] += value
			}
		case m[1] == "apiserver_admission_webhook_rejection_count" && value > 0 && has(m[2], "type", "admit"):
			t.Logf("the server counts %s", m[0])
		}
	}
	o.FailedOpen = f.failedOpen(t)
	o.Slowest = 1e9
	for le, n := range within {
		if n == total {
			o.Slowest = min(o.Slowest, le)
		}
	}
	for code := range o.Creates {
		if code != "201" {
			t.Errorf("%d creations of pods got the code %s", o.Creates[code], code)
		}
	}
}

// metrics returns the API server's metrics.
func (f *fleet) metrics(t testing.TB) string {
	t.Helper()
	return string(kube.Must(t, f.Get(t, "/metrics")).Text)
}

// failedOpen returns how often the API server continued without a webhook that did not answer.
func (f *fleet) failedOpen(t testing.TB) int {
	t.Helper()
	n := 0
	for _, m := range series.FindAllStringSubmatch(f.metrics(t), -1) {
		if m[1] == "apiserver_admission_webhook_fail_open_count" {
			value, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			n += int(value)
		}
	}
	return n
}

func label(labels, name string) string {
	_, after, _ := strings.Cut(","+labels, ","+name+`="`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}

func has(labels, name, value string) bool {
	return strings.Contains(","+labels+",", ","+name+`="`+value+`",`)
}

// addAsker adds the results of an asker.
func (o *outcome) addAsker(a *asker) {
	a.end()
	o.Asked, o.AskedMissed, o.Longest = a.asked, a.missed, a.longest.Seconds()
}

// record logs the findings, and writes them to the directory SNUG_RECORD, if set.
func record(t testing.TB, file string, found any) {
	t.Helper()
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if dir := os.Getenv("SNUG_RECORD"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, file+".json"), append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// kubectl runs kubectl as the administrator.
func (f *fleet) kubectl(t testing.TB, args ...string) string {
	t.Helper()
	if f.config == "" {
		f.config = f.Kubeconfig(t)
	}
	cmd := exec.CommandContext(t.Context(), kubebuild.Command(t, "kubectl"), append([]string{"--kubeconfig", f.config}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, &said)
	}
	return string(out)
}

// since returns the seconds since a time, to the millisecond.
func since(begin time.Time) float64 { return float64(time.Since(begin).Round(time.Millisecond)) / 1e9 }
