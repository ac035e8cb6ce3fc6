// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/fit/engines/wire"
)

// tolerance is the relative difference between CPU time and quota that still counts as equal. Two
// seconds have twenty periods, and the first and the last may be partial. All other quotas of the
// layouts differ by more.
const (
	seconds   = 2 // of busy threads
	tolerance = 0.25
)

// matchesQuota reports whether the measured cores match the layout's quota.
func (y layout) matchesQuota(measured float64) bool {
	return measured > y.cpu*(1-tolerance) && measured < y.cpu*(1+tolerance)+y.slack
}

// matchesLimit reports whether a process killed at this many MiB shows the limit. The process itself
// and its neighbours use some of the memory too.
func (y layout) matchesLimit(measured, limit float64) bool {
	minShare := 0.8
	if y.crowded {
		minShare = 0.6
	}
	return measured <= limit && measured >= limit*minShare
}

// truth measures what the kernel does: the cores that busy threads get, and the MiB at which a
// process is killed. A busy machine gives less CPU time than the quota, never more: truth then
// measures again.
func (c *inside) truth(t *testing.T, l *lab, y layout) (r reading) {
	t.Helper()
	var highest, control float64
	for late := time.Now().Add(hang); ; {
		b := c.ask(t, wire.Request{Do: "burn", Seconds: seconds}).Burn
		highest = max(highest, b.CPU/b.Wall)
		if y.cpu > 0 && highest > y.cpu*(1-tolerance) {
			r.CPU = figure{limited, highest, "of six busy threads"}
			break
		}
		if y.cpu == 0 {
			// The control: the same threads without a quota.
			b, err := burnHere(l)
			if err != nil {
				t.Fatal(err)
			}
			control = max(control, b)
			if highest > 2*cores && highest > control/2 {
				r.CPU = figure{none, highest, fmt.Sprintf("of six busy threads; outside %.2f", control)}
				break
			}
		}
		if time.Now().After(late) {
			t.Fatalf("busy threads get %.2f cores, the layout has %v", highest, y.cpu)
		}
	}
	r.Memory = eaten(c.ask(t, wire.Request{Do: "eat"}).Eat)
	check(t, y, r)
	return r
}

func eaten(e wire.Eat) figure {
	if e.Killed {
		return figure{limited, float64(e.MiB), "killed"}
	}
	return figure{none, float64(e.MiB), "not killed"}
}

// check checks that the kernel enforces the limits of the layout.
func check(t *testing.T, y layout, truth reading) {
	t.Helper()
	if (truth.CPU.Says == limited) != (y.cpu > 0) || y.cpu > 0 && !y.matchesQuota(truth.CPU.Value) {
		t.Errorf("busy threads get %.2f cores, the layout has %v", truth.CPU.Value, y.cpu)
	}
	killed := truth.Memory.Says == limited
	if killed != (y.memory > 0) || killed && !y.matchesLimit(truth.Memory.Value, float64(y.memory)) {
		t.Errorf("%v MiB, %s, the layout has %d", truth.Memory.Value, truth.Memory.Note, y.memory)
	}
}

// burnHere returns the cores that the same threads get in this process's own group.
func burnHere(l *lab) (float64, error) {
	r := once([]string{l.bin + "/inmate", "burn", fmt.Sprint(seconds)})
	var b wire.Burn
	if err := json.Unmarshal([]byte(r.Stdout), &b); err != nil {
		return 0, fmt.Errorf("%w: %s%s", err, r.Error, r.Stderr)
	}
	return b.CPU / b.Wall, nil
}

// verdict compares an answer with the kernel's behaviour and the layout's limit, which truth has
// verified: right, wrong, unknown or "".
func verdict(said, truth figure, limit float64) string {
	switch {
	case said.Says == "":
		return ""
	case said.Says == unknown:
		return unknown
	case said.Says != truth.Says, said.Says == limited && math.Abs(said.Value/limit-1) > 0.01:
		return "wrong"
	}
	return "right"
}

// judge fails the test if snug's answer is wrong, or unknown although the limit can be read.
func judge(t *testing.T, who string, y layout, truth, said reading) {
	t.Helper()
	one := func(what string, s shown, said, truth figure, limit float64) {
		t.Helper()
		v := verdict(said, truth, limit)
		if v == "right" || s == hidden && v == unknown || s == own && v == "wrong" && said.Value == y.ownCPU {
			return
		}
		t.Errorf("%s, %s of %s: %+v, want the kernel's %+v", who, what, y.name, said, truth)
	}
	one("CPU", y.cpuShown, said.CPU, truth.CPU, y.cpu)
	one("memory", y.memoryShown, said.Memory, truth.Memory, float64(y.memory))
}

func (f figure) String() string {
	switch f.Says {
	case limited:
		return fmt.Sprintf("%.4g", f.Value)
	case "":
		return "-"
	}
	return f.Says
}
