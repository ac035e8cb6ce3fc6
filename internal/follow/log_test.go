// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// A logger keeps what it gets, and calls do with each message.
type logger struct {
	got []string
	do  func(msg string)
}

func (l *logger) Info(msg string, args ...any) { l.log("info", msg, args) }
func (l *logger) Warn(msg string, args ...any) { l.log("warn", msg, args) }
func (l *logger) log(level, msg string, args []any) {
	text := level + " " + msg
	for i := 0; i+1 < len(args); i += 2 {
		text += fmt.Sprintf(" %s=%T(%[2]v)", args[i], args[i+1])
	}
	l.got = append(l.got, text)
	if l.do != nil {
		l.do(msg)
	}
}

// TestLogTo: what is new in an update is logged; the logger may ask the loop.
func TestLogTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		own := &logger{}
		log := LogTo(own)
		own.do = func(string) { w.l.Latest(); w.l.Stats() }
		_, done := watching(w, Config{OnPlan: func() { u := w.l.Latest(); log(&u) }})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(1100 * time.Millisecond)
		w.do(func() { w.memory = 0 })
		time.Sleep(6 * time.Second)
		close(done)
		synctest.Wait()
		decision := func(pairs string) string { return "info snug: decision knob=string(" + pairs }
		const quota = "GOMAXPROCS) value=int64(4) did=string(set) reason=string(quota-ceil) file=string(the cgroup to be made) raw=string(4 CPUs)"
		want := []string{
			decision(fmt.Sprintf("GOMEMLIMIT) value=int64(%d) did=string(set) reason=string(memory-max)", less(256*mib))),
			decision(quota),
			decision("GOMEMLIMIT) did=string(left) reason=string(no-limit)"),
		}
		if !reflect.DeepEqual(own.got, want) {
			t.Errorf("%q,\nwant %q", own.got, want)
		}
	})
}

// TestLogToSaysWhatIsNew: a warning and a gap once, a knob if it changed, a measured value if it moved far.
func TestLogToSaysWhatIsNew(t *testing.T) {
	var own logger
	log := LogTo(&own)
	leave := plan.Setting{Leave: true, Reason: plan.Reason{Code: plan.NoLimit}}
	u := Update{Plan: plan.Plan{GOMAXPROCS: leave, GOMEMLIMIT: plan.Setting{Value: 1000, Reason: plan.Reason{Code: "memory-measured"}}, GOGC: leave}}
	log(&u)
	if len(own.got) != 2 {
		t.Fatalf("%q, want two decisions", own.got)
	}
	u.Plan.GOMEMLIMIT.Value, u.Plan.GOMEMLIMIT.Number = 950, 7
	log(&u)
	u.Plan.GOMEMLIMIT.Value = 1050
	log(&u)
	u.Plan.GOMEMLIMIT.Value = 900
	u.Plan.GOGC = plan.Setting{Value: 150, Reason: plan.Reason{Code: "gc-cost"}}
	u.GOGC = apply.Set
	log(&u)
	u.Plan.Warnings = []limits.Warning{{Code: "w", Source: limits.Source{File: "f"}}}
	u.Limits.Gaps = []limits.Gap{{Field: "field", File: "g", Why: "why"}, {Field: "other", Redundant: true}}
	u.Plan.GOMAXPROCS = plan.Setting{Value: 2, Reason: plan.Reason{Code: "c"}}
	u.Requested = true
	log(&u)
	log(&u)
	u.Requested, u.GOMAXPROCS = false, apply.Lost
	u.Plan.GOGC = leave
	log(&u)
	want := []string{
		"info snug: decision knob=string(GOMEMLIMIT) value=int64(900) did=string(left) reason=string(memory-measured)",
		"info snug: decision knob=string(GOGC) value=int64(150) did=string(set) reason=string(gc-cost)",
		"warn snug: warning code=string(w) file=string(f)",
		"warn snug: unknown field=string(field) file=string(g) why=string(why)",
		"info snug: decision knob=string(GOMAXPROCS) value=int64(2) did=string(lost) reason=string(c)",
		"info snug: decision knob=string(GOGC) did=string(set) reason=string(no-limit)",
	}
	if got := own.got[2:]; !reflect.DeepEqual(got, want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
}

// TestLogToFails: a logger that fails is called no more.
func TestLogToFails(t *testing.T) {
	own := &logger{do: func(string) { panic("full disk") }}
	log := LogTo(own)
	for range 3 {
		log(&Update{Plan: *plan.Nothing(plan.NoLimit)})
	}
	if len(own.got) != 1 {
		t.Errorf("%q, want one call", own.got)
	}
	LogTo(nil)(&Update{})
}
