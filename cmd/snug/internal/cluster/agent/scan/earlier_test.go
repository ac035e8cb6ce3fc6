// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"reflect"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/limits"
)

// TestEarlier: rates from what is kept of a moment are those from the moment.
func TestEarlier(t *testing.T) {
	moment := func(n int64, given bool) *observe.Moment {
		g := &goproc.Facts{Pid: 7, Collections: figure.New(uint32(10*n), "mem"), CPU: figure.New(goproc.CPUClasses{
			GCTotal: time.Duration(n) * time.Second, GCIdle: time.Duration(n) * time.Millisecond, User: time.Duration(5*n) * time.Second, Scavenge: time.Duration(n),
		}, "mem")}
		g.Stat.CPU = time.Duration(6*n) * time.Second
		m := &observe.Moment{At: time.Unix(60*n, 0), Go: g}
		if given {
			m.Limits = &limits.Limits{}
			m.Limits.CPU.Throttle = limits.Throttle{Periods: limits.Of(600 * n), Throttled: limits.Of(60 * n)}
		}
		return m
	}
	for _, given := range []bool{true, false} {
		a, b := moment(1, given), moment(3, true)
		var want, got rules.Facts
		observe.Rates(&want, a, b)
		e := earlierOf(a)
		observe.Rates(&got, e.moment(), b)
		if !reflect.DeepEqual(got, want) || !want.Used.Known() || !want.Cycles.Known() || !want.GCCores.Known() || !want.Throttled.Known() {
			t.Errorf("limits known: %t: %+v, want %+v", given, got, want)
		}
	}
}
