// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// owned returns a pod of a ReplicaSet of the Deployment web.
func owned(p object) object {
	meta := p["metadata"].(object)
	meta["ownerReferences"] = []any{object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f7c9b6d", "uid": "1", "controller": true}}
	labels, _ := meta["labels"].(object)
	if labels == nil {
		labels = object{}
		meta["labels"] = labels
	}
	labels["pod-template-hash"] = "5d4f7c9b6d"
	return p
}

// web returns what was measured of the container a of the Deployment shop/web.
func web(peak, seconds int64) func(Subject) (podpatch.Measured, bool) {
	return func(s Subject) (podpatch.Measured, bool) {
		if s.Namespace != "shop" || s.Workload != "Deployment/web" || s.Container != "a" {
			return podpatch.Measured{}, true
		}
		return podpatch.Measured{Peak: peak, Seconds: seconds}, true
	}
}

// TestLearned: the modes, and what the annotations say.
func TestLearned(t *testing.T) {
	const (
		mib   = 1 << 20
		spec  = "containers: [{name: a, image: x, resources: {limits: {memory: 1000Mi}}}, {name: b, image: x, resources: {limits: {memory: 1000Mi}}}]"
		share = "a GOMEMLIMIT=900MiB (pod-memory-share); b GOMEMLIMIT=900MiB (pod-memory-share)"
		used  = "a GOMEMLIMIT=625MiB (pod-memory-learned); b GOMEMLIMIT=900MiB (pod-memory-share)"
		other = "a GOMEMLIMIT=625MiB (pod-memory-learned)"
	)
	pods := map[string]object{"owned": owned(podOf(t, "", spec)), "alone": podOf(t, "", spec)}
	for _, c := range []struct {
		config, namespace, pod string
		want                   object
	}{
		{"", "shop", "owned", object{policy.AddedAnnotation: share}},
		{"learned: observe\n", "shop", "owned", object{policy.AddedAnnotation: share, policy.LearnedAnnotation: other}},
		{"learned: use\n", "shop", "owned", object{policy.AddedAnnotation: used}},
		{"learned: use\n", "pay", "owned", object{policy.AddedAnnotation: share}},
		{"learned: use\n", "shop", "alone", object{policy.AddedAnnotation: share}},
		{"learned: observe\nmode: observe\n", "shop", "owned", object{policy.ObservedAnnotation: share, policy.LearnedAnnotation: other}},
		{"learned: use\nmode: observe\n", "shop", "owned", object{policy.ObservedAnnotation: used}},
		{"learned: use\nexclude: {containers: [a]}\n", "shop", "owned", object{policy.AddedAnnotation: "b GOMEMLIMIT=900MiB (pod-memory-share)"}},
	} {
		r := &Reviewer{Config: configured(t, c.config), Measured: web(300*mib, 3600)}
		now, _ := fitted(t, r, c.namespace, ByNamespace, pods[c.pod])
		if _, notes := stored(now); fmt.Sprint(notes) != fmt.Sprint(c.want) {
			t.Errorf("%q, %s, %s:\ngot  %v\nwant %v", c.config, c.namespace, c.pod, notes, c.want)
		}
		again, outcome := fitted(t, r, c.namespace, ByNamespace, now)
		if outcome != Unchanged && !strings.Contains(c.config, "mode: observe") || string(mustJSON(t, again)) != string(mustJSON(t, now)) {
			t.Errorf("%q: a copy becomes %s", c.config, mustJSON(t, again))
		}
	}
}

// TestLearnedChanges: a copy of a pod gets what the mode and the measurement now give, and the
// annotations agree with its value.
func TestLearnedChanges(t *testing.T) {
	const mib = 1 << 20
	of := func(config string, peak int64) *Reviewer {
		return &Reviewer{Config: configured(t, config), Measured: web(peak, 3600)}
	}
	unknown, unseen := of("learned: use\n", 0), of("learned: observe\n", 0)
	unknown.Measured = func(Subject) (podpatch.Measured, bool) { return podpatch.Measured{}, false }
	unseen.Measured = unknown.Measured
	p := owned(podOf(t, "", "containers: [{name: a, image: x, resources: {limits: {memory: 1000Mi}}}]"))
	for _, step := range []struct {
		r    *Reviewer
		size string
		want object
	}{
		{of("learned: use\n", 300*mib), "625MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=625MiB (pod-memory-learned)"}},
		{of("learned: use\n", 400*mib), "500MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=500MiB (pod-memory-learned)"}},
		{of("learned: observe\n", 300*mib), "900MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=900MiB (pod-memory-share)", policy.LearnedAnnotation: "a GOMEMLIMIT=625MiB (pod-memory-learned)"}},
		{of("learned: observe\n", 400*mib), "900MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=900MiB (pod-memory-share)", policy.LearnedAnnotation: "a GOMEMLIMIT=500MiB (pod-memory-learned)"}},
		{of("learned: use\n", 400*mib), "500MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=500MiB (pod-memory-learned)"}},
		{of("learned: observe\n", 400*mib), "900MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=900MiB (pod-memory-share)", policy.LearnedAnnotation: "a GOMEMLIMIT=500MiB (pod-memory-learned)"}},
		{unseen, "900MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=900MiB (pod-memory-share)", policy.LearnedAnnotation: "a GOMEMLIMIT=500MiB (pod-memory-learned)"}},
		{of("learned: observe\n", 10*mib), "900MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=900MiB (pod-memory-share)"}},
		{of("learned: use\n", 300*mib), "625MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=625MiB (pod-memory-learned)"}},
		{unknown, "625MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=625MiB (pod-memory-learned)"}},
		{of("", 300*mib), "900MiB", object{policy.AddedAnnotation: "a GOMEMLIMIT=900MiB (pod-memory-share)"}},
	} {
		p, _ = fitted(t, step.r, "shop", ByNamespace, p)
		if _, notes := stored(p); sizeOf(p, "a") != step.size || fmt.Sprint(notes) != fmt.Sprint(step.want) {
			t.Errorf("%s, %v, want %s, %v", sizeOf(p, "a"), notes, step.size, step.want)
		}
	}
}

// TestLearnedAsPolicies: with an entry for some containers, a pod gets what policy.Decide gives.
// e2e/cluster/kube compares that with the policies on a real API server.
func TestLearnedAsPolicies(t *testing.T) {
	changed := 0
	for i, text := range configs {
		for _, mode := range []string{"observe", "use"} {
			r := &Reviewer{Config: configured(t, text+"learned: "+mode+"\n")}
			random := rand.New(rand.NewPCG(14, uint64(i)))
			for range 300 {
				p := owned(randomPod(random))
				peaks := map[string]podpatch.Measured{}
				for _, name := range "abcde" {
					if random.IntN(2) == 0 {
						peaks[string(name)] = podpatch.Measured{Peak: random.Int64N(1 << random.IntN(34)), Seconds: 1 + random.Int64N(1<<21)}
					}
				}
				r.Measured = func(s Subject) (podpatch.Measured, bool) { return peaks[s.Container], true }
				namespace, by := one(random, "web", "shop", "kube-system"), OptIn(random.IntN(2))
				want, _ := expectedOf(t, r.Config, namespace, by, p, peaks)
				without, _ := expected(t, r.Config, namespace, by, p)
				now, _ := fitted(t, r, namespace, by, p)
				got, notes := stored(now)
				if got != want || mode == "observe" && got != without {
					t.Fatalf("configuration %d, %s\ngot  %s\nwant %s\n%s", i, mode, got, want, mustJSON(t, p))
				}
				used := strings.Contains(fmt.Sprint(notes[policy.AddedAnnotation]), podpatch.MemoryLearned)
				if mode == "observe" && used || mode == "use" && (got != without && !used || notes[policy.LearnedAnnotation] != nil) {
					t.Fatalf("configuration %d, %s: %v\n%s", i, mode, notes, mustJSON(t, p))
				}
				if got != without || notes[policy.LearnedAnnotation] != nil {
					changed++
				}
			}
		}
	}
	if changed < 100 {
		t.Errorf("%d changed: hardly anything was tested", changed)
	}
}

// TestLearnedTooLong: a pod is never refused because of its annotations.
func TestLearnedTooLong(t *testing.T) {
	p := owned(podOf(t, "", "containers: [{name: a, image: x, resources: {limits: {memory: 1000Mi}}}]"))
	p["metadata"].(object)["annotations"] = object{"x": strings.Repeat("x", pod.MaxAnnotations-90)}
	r := &Reviewer{Config: configured(t, "learned: observe\n"), Measured: web(300<<20, 3600)}
	now, _ := fitted(t, r, "shop", ByNamespace, p)
	_, notes := stored(now)
	if notes[policy.AddedAnnotation] == nil || notes[policy.LearnedAnnotation] != nil {
		t.Errorf("%.200v", notes[policy.AddedAnnotation])
	}
	of := &pod.Texts{Given: true, Size: pod.MaxAnnotations - 20}
	var all patch
	for _, key := range []string{"one", "two", "three"} { // each fits alone
		all.note(of, key, "0123456789")
	}
	if of.Size > pod.MaxAnnotations || strings.Contains(string(all), "two") {
		t.Errorf("%d bytes, %s", of.Size, all)
	}
}
