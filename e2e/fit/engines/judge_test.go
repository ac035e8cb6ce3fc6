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

// far is how far CPU time may be from a quota and still show it. Two seconds are twenty
// periods, of which the first and the last need not be whole. No other quota of the
// layouts is as near.
const (
	seconds = 2 // that threads are busy
	far     = 0.25
)

// fits tells whether what was measured shows the layout's quota.
func (y layout) fits(measured float64) bool {
	return measured > y.cpu*(1-far) && measured < y.cpu*(1+far)+y.slack
}

// holds tells whether a process that was killed at some MiB shows a limit: what it is
// made of and its neighbours need some memory, too.
func (y layout) holds(measured, limit float64) bool {
	least := 0.8
	if y.crowded {
		least = 0.6
	}
	return measured <= limit && measured >= limit*least
}

// truth is what the kernel does: the CPU time that busy threads get, and the MiB at which a
// process is killed. A busy machine gives less CPU time than the quota, never more: it is
// then measured again.
func (c *inside) truth(t *testing.T, l *lab, y layout) (r reading) {
	t.Helper()
	var most, control float64
	for late := time.Now().Add(hang); ; {
		b := c.ask(t, wire.Request{Do: "burn", Seconds: seconds}).Burn
		most = max(most, b.CPU/b.Wall)
		if y.cpu > 0 && most > y.cpu*(1-far) {
			r.CPU = figure{limited, most, "of six busy threads"}
			break
		}
		if y.cpu == 0 {
			// Beside it: the same without a quota.
			b, err := burnHere(l)
			if err != nil {
				t.Fatal(err)
			}
			control = max(control, b)
			if most > 2*cores && most > control/2 {
				r.CPU = figure{none, most, fmt.Sprintf("of six busy threads; outside %.2f", control)}
				break
			}
		}
		if time.Now().After(late) {
			t.Fatalf("busy threads get %.2f cores, with %v by the layout", most, y.cpu)
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

// check makes sure that what the kernel does is what the layout was to make it do.
func check(t *testing.T, y layout, truth reading) {
	t.Helper()
	if (truth.CPU.Says == limited) != (y.cpu > 0) || y.cpu > 0 && !y.fits(truth.CPU.Value) {
		t.Errorf("busy threads get %.2f cores, with %v by the layout", truth.CPU.Value, y.cpu)
	}
	killed := truth.Memory.Says == limited
	if killed != (y.memory > 0) || killed && !y.holds(truth.Memory.Value, float64(y.memory)) {
		t.Errorf("%v MiB, %s, with %d by the layout", truth.Memory.Value, truth.Memory.Note, y.memory)
	}
}

// burnHere is the CPU time that the same threads get in this process's own group.
func burnHere(l *lab) (float64, error) {
	r := once([]string{l.bin + "/inmate", "burn", fmt.Sprint(seconds)})
	var b wire.Burn
	if err := json.Unmarshal([]byte(r.Stdout), &b); err != nil {
		return 0, fmt.Errorf("%w: %s%s", err, r.Error, r.Stderr)
	}
	return b.CPU / b.Wall, nil
}

// verdict is what is to be thought of a figure beside what the kernel was seen to do, by
// the limit that the layout has: truth has made sure that it is this limit.
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

// judge fails the test where snug is sure of what is not so, or does not know what can be
// read.
func judge(t *testing.T, who string, y layout, truth, said reading) {
	t.Helper()
	one := func(what string, s shown, said, truth figure, limit float64) {
		t.Helper()
		v := verdict(said, truth, limit)
		if v == "right" || s == nought && v == unknown || s == own && v == "wrong" && said.Value == y.ownCPU {
			return
		}
		t.Errorf("%s, %s of %s: %+v, but the kernel: %+v", who, what, y.name, said, truth)
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
