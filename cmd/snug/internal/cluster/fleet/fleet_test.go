// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestMain plays kubectl, if it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		kubectl(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// nodes is the number of nodes of the cluster that is played. The pods of the workload web are on all of
// them, with as many Ps as the node has CPUs.
const nodes = 200

func agentPod(i int) string { return fmt.Sprintf("snug-agent-%03d", i) }

func kubectl(args []string) {
	flag := func(name string) string {
		for _, a := range args {
			if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
				return v
			}
		}
		return ""
	}
	if flag("context") == "broken" {
		fmt.Fprintln(os.Stderr, "a warning\nerror: context \"broken\" does not exist")
		os.Exit(1)
	}
	switch {
	case args[0] == "get" && flag("output") == "json":
		var items []any
		for i := range nodes {
			phase := "Running"
			if i == 7 {
				phase = "Pending"
			}
			items = append(items, map[string]any{
				"metadata": map[string]any{"namespace": "snug", "name": agentPod(i)},
				"spec": map[string]any{"nodeName": fmt.Sprintf("node-%03d", i), "containers": []any{
					map[string]any{"ports": []any{map[string]any{"name": "metrics", "containerPort": 9464}}},
				}},
				"status": map[string]any{"phase": phase},
			})
		}
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"items": items})
	case args[0] == "get":
		fmt.Print("uid-3\nuid-4\n")
	case args[0] == "proxy":
		l, err := net.Listen("unix", flag("unix-socket"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("Starting to serve on %s\n", flag("unix-socket"))
		_ = http.Serve(l, http.HandlerFunc(serve))
	}
}

func serve(w http.ResponseWriter, r *http.Request) {
	var i int
	if n, err := fmt.Sscanf(r.URL.Path, "/api/v1/namespaces/snug/pods/snug-agent-%03d:9464/proxy/needs", &i); n == 1 && err == nil {
		serveNeeds(w, r, i)
		return
	}
	if n, err := fmt.Sscanf(r.URL.Path, "/api/v1/namespaces/snug/pods/snug-agent-%03d:9464/proxy/findings", &i); n != 1 || err != nil {
		http.NotFound(w, r)
		return
	}
	switch i {
	case 8:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","message":"pods \"snug-agent-008\" is forbidden"}`)
	case 9:
		fmt.Fprint(w, `{"kind":"agent","containers":7}`)
	case 10:
		fmt.Fprint(w, `{"kind":"agent","containers":[{"processes":null},{"namespace":"x","pod":"y","processes":[]}]}`)
	default:
		_ = json.NewEncoder(w).Encode(document(i))
	}
}

// document is what the agent of a node says: a pod of web, one of cart, and a service.
func document(i int) *finding.Node {
	d := &finding.Node{Head: finding.NewHead(finding.KindAgent)}
	for j, name := range []string{"web", "cart"} {
		c := finding.Container{
			ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new(fmt.Sprintf("%s-%d", name, i)), Name: new("app"), Workload: new("Deployment/" + name)},
			PodUID:         new(fmt.Sprintf("uid-%d", i)), Quota: figure.New(1.0, ""), Used: figure.New(0.5, ""), MemoryLimit: figure.None[int64](""),
			Processes: []finding.NodeProcess{{Process: finding.Process{GOMAXPROCS: figure.New(8<<(i%5)*(1-j)+2*j, ""), GoVersion: figure.New([]string{"go1.9", "go1.26.8"}[i%2], "")}, CPUs: figure.New(8<<(i%5), "")}},
		}
		if j == 0 && i%5 > 1 {
			c.Processes[0].Findings = []finding.Finding{{ID: "stale-procs", Severity: finding.SeverityWarning, Title: "too many", Fix: "GOMAXPROCS=2"}, {ID: "info", Severity: finding.SeverityInfo}}
		}
		d.Containers = append(d.Containers, c)
	}
	d.Containers = append(d.Containers, finding.Container{Unit: new("kubelet.service"), Processes: []finding.NodeProcess{{}}})
	python := finding.Unsupported{PID: 7, Exe: "/usr/bin/python3", Why: fmt.Sprintf("Go in a library, /app/%d.so", i%3)}
	d.Unsupported = []finding.UnsupportedHere{{Unsupported: python}, {ContainerNames: d.Containers[0].ContainerNames, PodUID: d.Containers[0].PodUID, Unsupported: python}}
	d.Unsupported[1].Name = new("sidecar")
	return d
}

// played puts a kubectl on PATH that plays the cluster.
func played(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "kubectl")); err != nil {
		t.Skip(err)
	}
	t.Setenv("PATH", dir)
}

func look(t *testing.T, f Filter, order string) *finding.Fleet {
	t.Helper()
	k := &Kubectl{Flags: []string{"--context=x"}}
	agents, err := k.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := Sum{Filter: f}
	if err := k.Ask(t.Context(), agents, &sum); err != nil {
		t.Fatal(err)
	}
	return sum.Document(order, time.Now())
}

// TestFleet: the pods of a workload on nodes of different sizes are one row, and what is not seen is said.
func TestFleet(t *testing.T) {
	played(t)
	d := look(t, Filter{}, "finding")
	if d.Agents != nodes || len(d.Silent) != 3 || len(d.Workloads) != 3 || d.Containers != 3*(nodes-4) {
		t.Fatalf("%d agents, %d containers, %d workloads, silent %+v", d.Agents, d.Containers, len(d.Workloads), d.Silent)
	}
	for i, want := range []finding.Why{{Code: finding.SilentPod, Detail: "pending"}, {Code: finding.SilentForbidden, Detail: `403 Forbidden: pods "snug-agent-008" is forbidden`}, {Code: finding.SilentForeign}} {
		if !reflect.DeepEqual(d.Silent[i].Why, want) || d.Silent[i].Node != fmt.Sprintf("node-%03d", 7+i) {
			t.Errorf("%+v, want %+v", d.Silent[i], want)
		}
	}
	web := d.Workloads[0]
	if *web.Name != "Deployment/web" || web.GOMAXPROCS.Least.N != 8 || web.GOMAXPROCS.Most.N != 128 || web.Go.Least.N != "go1.9" || web.Go.Most.N != "go1.26.8" ||
		len(web.Nodes) != nodes-4 || web.Quota.Least.N != 1 || web.Limit.Least.State != figure.None[int64]("").State || web.Used.N != 0.5*(nodes-4) {
		t.Errorf("%+v", web)
	}
	if f := web.Findings; len(f) != 2 || f[0].ID != "stale-procs" || f[0].Containers < nodes/2 || f[0].Pod == "" || f[0].Node == "" {
		t.Errorf("%+v", web.Findings)
	}
	if u := d.Unsupported; len(u) != 2 || u[0].Container != nil || u[0].Processes != nodes-4 || *u[1].Workload != "Deployment/web" || *u[1].Container != "sidecar" || u[1].Processes != nodes-4 || u[1].Why != "Go in a library, /app/0.so" {
		t.Errorf("%+v", u)
	}
	if u := look(t, Filter{Names: []string{"web"}}, "finding").Unsupported; len(u) != 1 || *u[0].Container != "sidecar" {
		t.Errorf("%+v", u)
	}
	if doctor := d.Doctor(); len(doctor.Findings) != 2 || doctor.Findings[0].Of != nodes-4 || *doctor.Findings[0].Workload != "Deployment/web" {
		t.Errorf("%+v", doctor.Findings)
	}
}

func TestFilter(t *testing.T) {
	played(t)
	k := &Kubectl{}
	pods, err := k.Selected(t.Context(), "app=web")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    Filter
		want []string // workload, and its number of containers
	}{
		"namespace":   {Filter{Namespace: "shop"}, []string{"Deployment/cart 196", "Deployment/web 196"}},
		"another":     {Filter{Namespace: "other"}, nil},
		"labels":      {Filter{Pods: pods}, []string{"Deployment/cart 2", "Deployment/web 2"}},
		"name":        {Filter{Names: []string{"WEB"}}, []string{"Deployment/web 196"}},
		"kind":        {Filter{Names: []string{"shop/deployment/web", "cart-3"}}, []string{"Deployment/cart 1", "Deployment/web 196"}},
		"pod":         {Filter{Names: []string{"shop/cart-3"}}, []string{"Deployment/cart 1"}},
		"service":     {Filter{Names: []string{"kubelet.service"}}, []string{"kubelet.service 196"}},
		"row":         {Filter{Names: []string{"shop/Deployment/cart/app"}}, []string{"Deployment/cart 196"}},
		"no row":      {Filter{Names: []string{"shop/Deployment/cart/sidecar"}}, nil},
		"part of one": {Filter{Names: []string{"we"}}, nil},
	} {
		var got []string
		for _, w := range look(t, c.f, "name").Workloads {
			who := w.Container
			if w.Name != nil {
				who = w.Name
			}
			got = append(got, fmt.Sprintf("%s %d", *who, w.Containers))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestMissedNames(t *testing.T) {
	f := Filter{Names: []string{"web", "wbe", "cart"}}
	for _, name := range []string{"Deployment/cart", "Deployment/web", "Deployment/web"} {
		f.passes(&finding.Container{ContainerNames: finding.ContainerNames{Workload: &name}})
	}
	if got := f.Missed(); !slices.Equal(got, []string{"wbe"}) {
		t.Errorf("missed %q, want wbe", got)
	}
	d := &finding.FleetSize{Workloads: []finding.SizedWorkload{{Namespace: new("shop"), Name: new("Deployment/web"), Container: new("app")}, {Container: new("etcd.service")}}}
	if got := MissedSizes(d, []string{"web", "gone", "etcd.service"}); !slices.Equal(got, []string{"gone"}) {
		t.Errorf("missed %q, want gone", got)
	}
}

// TestRowNames: the name of every row, as printed, is accepted for that row.
func TestRowNames(t *testing.T) {
	for want, c := range map[string]finding.Container{
		"shop/Deployment/web/app": {ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new("web-x7k2p"), Name: new("app"), Workload: new("Deployment/web")}},
		"shop/Pod/web-*/app":      {ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new("web-0"), Name: new("app")}},
		"etcd.service":            {Unit: new("etcd.service")},
		"uid-7":                   {PodUID: new("uid-7")},
	} {
		_, row := keyOf(&c)
		got := content.WorkloadName(row.Namespace, row.Name, row.Container)
		if f := (Filter{Names: []string{got}}); got != want || !f.passes(&c) || f.passes(&finding.Container{}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNoKubectl: what kubectl says is the error.
func TestNoKubectl(t *testing.T) {
	played(t)
	k := &Kubectl{Flags: []string{"--context=broken"}}
	if _, err := k.Agents(t.Context()); err == nil || err.Error() != `kubectl: error: context "broken" does not exist` {
		t.Error(err)
	}
	if _, _, _, err := k.Proxy(t.Context()); err == nil || err.Error() != `kubectl: error: context "broken" does not exist` {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := k.Agents(t.Context()); err == nil || err.Error() != "there is no kubectl in PATH" {
		t.Error(err)
	}
	if _, _, _, err := k.Proxy(t.Context()); err == nil || err.Error() != "there is no kubectl in PATH" {
		t.Error(err)
	}
}

// TestNoPage: only what asks for sizes says that an agent without the page is of a version without sizes.
func TestNoPage(t *testing.T) {
	r := &refused{http.StatusNotFound, "404 Not Found: 404 page not found", true}
	if got := whyOf(r, "findings"); got.Code != finding.SilentError || got.Detail != r.text {
		t.Errorf("%+v", got)
	}
	if got := whyOf(r, pageOfNeeds); got.Code != finding.SilentVersion {
		t.Errorf("%+v", got)
	}
}
