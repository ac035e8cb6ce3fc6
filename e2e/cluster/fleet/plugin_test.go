// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

const (
	// many is the number of nodes that kubectl snug asks, each the containers of a node.
	many, each = 200, 60
	// maxCPU bounds the CPU time of a command of kubectl snug, with that of the kubectl that it runs.
	maxCPU = 5 * time.Second
)

// TestPlugin: kubectl snug asks the agents of 200 nodes through the real API server. kwok plays the nodes
// and their pods, the chart's DaemonSet has a pod on each, and at the address of that pod the document of a
// real agent is served, with the containers of its node, and what such an agent has seen of workloads.
func TestPlugin(t *testing.T) {
	network, flags := egress(t)
	f := newFleetOf(t, many, flags...)
	k := &kubelet{f: f, address: map[string]string{}}
	go k.connect(network)
	commands := map[string]string{"kubectl": kubebuild.Command(t, "kubectl"), "kubectl-snug": f.exe, "helm": kubebuild.Command(t, "helm4")}
	c := f.console(t, commands)
	kube.Must(t, f.Create(t, "/api/v1/namespaces", kube.Object{"metadata": kube.Object{"name": "shop"}}))
	f.Until(t, "the account of shop", func() bool { return f.Get(t, "/api/v1/namespaces/shop/serviceaccounts/default").OK() })
	kube.Must(t, f.Create(t, "/apis/apps/v1/namespaces/shop/daemonsets", `
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: web}]}}
`))
	if _, err := c.run(t, "helm install snug deploy/helm/snug --namespace snug --create-namespace"); err != nil {
		t.Fatal(err)
	}
	agents, web := f.onNodes(t, "snug", "app.kubernetes.io/component%3Dagent"), f.onNodes(t, "shop", "app%3Dweb")
	real := realDocument(t, f.exe)
	var asked atomic.Int64
	needed := 0
	for i := range many {
		node := fmt.Sprintf("node-%d", i)
		if agents[node] == nil || web[node] == nil {
			t.Fatalf("%s has no agent or no web", node)
		}
		answers := map[string][]byte{"/findings": real.of(i, node, web[node]), "/needs": needsOf(t, i, node)}
		needed += len(answers["/needs"])
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			text, ok := answers[r.URL.Path]
			if !ok || i == 8 {
				http.Error(w, "no scan yet", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		}))
		t.Cleanup(s.Close)
		address := fmt.Sprint(agents[node]["status"].(kube.Object)["podIP"], ":9464")
		k.mu.Lock()
		if k.address[address] != "" {
			t.Fatalf("two agents at %s", address)
		}
		if k.address[address] = s.Listener.Addr().String(); i == 9 {
			k.address[address] = "127.0.0.1:1" // nothing listens there
		}
		k.mu.Unlock()
	}

	var d struct {
		Agents, Containers int
		Silent             []silent
		Workloads          []struct {
			Namespace, Workload, Container string
			Containers                     int
			Nodes                          []string
			Procs                          struct{ Least, Most int } `json:"gomaxprocs"`
		}
	}
	ps := c.snug(t, "ps", "--json")
	if err := json.Unmarshal(ps.out, &d); err != nil {
		t.Fatalf("%v, %s%s", err, ps.out, ps.said)
	}
	if d.Agents != many || len(d.Silent) != 2 || d.Silent[0].Node != "node-8" || !strings.Contains(d.Silent[0].Why.Detail, "no scan yet") || d.Silent[1].Node != "node-9" ||
		d.Containers != (many-2)*each || len(d.Workloads) != each {
		t.Errorf("%d agents, %d containers of %d workloads, silent %+v", d.Agents, d.Containers, len(d.Workloads), d.Silent)
	}
	for _, w := range d.Workloads {
		if w.Containers != many-2 || len(w.Nodes) != many-2 {
			t.Errorf("%+v", w)
		}
		if w.Workload == "DaemonSet/web" && (w.Namespace != "shop" || w.Container != "app" || w.Procs.Least != 8 || w.Procs.Most != 128) {
			t.Errorf("%+v", w)
		}
	}
	if n := asked.Load(); n != many-1 {
		t.Errorf("%d agents were asked", n)
	}
	labelled := c.snug(t, "ps", "--namespace", "shop", "--selector", "app=web")
	if !strings.Contains(string(labelled.out), fmt.Sprintf(" in %d containers of 1 workload on %d of %d nodes", many-2, many-2, many)) || !strings.Contains(string(labelled.out), "8 to 128") {
		t.Errorf("%s%s", labelled.out, labelled.said)
	}
	doctor, top := c.snug(t, "doctor"), c.snug(t, "top", "--number", "1")
	figures := struct {
		machine
		Nodes      int                `json:"nodes"`
		Containers int                `json:"containers"`
		Bytes      int                `json:"answer_bytes"`
		Needs      int                `json:"needs_bytes"`
		CPU        map[string]float64 `json:"cpu_seconds"`
		Wall       map[string]float64 `json:"seconds"`
	}{thisMachine(), many, d.Containers, real.size, needed, map[string]float64{}, map[string]float64{}}
	took := c.sizes(t)
	maps.Copy(took, map[string]*ran{"ps": ps, "ps -l": labelled, "doctor": doctor, "top": top})
	for name, r := range took {
		figures.CPU[name], figures.Wall[name] = r.cpu.Seconds(), r.wall.Seconds()
		sized, said := strings.HasPrefix(name, "size"), real.size
		if sized {
			said = needed
		}
		t.Logf("kubectl snug %s: %.2f s of CPU time with kubectl's, in %.1f s; the agents said %d bytes", name, r.cpu.Seconds(), r.wall.Seconds(), said)
		if r.cpu > maxCPU {
			t.Errorf("kubectl snug %s takes %s of CPU time", name, r.cpu)
		}
	}
	record(t, "plugin", figures)
}

// onNodes waits until a pod with a label runs on each node, and returns them by node.
func (f *fleet) onNodes(t *testing.T, namespace, selector string) map[string]kube.Object {
	t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(time.Second) {
		by := map[string]kube.Object{}
		for _, p := range f.list(t, "/api/v1/namespaces/"+namespace+"/pods?labelSelector="+selector) {
			if running(p) {
				by[p["spec"].(kube.Object)["nodeName"].(string)] = p
			}
		}
		if len(by) == many {
			return by
		}
		if time.Now().After(end) {
			t.Fatalf("pods of %s run on %d of %d nodes\n%s", selector, len(by), many, f.kwok.Log())
		}
	}
}

// ran is what a command printed, and what it took, with the commands that it ran.
type ran struct {
	out       []byte
	said      string
	cpu, wall time.Duration
}

// snug runs kubectl snug.
func (c *console) snug(t *testing.T, args ...string) *ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(c.dir), "bin", "kubectl"), append([]string{"snug"}, args...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var said strings.Builder
	cmd.Stderr = &said
	begin := time.Now()
	out, err := cmd.Output()
	r := &ran{out, said.String(), 0, time.Since(begin)}
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		t.Fatalf("kubectl snug %s: %v\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r
}

// document is the text of an agent's document, before and after its containers, and a container with marks
// where nodes differ.
type document struct {
	before, container, after string
	size                     int // of all documents
}

// Marks in document.container. The numbers occur nowhere else.
const (
	markPod, markWorkload, markName, markUID = "@pod@", "@workload@", "@name@", "@uid@"
	markProcs, markCPUs                      = "907081", "907082"
)

// realDocument returns the document of an agent on this machine, with the container of this process.
func realDocument(t *testing.T, exe string) *document {
	t.Helper()
	out, err := exec.Command(exe, "cluster", "agent", "--once", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	numbers := json.NewDecoder(bytes.NewReader(out))
	numbers.UseNumber() // or whole numbers become fractions
	if err := numbers.Decode(&all); err != nil {
		t.Fatal(err)
	}
	var mine kube.Object
	for _, c := range hook.List(all["containers"]) {
		for _, p := range hook.List(c["processes"]) {
			if fmt.Sprint(p["pid"]) == strconv.Itoa(os.Getpid()) {
				mine, c["processes"] = c, []any{p}
			}
		}
	}
	if mine == nil {
		t.Fatalf("this process is not among %s", out)
	}
	p := mine["processes"].([]any)[0].(kube.Object)
	p["gomaxprocs"], p["cpus"] = json.Number(markProcs), json.Number(markCPUs)
	for key, value := range map[string]any{"namespace": "shop", "pod": markPod, "workload": markWorkload, "container": markName, "pod_uid": markUID,
		"container_id": strings.Repeat("ab", 32), "unit": nil, "cgroup": nil, "qos_class": "Burstable", "runtime": "containerd"} {
		mine[key] = value
	}
	all["containers"], all["unsupported"] = []any{"@"}, []any{}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before, after, _ := strings.Cut(text(all), `"@"`)
	return &document{before: before, container: text(mine), after: after}
}

// of returns the document of a node, with the pod of web that runs there.
func (d *document) of(i int, node string, web kube.Object) []byte {
	meta := web["metadata"].(kube.Object)
	var b strings.Builder
	b.WriteString(d.before)
	for j := range each {
		procs := fmt.Sprint(8 << (i % 5))
		replaced := []string{markPod, fmt.Sprint(meta["name"]), markWorkload, "DaemonSet/web", markName, "app", markUID, fmt.Sprint(meta["uid"]), markProcs, procs, markCPUs, procs}
		if j > 0 {
			b.WriteByte(',')
			other := fmt.Sprintf("svc-%d", j)
			replaced = []string{markPod, other + "-" + node, markWorkload, "Deployment/" + other, markName, "app",
				markUID, fmt.Sprintf("%08d-0000-4000-8000-%012d", j, i), markProcs, "4", markCPUs, procs}
		}
		b.WriteString(strings.NewReplacer(replaced...).Replace(d.container))
	}
	b.WriteString(d.after)
	d.size += b.Len()
	return []byte(b.String())
}
