// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const mib = 1 << 20

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// seen is what a node has seen of a workload in some hours: a live heap in MiB, in a limit in MiB; 0 = none.
func seen(name string, hours int, live, limit float64) *needs.Workload {
	w := &needs.Workload{Key: needs.Key{Namespace: "shop", Workload: "Deployment/" + name, Container: "app"}, First: noon.Add(-time.Duration(hours) * time.Hour), Last: noon, Every: 15}
	s := float64(hours) * 3600
	w.Seen = s
	w.Live.Add(live*mib, s)
	w.Rest.Add(10*mib, s)
	w.Other.Add(5*mib, s)
	w.Used.Add(2*live*mib, s)
	w.Allocated.Add(20*mib, s)
	w.CPU.Add(0.2, s)
	w.Heap, w.Cycles, w.GC, w.Busy, w.Goal, w.GoalFor = s, 20*s/live, 0.05*s, s, 2*live*mib*s, s
	gogc := 100
	w.Has = needs.Has{Containers: 1, Minor: 26, CPUs: 4, GOGC: &gogc, Aware: true}
	memory := figure.None[float64]("")
	if limit > 0 {
		memory.Know(limit*mib, "")
	}
	w.Has.Limit.Add(memory)
	w.Has.Request.Add(figure.New(0.5, ""))
	return w
}

func serveNeeds(w http.ResponseWriter, r *http.Request, i int) {
	d := needs.Document{Node: fmt.Sprintf("node-%03d", i), At: noon, LeftOut: i % 2}
	switch i {
	case 8:
		http.NotFound(w, r)
		return
	case 9:
		fmt.Fprint(w, `{"kind":"agent"}`)
		return
	case 10:
		fmt.Fprint(w, `{"kind":"snug-needs","version":7}`)
		return
	case 11:
		d.Nameless = 3
	}
	web, gone := seen("web", 72, 50, 1024), seen("gone", 3, 50, 100)
	gone.Has.None()
	web.Has.Quota.Add(figure.None[float64](""))
	web.Live.Add((50+float64(i)/100)*mib, 1/float64(i+1))
	web.Has.CPUs += i % 3
	d.Workloads = []*needs.Workload{web, seen("cart", 5, 100, 120), seen("free", 72, 50, 0), gone}
	if i == 20 { // one node is enough
		d.Workloads[1].Throttle = needs.Share{Part: 9e5, Whole: 1e6}
	}
	if i == 21 {
		other := seen("batch", 30, 10, 64)
		other.Has.Request = needs.Amount{} // several fit
		other.Mates = 2
		d.Workloads = append(d.Workloads, other, &needs.Workload{Key: needs.Key{Container: "etcd.service"}, First: noon, Last: noon, Has: needs.Has{Containers: 1}})
	}
	text, err := d.Encode()
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

func sizes(t *testing.T, f Filter, price size.Price) *finding.FleetSize {
	t.Helper()
	k := &Kubectl{}
	agents, err := k.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := Sizes{Filter: f}
	if err := k.AskNeeds(t.Context(), agents, &s); err != nil {
		t.Fatal(err)
	}
	return s.Document(price, noon)
}

// TestSizes: what nodes have seen of a workload adds up to one row; those at risk come first, then those that save most.
func TestSizes(t *testing.T) {
	played(t)
	d := sizes(t, Filter{}, size.Fargate)
	var names []string
	of := map[string]*finding.SizedWorkload{}
	for i := range d.Workloads {
		w := &d.Workloads[i]
		name := *w.Container
		if w.Name != nil {
			name = strings.TrimPrefix(*w.Name, "Deployment/")
		}
		names = append(names, name)
		of[name] = w
	}
	if got := strings.Join(names, " "); got != "cart web free batch etcd.service" {
		t.Fatal(got)
	}
	web, cart, free, batch := of["web"], of["cart"], of["free"], of["batch"]
	const asked = nodes - 4
	if web.Containers != asked || web.Nodes != asked || web.Days != 3 || d.Gone != 1 || len(d.Silent) != 4 || d.LeftOut != 98 || len(d.Unknown) != 1 || d.Agents != nodes {
		t.Errorf("%d containers on %d nodes, %d gone, %d silent, %d left out, %v", web.Containers, web.Nodes, d.Gone, len(d.Silent), d.LeftOut, d.Unknown)
	}
	for i, want := range []string{finding.SilentPod, finding.SilentVersion, finding.SilentForeign, finding.SilentVersion} {
		if d.Silent[i].Why.Code != want {
			t.Errorf("%+v, want %s", d.Silent[i], want)
		}
	}
	// Money: each container's limit and request, less what it needs.
	if want := asked * (size.Fargate.GiB*(1024-*web.Memory.Value/mib)/1024 + size.Fargate.Core*(0.5-*web.CPURequest.Value)); !close(*web.Saves, want) || want <= 0 {
		t.Errorf("saves %v, want %v", *web.Saves, want)
	}
	if want := asked * size.Fargate.Core * (0.5 - *free.CPURequest.Value); !close(*free.Saves, want) || len(free.Risks) != 0 || free.HasMemory.None != asked {
		t.Errorf("saves %v, want %v: %+v", *free.Saves, want, free)
	}
	if len(cart.Risks) != 2 || cart.Risks[0].Code != finding.SizeKilled || cart.Risks[1].Code != finding.SizeSlowed || cart.Risks[1].Numbers[0] != 0.9 {
		t.Errorf("%v", cart.Risks)
	}
	if want := asked * size.Fargate.GiB * (120 - *cart.Memory.Value/mib) / 1024; !close(*cart.Saves, want) || want >= 0 {
		t.Errorf("saves %v, want %v: the CPU of what is throttled is unknown", *cart.Saves, want)
	}
	if *cart.Memory.Value <= 120*mib || !web.Modeled || !web.Seen.Live.Known() || web.HasQuota.None != asked || web.HasRequest.Least.N != 0.5 {
		t.Errorf("%+v", web)
	}
	if batch.Modeled || batch.HasRequest.Unknown != 1 || batch.Memory.Why.Cause == nil || !strings.Contains(batch.Memory.Why.Cause.Detail, "2 Go processes share") {
		t.Errorf("%+v", batch)
	}
	if etcd := of["etcd.service"]; etcd.Saves != nil || etcd.Memory.Value != nil || etcd.Namespace != nil {
		t.Errorf("%+v", etcd)
	}
	saves, costs := 0.0, 0.0
	for _, w := range d.Workloads {
		if w.Saves != nil {
			saves, costs = saves+max(0, *w.Saves), costs+max(0, -*w.Saves)
		}
	}
	if !close(d.Saves, saves) || !close(d.Costs, costs) {
		t.Errorf("%v, %v", d.Saves, d.Costs)
	}
}

// TestAskNeedsOrder: the answer is the same to the last digit, in whichever order agents answer.
func TestAskNeedsOrder(t *testing.T) {
	played(t)
	k := &Kubectl{}
	agents, err := k.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := func() string {
		s := Sizes{}
		if err := k.AskNeeds(t.Context(), agents, &s); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(s.Document(size.Fargate, noon))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := said()
	slices.Reverse(agents)
	if got := said(); got != want {
		t.Error("another answer in another order")
	}
}

func close(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestSizesFiltered: names and namespaces choose as they do for ps.
func TestSizesFiltered(t *testing.T) {
	played(t)
	for name, c := range map[string]struct {
		f    Filter
		want int
	}{
		"namespace": {Filter{Namespace: "shop"}, 4}, "another": {Filter{Namespace: "x"}, 0}, "name": {Filter{Names: []string{"shop/web", "Deployment/cart"}}, 2}, "service": {Filter{Names: []string{"etcd.service"}}, 1},
	} {
		if d := sizes(t, c.f, size.Price{Core: 1, GiB: 1}); len(d.Workloads) != c.want || d.Price.From != "--price" {
			t.Errorf("%s: %d workloads, want %d", name, len(d.Workloads), c.want)
		}
	}
	for _, w := range sizes(t, Filter{}, size.Fargate).Workloads {
		name := content.WorkloadName(w.Namespace, w.Name, w.Container)
		if d := sizes(t, Filter{Names: []string{name}}, size.Fargate); len(d.Workloads) != 1 {
			t.Errorf("%s: %d workloads", name, len(d.Workloads))
		}
	}
}
