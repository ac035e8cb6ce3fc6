// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

const mib = 1 << 20

// need is what the agent of a node has seen of a workload, with its limits.
type need struct {
	namespace, workload string
	live                float64 // MiB, at most
	limit               float64 // MiB; 0 = none
	throttled           bool
}

// needOf returns what the agent of node i has seen of its workload j. Every sixth is at risk, every twelfth twice, and
// another sixth has no limit.
func needOf(i, j int) need {
	n := need{"shop", "DaemonSet/web", float64(40 + j%8 + i%5), float64(512 + 32*(j%7)), j%12 == 0}
	if j > 0 {
		n.workload = fmt.Sprintf("Deployment/svc-%d", j)
	}
	if j >= each/2 {
		n.namespace = "pay"
	}
	switch j % 6 {
	case 0:
		n.limit = 64
	case 5:
		n.limit = 0
	}
	return n
}

// sketch is a distribution as agents write it (snug's package needs): buckets 5 % wide from a thousandth on, with the
// seconds in each. The values are in ten of them, up to most.
func sketch(most, seconds float64) kube.Object {
	const growth, values = 1.05, 10
	var buckets []any
	sum := 0.0
	for k := values - 1; k >= 0; k-- {
		v := most / math.Pow(growth, float64(k))
		sum += v * seconds / values
		buckets = append(buckets, []any{int(math.Log(v/1e-3) / math.Log(growth)), seconds / values})
	}
	return kube.Object{"seconds": seconds, "sum": sum, "buckets": buckets}
}

// needsOf returns the answer of the agent of a node at /needs, after three days.
func needsOf(t *testing.T, i int, node string) []byte {
	t.Helper()
	const seconds = 3 * 24 * 3600.0
	now := time.Now()
	var all []any
	for j := range each {
		n := needOf(i, j)
		amount := func(v float64) kube.Object {
			if v == 0 {
				return kube.Object{"none": 1}
			}
			return kube.Object{"n": 1, "sum": v, "least": v, "most": v}
		}
		w := kube.Object{
			"namespace": n.namespace, "workload": n.workload, "container": "app", "first": now.Add(-seconds * time.Second), "last": now, "seen_seconds": seconds, "interval_seconds": 15,
			"live_heap_bytes": sketch(n.live*mib, seconds), "go_rest_bytes": sketch(10*mib, seconds), "other_bytes": sketch(5*mib, seconds), "used_bytes": sketch(min(2*n.live, cmp.Or(n.limit, 1024))*mib, seconds),
			"allocated_bytes": sketch(20*mib, seconds), "used_cores": sketch(0.2, seconds),
			"collections": seconds / 2, "heap_seconds": seconds, "gc_seconds": 0.05 * seconds, "busy_seconds": seconds, "goal_sum": 2 * n.live * mib * seconds, "goal_seconds": seconds, "processes": 1,
			"has": kube.Object{"containers": 1, "memory_limit_bytes": amount(n.limit * mib), "cpu_request_cores": amount(0.5), "go_minor": 26, "cpus": 4, "gomaxprocs": 4, "gogc_percent": 100, "follows_quota": true},
		}
		if n.throttled {
			w["throttled"] = kube.Object{"part": seconds, "whole": 10 * seconds}
		}
		all = append(all, w)
	}
	text, err := json.Marshal(kube.Object{"kind": "snug-needs", "version": 1, "node": node, "at": now, "workloads": all})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// silent is an agent that does not answer, and why.
type silent struct {
	Node string
	Why  struct{ Code, Detail string }
}

// sizes is the answer of kubectl snug size, as far as it is checked.
type sizes struct {
	Agents, Containers int
	Silent             []silent
	Price              struct{ Core, GiB float64 }
	Saves, Costs       float64
	Workloads          []struct {
		Namespace, Workload, Container string
		Containers, Nodes              int
		Memory                         struct{ Value *float64 } `json:"memory_limit_bytes"`
		CPURequest                     struct{ Value *float64 } `json:"cpu_request_cores"`
		Saves                          *float64
		Risks                          []struct{ Code string }
		Seen                           struct {
			LiveMost float64 `json:"live_heap_most_bytes"`
		}
	}
}

// sizes checks what kubectl snug size says of all nodes, of a namespace and of a workload, and returns what it took.
func (c *console) sizes(t *testing.T) map[string]*ran {
	t.Helper()
	took := map[string]*ran{"size": c.snug(t, "size", "--json"), "size -n": c.snug(t, "size", "--namespace", "pay", "--json")}
	for name, workloads := range map[string]int{"size": each, "size -n": each / 2} {
		var d sizes
		if err := json.Unmarshal(took[name].out, &d); err != nil {
			t.Fatalf("%v, %s%s", err, took[name].out, took[name].said)
		}
		d.check(t, name, workloads)
	}
	text, web := c.snug(t, "size"), c.snug(t, "size", "daemonset/web")
	took["size NAME"] = web
	on := fmt.Sprintf(" on %d of %d nodes, ", many-2, many)
	for _, want := range []string{fmt.Sprint(each, " workloads", on, each/6, " at risk; "), "no scan yet", "node-8", "node-9", "may be killed: it needs "} {
		if !strings.Contains(string(text.out), want) {
			t.Errorf("no %q in %s%s", want, text.out, text.said)
		}
	}
	for _, want := range []string{"1 workload" + on + "1 at risk; ", "shop/DaemonSet/web/app", "throttled in 10 % of the periods", "the heap goal of GOGC=100 fits", "seen: live heap ", "not seen: "} {
		if !strings.Contains(string(web.out), want) {
			t.Errorf("no %q in %s%s", want, web.out, web.said)
		}
	}
	return took
}

// check checks that all nodes add up, and the order of the workloads: risks, then what is saved.
func (d *sizes) check(t *testing.T, name string, workloads int) {
	t.Helper()
	if d.Agents != many || d.Containers != (many-2)*workloads || len(d.Workloads) != workloads ||
		len(d.Silent) != 2 || d.Silent[0].Node != "node-8" || !strings.Contains(d.Silent[0].Why.Detail, "no scan yet") || d.Silent[1].Node != "node-9" || d.Silent[1].Why.Code == "" {
		t.Errorf("%s: %d agents, %d containers of %d workloads, silent %+v", name, d.Agents, d.Containers, len(d.Workloads), d.Silent)
	}
	want := map[string]need{}
	for j := range each {
		n := needOf(4, j) // on such a node most lives
		want[n.namespace+"/"+n.workload] = n
	}
	same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(math.Abs(a)+math.Abs(b)) }
	saved, costs := 0.0, 0.0
	for _, w := range d.Workloads {
		n := want[w.Namespace+"/"+w.Workload]
		risks := 0
		if n.limit == 64 {
			risks++
		}
		if n.throttled {
			risks++
		}
		if w.Containers != many-2 || w.Nodes != many-2 || w.Memory.Value == nil || w.CPURequest.Value == nil || len(w.Risks) != risks ||
			w.Seen.LiveMost < n.live*mib || w.Seen.LiveMost > 1.05*n.live*mib {
			t.Errorf("%s: %+v, want %+v", name, w, n)
			continue
		}
		saves := 0.0 // what the CPU of a throttled workload saves is unknown
		if n.limit > 0 {
			saves += d.Price.GiB * (n.limit - *w.Memory.Value/mib) / 1024
		}
		if !n.throttled {
			saves += d.Price.Core * (0.5 - *w.CPURequest.Value)
		}
		if saves *= many - 2; w.Saves == nil || !same(*w.Saves, saves) {
			t.Errorf("%s: %+v, want %v saved", name, w, saves)
		}
		saved, costs = saved+max(0, saves), costs+max(0, -saves)
	}
	if !same(d.Saves, saved) || !same(d.Costs, costs) || saved == 0 || costs == 0 {
		t.Errorf("%s: saves %v and costs %v, want %v and %v", name, d.Saves, d.Costs, saved, costs)
	}
	if t.Failed() {
		return
	}
	for i := range len(d.Workloads) - 1 {
		a, b := &d.Workloads[i], &d.Workloads[i+1]
		x, y := *a.Saves, *b.Saves
		if len(a.Risks) > 0 {
			x, y = -x, -y // what it costs to end the risk
		}
		if len(a.Risks) < len(b.Risks) || len(a.Risks) == len(b.Risks) && x < y {
			t.Errorf("%s: %s/%s, %v, %v comes before %s/%s, %v, %v", name, a.Namespace, a.Workload, a.Risks, *a.Saves, b.Namespace, b.Workload, b.Risks, *b.Saves)
		}
	}
}
