// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	library "github.com/snug-go/snug"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/goenv"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// blindGo is a program that does not read its CPU limit, so that every door has a number for it.
var blindGo = plan.Go{Minor: 24, Blind: true}

// machineCPUs are more than any limit below.
const machineCPUs = 8192

// TestDoors: for one limit, every way to ask gives one number. GOMEMLIMIT is compared in whole MiB, as manifests have
// it. The policies in CEL are compared in e2e/cluster/kube.
func TestDoors(t *testing.T) {
	const mib = 1 << 20
	t.Chdir(t.TempDir())
	here, err := library.Fit(library.Options{CPULimit: machineCPUs - 1, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range []string{"1m", "10m", "499m", "500m", "501m", "999m", "1", "1001m", "1500m", "1999m", "2", "2001m", "2500m", "3", "63500m", "4096", "8191999m"} {
		q, _ := quantity.Parse(cpu)
		cores := float64(q.Milli()) / 1000
		want := plan.ProcsForLimit(cores, &plan.Policy{})
		for door, got := range procsDoors(t, cpu, cores) {
			if door == "size" && cores != float64(int64(cores)) {
				continue // it advises whole cores only
			}
			if door == "auto" && got == min(want, here.GOMAXPROCS.Value) {
				continue // it is bounded by this process's own CPUs and quota, too
			}
			if got != want {
				t.Errorf("%s of CPU: %s says %d Ps, want %d", cpu, door, got, want)
			}
		}
	}
	for _, memory := range []int64{mib, 48 * mib, 56 * mib, 64*mib - 1, 64 * mib, 64*mib + 1, 72 * mib, 80*mib - 1, 80 * mib, 80*mib + 1, 80*mib + 9, 80*mib + 10, 90 * mib, 128974849, 512 * mib, 1 << 30, 1e12, 999_999_999_999_999_999, 1e18} {
		want := plan.MemoryForLimit(memory, &plan.Policy{}) / mib
		for door, got := range memoryDoors(t, memory) {
			if got != want {
				t.Errorf("%d bytes: %s says %d MiB, want %d", memory, door, got, want)
			}
		}
	}
	for _, request := range []string{"1m", "250m", "500m", "501m", "1", "1001m", "1500m", "2", "64"} {
		q, _ := quantity.Parse(request)
		cores := float64(q.Milli()) / 1000
		want := plan.ProcsForRequest(cores, &plan.Policy{})
		p := admitted(t, fmt.Sprintf(`{"requests":{"cpu":%q}}`, request))
		if got := p["webhook GOMAXPROCS"]; got != want {
			t.Errorf("%s of CPU requested: webhook says %d Ps, want %d", request, got, want)
		}
		if got := planned(t, "--root", saved(t, 0, 0), "--cpu-request", request).GOMAXPROCS.Value; got == nil || *got != want {
			t.Errorf("%s of CPU requested: plan says %v Ps, want %d", request, got, want)
		}
	}
}

// saved writes a container with limits and returns its name; 0 = none.
func saved(t *testing.T, cores float64, memory int64) string {
	t.Helper()
	cpuMax, memoryMax := "max 1000000", "max"
	if cores > 0 {
		cpuMax = fmt.Sprintf("%.0f 1000000", cores*1e6)
	}
	if memory > 0 {
		memoryMax = strconv.FormatInt(memory, 10)
	}
	const name = "case.txtar"
	text := "A container.\n-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n30 29 0:27 / /sys/fs/cgroup rw - cgroup2 none rw\n-- proc/self/status --\nCpus_allowed:\t" +
		strings.Repeat("f", machineCPUs/4) + "\n-- proc/meminfo --\nMemTotal: 2000000000000000 kB\n-- sys/fs/cgroup/cgroup.procs --\n-- sys/fs/cgroup/cpu.max --\n" + cpuMax + "\n-- sys/fs/cgroup/memory.max --\n" + memoryMax + "\n-- want --\ngomemlimit -\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// planned returns the answer of `snug plan`.
func planned(t *testing.T, args ...string) (d struct {
	GOMAXPROCS struct{ Value *int64 }
	GOMEMLIMIT struct {
		Value *int64 `json:"value_bytes"`
	}
}) {
	t.Helper()
	code, out, said := spoken(append([]string{"plan", "--json"}, args...))
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("plan %q: exit %d, %v\n%s%s", args, code, err, out, said)
	}
	return d
}

// number returns the number after a variable's name, in text; MiB are left out, and it is -1 if there is none.
func number(text, name string) int64 {
	m := regexp.MustCompile(name + `=(\d+)`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n
}

// described returns Limits with a quota and a memory limit; 0 = none.
func described(cores float64, memory int64) (l limits.Limits) {
	l.CPU.Affinity = limits.Of(machineCPUs)
	l.CPU.Quota = limits.NoLimit[float64]()
	l.Memory.Hard, l.Memory.Soft = limits.NoLimit[int64](), limits.NoLimit[int64]()
	plan.Confine(&l, cores, memory)
	return l
}

func procsDoors(t *testing.T, cpu string, cores float64) map[string]int64 {
	t.Helper()
	doors := admitted(t, fmt.Sprintf(`{"limits":{"cpu":%q}}`, cpu))
	d := planned(t, "--root", saved(t, cores, 0), "--go", "1.24")
	doors = map[string]int64{"webhook": doors["webhook GOMAXPROCS"], "policy": doors["policy GOMAXPROCS"], "plan": *d.GOMAXPROCS.Value}
	in := plan.Input{Limits: described(cores, 0), Go: blindGo}
	for _, v := range goenv.Variables(&in, plan.Decide(&in), func() bool { return false }) {
		doors["run"], _ = strconv.ParseInt(v.Value, 10, 64)
	}
	p, err := library.Fit(library.Options{CPULimit: cores, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	doors["auto"] = p.GOMAXPROCS.Value
	know := func(n float64) figure.Of[float64] { return figure.New(n, "") }
	for _, f := range rules.Check(&rules.Facts{Quota: know(cores), CPUs: know(machineCPUs), Cores: know(cores), Procs: know(machineCPUs + 1), ProcsBy: rules.ByHost, Minor: 24}) {
		if n := number(f.Fix, "GOMAXPROCS"); n > 0 {
			doors["doctor"] = n
		}
	}
	_, _, procs, _ := size.Fits(size.Container{Cores: cores, Memory: 1 << 30}, &finding.Size{}, 24, machineCPUs, false)
	doors["size"] = int64(*procs.Value)
	doors["check of a variable"] = checked(t, "services:\n  c:\n    image: c\n    cpus: "+strconv.FormatFloat(cores, 'f', -1, 64)+"\n    environment: {GOMAXPROCS: \"9000\"}\n", "GOMAXPROCS")
	return doors
}

func memoryDoors(t *testing.T, memory int64) map[string]int64 {
	t.Helper()
	const mib = 1 << 20
	text := strconv.FormatInt(memory, 10)
	given := admitted(t, `{"limits":{"memory":"`+text+`"}}`)
	doors := map[string]int64{"webhook": given["webhook GOMEMLIMIT"], "policy": given["policy GOMEMLIMIT"]}
	doors["plan"] = 0
	if v := planned(t, "--root", saved(t, 0, memory)).GOMEMLIMIT.Value; v != nil {
		doors["plan"] = *v / mib
	}
	doors["run"] = 0
	in := plan.Input{Limits: described(0, memory)}
	for _, v := range goenv.Variables(&in, plan.Decide(&in), func() bool { return false }) {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		doors["run"] = n / mib
	}
	know := func(n float64) figure.Of[float64] { return figure.New(n, "") }
	for _, f := range rules.Check(&rules.Facts{MemHard: know(float64(memory)), MemLimit: figure.Of[float64]{State: limits.None}, GOGC: know(100), Minor: 26}) {
		if f.ID == "gomemlimit-missing" {
			doors["doctor"] = max(0, number(f.Fix, "GOMEMLIMIT"))
		}
	}
	if memory < 1e15 { // its figures are floating point
		set, _, _, _ := size.Fits(size.Container{Cores: 1, Memory: float64(memory)}, &finding.Size{}, 26, 8, true)
		doors["size"] = 0
		if set.Value != nil {
			doors["size"] = int64(*set.Value) / mib
		}
	}
	doors["check"] = max(0, checked(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: c\n    resources: {limits: {memory: \""+text+"\"}}\n    env: [{name: GOMEMLIMIT, value: 8000000TiB}]\n", "GOMEMLIMIT"))
	return doors
}

// checked returns the number that `snug check` advises.
func checked(t *testing.T, text, name string) int64 {
	t.Helper()
	f := manifest.Parse("a.yaml", []byte(text))
	if len(f.Problems) > 0 {
		t.Fatalf("%v\n%s", f.Problems, text)
	}
	n := int64(-1)
	for _, x := range lint.Check([]*manifest.File{f}).Found {
		n = max(n, number(x.Fix, name))
	}
	return n
}

// admitted returns what the webhook gives a container with these resources, and what snug cluster policy --try says.
func admitted(t *testing.T, resources string) map[string]int64 {
	t.Helper()
	object := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"web","labels":{"snug.dev/inject":"enabled","snug.dev/gomaxprocs":"enabled"}},"spec":{"containers":[{"name":"c","image":"c","resources":` + resources + `}]}}`
	question := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","resource":{"group":"","version":"v1","resource":"pods"},"namespace":"web","operation":"CREATE","object":` + object + `}}`
	config, err := policy.Parse(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	text, outcome := (&review.Reviewer{Config: &config}).Fit([]byte(question), review.ByPod)
	var answer struct{ Response struct{ Patch []byte } }
	if err := json.Unmarshal(text, &answer); err != nil || outcome == review.Unreadable {
		t.Fatalf("%v: %s", err, text)
	}
	given := map[string]int64{}
	for _, name := range []string{pod.Procs, pod.Memory} {
		given["webhook "+name] = value(t, string(answer.Response.Patch), name, resources)
	}
	if err := os.WriteFile("pod.json", []byte(object), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, said := spoken([]string{"policy", "--json", "--try", "pod.json"})
	if code != 0 {
		t.Fatalf("%s%s", out, said)
	}
	for _, name := range []string{pod.Procs, pod.Memory} {
		given["policy "+name] = value(t, out, name, resources)
	}
	return given
}

// value returns the number of a variable in JSON, in MiB for a memory; that of a reference to the CPU limit is by the
// resources. It is 0 if there is none.
func value(t *testing.T, text, name, resources string) int64 {
	t.Helper()
	m := regexp.MustCompile(`"name":\s*"` + name + `",\s*"value(?:From)?":\s*(?:"(\d+)|null|\{)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	if m[1] != "" {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		return n
	}
	q, _ := quantity.Parse(regexp.MustCompile(`"cpu":"([^"]*)"`).FindStringSubmatch(resources)[1])
	return (q.Milli() + 999) / 1000 // as the kubelet rounds it
}
