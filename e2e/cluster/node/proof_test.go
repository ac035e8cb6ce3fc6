// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/figures"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// clients is the number of concurrent requests, above the server's CPUs.
const clients = 4

// TestProof shows old Go on a real kubelet, before and after snug.
func TestProof(t *testing.T) {
	gate.Root(t, "node")
	c := newCluster(t)
	c.tell(t, "%s, kubelet %s on Linux %s with %d CPUs", old, kubebuild.Kubernetes.Version, kernel(t), runtime.NumCPU())
	t.Run("seen, alerted", c.alarmed)
	t.Run("kubectl snug", c.plugin)
	t.Run("from a container in the pod", c.ephemeral)
	t.Run("names of the node", c.named)
	t.Run("resized", c.resized)
	t.Run("learned, injected, resolved", c.mended)
	t.Run("measured", c.measured)
	if to := os.Getenv(recordVariable); to != "" {
		if err := os.WriteFile(filepath.Join(to, "story.txt"), []byte(c.story.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// tell logs an event and adds it to the record.
func (c *cluster) tell(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	c.story.WriteString(line + "\n")
}

// misfits lists Deployments of namespace shop, and the GOMAXPROCS that Go chose there. The second
// has so little CPU that it is throttled regardless of the machine's load.
var misfits = []struct{ name, image, cpu, procs string }{
	{"plain", plainImage, "1", strconv.Itoa(runtime.NumCPU())},
	{"tight", eightImage, "250m", "8"},
}

// alarmed: an agent reports two misfits, and an alert fires for one of them.
func (c *cluster) alarmed(t *testing.T) {
	c.rights(t)
	for _, d := range misfits {
		p := c.running(t, "shop", d.name)
		if vars := p.variables(); vars != "" {
			t.Errorf("%s has %s although it is not opted in", d.name, vars)
		}
		s := p.self(t)
		c.tell(t, "%s, before: %s", d.name, s)
		if s.Procs != d.procs || s.Limit != off || s.Version != old {
			t.Errorf("%s: want GOMAXPROCS %s", d.name, d.procs)
		}
		c.seen(t, &p, d.name, d.image, d.cpu, d.procs, off)
	}
	before := c.running(t, "shop", "tight")
	stop := loaded(&before)
	defer stop()
	c.alerted(t, &before, "GoProcsAboveQuota", "firing")
}

// mended: the webhook has learned from the agent about the misfits, gives their next pods the right
// variables, and the alert resolves.
func (c *cluster) mended(t *testing.T) {
	before := c.running(t, "shop", "tight")
	c.Wait(t, "the webhook has learned", func() bool {
		var facts struct{ Data map[string]string }
		if err := c.Read("/api/v1/namespaces/snug/configmaps/snug-facts", &facts); err != nil {
			t.Fatal(err)
		}
		text := facts.Data["facts.json"]
		return strings.Contains(text, `"namespace":"shop","workload":"Deployment/plain"`) && strings.Contains(text, `"namespace":"shop","workload":"Deployment/tight"`)
	})
	c.tell(t, "the webhook has learned about both from the agent")
	if a := c.Patch(t, "/api/v1/namespaces/shop", kube.Object{"metadata": kube.Object{"labels": kube.Object{"snug.dev/inject": "enabled"}}}); !a.OK() {
		t.Fatal(a.Message())
	}
	c.tell(t, "namespace shop is labelled snug.dev/inject=enabled, and its Deployments are restarted")
	for _, d := range misfits {
		p := c.replace(t, "shop", d.name, nil, injected)
		said := p.Metadata.Annotations["snug.dev/added"]
		s := p.self(t)
		c.tell(t, "%s, after: %s; variables %s; annotation %q", d.name, s, p.variables(), said)
		if !strings.Contains(said, "GOMAXPROCS") || !strings.Contains(said, "GOMEMLIMIT="+fitting) {
			t.Errorf("%s: annotation %q", d.name, said)
		}
		if s.Procs != "1" || s.Limit != fittingBytes {
			t.Errorf("%s: want GOMAXPROCS 1 and GOMEMLIMIT %s", d.name, fittingBytes)
		}
		c.seen(t, &p, d.name, d.image, d.cpu, "1", fittingBytes)
	}

	after := c.running(t, "shop", "tight")
	defer loaded(&after)()
	// Wait until there is as much data on the new pod as on the old one.
	c.Wait(t, "the new pod is busy", func() bool {
		return len(c.prom.Query(t, fmt.Sprintf(`rate(snug_go_container_cpu_periods_total{pod=%q}[15s]) > 5`, after.Metadata.Name))) == 1
	})
	c.alerted(t, &before, "GoProcsAboveQuota", "")
	c.alerted(t, &after, "GoProcsAboveQuota", "")
}

// The variables that the webhook gives to the server, whose memory limit is 256 MiB, and Go's value
// of an unset GOMEMLIMIT.
const (
	injected     = "GOMAXPROCS=limits.cpu GOMEMLIMIT=" + fitting
	fitting      = "230MiB"
	fittingBytes = "241172480"
	off          = "9223372036854775807"
)

// rights checks that the agent has exactly the rights it needs.
func (c *cluster) rights(t *testing.T) {
	t.Helper()
	var d struct {
		Spec struct{ Template struct{ Spec kube.Object } }
	}
	if err := c.Read("/apis/apps/v1/namespaces/snug/daemonsets/snug-agent", &d); err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	var context any
	for _, k := range spec["containers"].([]any) {
		context = k.(kube.Object)["securityContext"]
	}
	text, err := json.Marshal([]any{spec["hostPID"], spec["hostNetwork"], spec["securityContext"], context})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[true,null,{"seccompProfile":{"type":"RuntimeDefault"}},{"allowPrivilegeEscalation":false,"capabilities":{"add":["SYS_PTRACE"],"drop":["ALL"]},"readOnlyRootFilesystem":true,"runAsGroup":0,"runAsUser":0}]`
	if string(text) != want {
		t.Errorf("the agent's rights are %s", text)
	}
	c.tell(t, "the agent's rights are %s", text)
}

// replace replaces a Deployment's pod, with these labels, until the new one has these variables.
// Labels take time to reach the API server's caches, and facts to reach each replica of the
// webhook. The API server also continues without a webhook that is slow.
func (c *cluster) replace(t *testing.T, namespace, name string, labels kube.Object, variables string) pod {
	t.Helper()
	return c.replaced(t, namespace, name, labels, variables, func(p *pod) (string, bool) { got := p.variables(); return got, got == variables })
}

// replaced is replace until the new pod has what is wanted; get returns what it has, and whether that is it.
func (c *cluster) replaced(t *testing.T, namespace, name string, labels kube.Object, want string, get func(*pod) (string, bool)) pod {
	t.Helper()
	for end := time.Now().Add(deadline); ; {
		metadata := kube.Object{"annotations": kube.Object{"again": time.Now().String()}}
		if labels != nil {
			metadata["labels"] = labels
		}
		c.change(t, namespace, name, metadata)
		p := c.running(t, namespace, name)
		got, is := get(&p)
		if is {
			return p
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %q after %v, want %q", name, got, deadline, want)
		}
		t.Logf("%s has %q, want %q: retrying", name, got, want)
	}
}

// loaded keeps a pod's server busy until stop is called.
func loaded(p *pod) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		load("http://"+p.Status.PodIP+":8080/work", clients, time.Now(), end)
	}()
	return func() { close(end); <-ended }
}

func (c *cluster) namespace(t *testing.T, name, inject string) {
	t.Helper()
	labels := kube.Object{}
	if inject != "" {
		labels["snug.dev/inject"] = inject
	}
	if a := c.Create(t, "/api/v1/namespaces", kube.Object{"metadata": kube.Object{"name": name, "labels": labels}}); !a.OK() {
		t.Fatal(a.Message())
	}
	c.Wait(t, "namespace "+name+" has its account", func() bool {
		return c.Get(t, "/api/v1/namespaces/"+name+"/serviceaccounts/default").OK()
	})
}

// kernel returns the kernel's release.
func kernel(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(sysctls + "kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// alerted waits until an alert about a pod has a state; "" = no alert.
func (c *cluster) alerted(t *testing.T, p *pod, name, state string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("samples of the pod: %q", c.prom.Query(t, fmt.Sprintf("{pod=%q}", p.Metadata.Name)))
		}
	}()
	said := ""
	c.Wait(t, fmt.Sprintf("alert %s about pod %s is %q", name, p.Metadata.Name, state), func() bool {
		is := ""
		for _, a := range c.prom.Alerts(t) {
			if a.Labels["pod"] == p.Metadata.Name && a.Labels["alertname"] == name && is != "firing" {
				is, said = a.State, a.Annotations["description"]
			}
		}
		return is == state
	})
	if state == "" {
		c.tell(t, "there is no alert %s about %s", name, p.Metadata.Name)
		return
	}
	c.tell(t, "alert %s about %s is %s: %s", name, p.Metadata.Name, state, said)
}

// container is the part of the agent's report that the tests use.
type container struct {
	Namespace, Pod, Container, Workload, Image string
	Digest                                     string   `json:"image_digest"`
	Class                                      string   `json:"qos_class"`
	Quota                                      *float64 `json:"quota_cores"`
	MemoryLimit                                *int64   `json:"memory_limit_bytes"`
	Processes                                  []struct {
		Go       string `json:"go_version"`
		Aware    *bool  `json:"container_aware"`
		Procs    *int   `json:"gomaxprocs"`
		Limit    *int64 `json:"gomemlimit_bytes"`
		Findings []struct{ ID string }
	}
}

// seen waits until the agent reports all details of a pod. cpu is the CPU limit as in the manifest.
func (c *cluster) seen(t *testing.T, p *pod, name, image, cpu, procs, limit string) {
	t.Helper()
	var last string
	want := fmt.Sprintf("%s/%s/server Deployment/%s %s digest true Burstable quota %s limit 256MiB %s aware false GOMAXPROCS %s GOMEMLIMIT %s",
		p.Metadata.Namespace, p.Metadata.Name, name, image, cpu, old, procs, limit)
	defer func() {
		if t.Failed() {
			t.Logf("the agent's last report: %s\nwant: %s", last, want)
		}
	}()
	c.Wait(t, "the agent reports "+want, func() bool {
		var d struct{ Containers []container }
		if err := figures.Unmarshal([]byte(get(t, c.agent+"/findings")), &d); err != nil {
			t.Fatal(err)
		}
		// The sandbox, whose pause program is in Go here, is a container without a name.
		i := slices.IndexFunc(d.Containers, func(k container) bool { return k.Pod == p.Metadata.Name && k.Container != "" })
		if i < 0 {
			return false
		}
		last = d.Containers[i].String()
		return last == want
	})
	c.tell(t, "the agent sees %s", last)
}

func (k container) String() string {
	text := fmt.Sprintf("%s/%s/%s %s %s digest %v %s", k.Namespace, k.Pod, k.Container, k.Workload, k.Image, strings.HasPrefix(k.Digest, "sha256:"), k.Class)
	if k.Quota != nil {
		text += " quota " + map[float64]string{1: "1", 0.25: "250m"}[*k.Quota]
	}
	if k.MemoryLimit != nil {
		text += fmt.Sprintf(" limit %dMiB", *k.MemoryLimit>>20)
	}
	for _, p := range k.Processes {
		text += " " + p.Go
		if p.Aware != nil {
			text += fmt.Sprintf(" aware %v", *p.Aware)
		}
		if p.Procs != nil {
			text += fmt.Sprintf(" GOMAXPROCS %d", *p.Procs)
		}
		if p.Limit != nil {
			text += fmt.Sprintf(" GOMEMLIMIT %d", *p.Limit)
		} else {
			text += " GOMEMLIMIT " + off
		}
	}
	return text
}

// get returns the body of a successful response.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v %s", url, r.Status, err, text)
	}
	return string(text)
}
