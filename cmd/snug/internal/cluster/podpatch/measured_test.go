// SPDX-License-Identifier: Apache-2.0

package podpatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

func TestParseMeasured(t *testing.T) {
	for _, m := range []podpatch.Measured{
		{Peak: 314572800, Seconds: 604800, Until: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)},
		{Peak: 0, Seconds: 1, Until: time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC)},
		{Peak: 999_999_999_999_999_999, Seconds: 9_999_999_999, Until: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got, ok := podpatch.ParseMeasured(m.String()); !ok || got != m {
			t.Errorf("%s is read as %v, %t", m, got, ok)
		}
	}
	if got := (podpatch.Measured{Peak: 300 << 20, Seconds: 604800, Until: time.Date(2026, 11, 27, 23, 0, 0, 0, time.UTC)}).String(); got != "314572800 bytes in 604800 s until 2026-11-27" {
		t.Error(got)
	}
	const ok = "1 bytes in 1 s until 2026-11-27"
	for _, text := range []string{
		"", "1", " " + ok, ok + " ", ok + "\n", "\n" + ok, "01" + ok[1:], "-1" + ok[1:], "+1" + ok[1:], "1.0" + ok[1:], "1000000000000000000" + ok[1:], "1e3" + ok[1:],
		strings.Replace(ok, "in 1", "in 0", 1), strings.Replace(ok, "in 1", "in 01", 1), strings.Replace(ok, "in 1", "in 10000000000", 1),
		strings.Replace(ok, "-11-", "-13-", 1), strings.Replace(ok, "-27", "-32", 1), strings.Replace(ok, "-27", "-0", 1), strings.Replace(ok, "2026", "1926", 1),
		strings.Replace(ok, " ", "  ", 1), strings.Replace(ok, "bytes", "MiB", 1), strings.Replace(ok, "1 bytes", "\u0661 bytes", 1), ok + ok,
	} {
		if m, ok := podpatch.ParseMeasured(text); ok || m.Known() {
			t.Errorf("%q is read as %v", text, m)
		}
	}
}

// TestMeasuredKey: different containers have different keys, although names have dots and dashes.
func TestMeasuredKey(t *testing.T) {
	of := map[string]string{}
	for _, namespace := range []string{"a", "a-b", "b"} {
		for _, workload := range []string{"Deployment/a", "Deployment/a.b", "Deployment/a-b.a", "StatefulSet/a", "Job/a.b-a"} {
			for _, container := range []string{"a", "b", "a-b"} {
				key, ok := podpatch.MeasuredKey(namespace, workload, container)
				if whose := strings.Join([]string{namespace, workload, container}, " "); !ok || of[key] != "" {
					t.Errorf("%s of %s, and of %s", key, whose, of[key])
				} else {
					of[key] = whose
				}
			}
		}
	}
	if key, _ := podpatch.MeasuredKey("shop", "Deployment/web.v1", "app"); key != "shop_Deployment_web.v1_app" {
		t.Error(key)
	}
	for n, want := range map[int]bool{podpatch.MaxKeyLen: true, podpatch.MaxKeyLen + 1: false} {
		name := strings.Repeat("a", n-len("shop_Deployment__app"))
		if key, ok := podpatch.MeasuredKey("shop", "Deployment/"+name, "app"); ok != want || len(key) != n {
			t.Errorf("a key of %d bytes, %d wanted: %t", len(key), n, ok)
		}
	}
	if _, ok := podpatch.MeasuredKey("shop", "", "app"); ok {
		t.Error("a key without a workload")
	}
}

// TestLearned: what was measured decides on the value alone, where there is one.
func TestLearned(t *testing.T) {
	const mib = 1 << 20
	measured := func(peak, days int64) podpatch.Measured {
		return podpatch.Measured{Peak: peak, Seconds: days * 24 * 3600}
	}
	c := podpatch.Container{Program: podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 26}}, MemoryLimit: limits.Of[int64](1000 * mib), CPULimit: limits.NoLimit[int64]()}
	for _, x := range []struct {
		name          string
		m             podpatch.Measured
		observe, used string
	}{
		{"not measured", podpatch.Measured{}, "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-share", "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-share"},
		{"more than the share leaves", measured(300*mib, 1), "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-share instead:625MiB", "GOMEMLIMIT=625MiB max:no-cpu-limit mem:memory-learned"},
		{"less, for a day", measured(10*mib, 1), "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-share", "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-learned"},
		{"less, for a week", measured(10*mib, 7), "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-share instead:950MiB", "GOMEMLIMIT=950MiB max:no-cpu-limit mem:memory-learned"},
	} {
		c.Measured = x.m
		for mode, want := range map[podpatch.Learned]string{podpatch.LearnedOff: "GOMEMLIMIT=900MiB max:no-cpu-limit mem:memory-share", podpatch.LearnedObserve: x.observe, podpatch.LearnedUse: x.used} {
			p := podpatch.Decide(&c, &podpatch.Policy{Learned: mode})
			got := said(p)
			if p.Instead != "" {
				got += " instead:" + p.Instead
			}
			if got != want {
				t.Errorf("%s, mode %d:\ngot  %s\nwant %s", x.name, mode, got, want)
			}
		}
	}
	for name, c := range map[string]podpatch.Container{
		"no limit":      {Program: c.Program, MemoryLimit: limits.NoLimit[int64]()},
		"shared":        {Program: c.Program, MemoryLimit: c.MemoryLimit, MemoryShared: true},
		"a small one":   {Program: c.Program, MemoryLimit: limits.Of[int64](63 * mib)},
		"set":           {Program: c.Program, MemoryLimit: c.MemoryLimit, Set: map[string]bool{"GOMEMLIMIT": true}},
		"on Windows":    {Program: c.Program, MemoryLimit: c.MemoryLimit, Windows: true},
		"not Go":        {Program: podpatch.Program{State: podpatch.NotGo}, MemoryLimit: c.MemoryLimit},
		"before 1.19":   {Program: podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 18}}, MemoryLimit: c.MemoryLimit},
		"by envFrom":    {Program: c.Program, MemoryLimit: c.MemoryLimit, Opaque: true},
		"of a template": {Program: c.Program},
	} {
		c.Measured = measured(300*mib, 7)
		for _, mode := range []podpatch.Learned{podpatch.LearnedObserve, podpatch.LearnedUse} {
			if p := podpatch.Decide(&c, &podpatch.Policy{Learned: mode}); strings.Contains(said(p), "GOMEMLIMIT=") || p.Instead != "" {
				t.Errorf("%s: %s, instead %s", name, said(p), p.Instead)
			}
		}
	}
}
