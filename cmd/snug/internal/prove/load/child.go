// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"time"
)

// The protocol of parent and generator, one line each:
//
//	parent -> generator   the Plan, as JSON
//	generator -> parent   event warm
//	parent -> generator   go
//	generator -> parent   event done, with the Result
//
// An event error can replace either event. The generator exits at the end of its stdin,
// at any time: then its parent is gone, for whatever reason. (PR_SET_PDEATHSIG reacts to
// the death of the thread that started the generator, which a Go runtime may end
// earlier.)
type event struct {
	Event  string  `json:"event"`
	Error  string  `json:"error,omitempty"`
	Hint   string  `json:"hint,omitempty"`
	Result *Result `json:"result,omitempty"`
}

const (
	eventWarm  = "warm"
	eventDone  = "done"
	eventError = "error"
	goLine     = "go"
)

// The arguments: snug load, or snug load real-time.
const (
	childArg  = "load"
	becomeArg = "real-time"
)

// ChildMain turns this process into the load generator if it was started as one, and then
// does not return. Otherwise it does nothing. A program that uses this package must call
// it first in main, or in TestMain.
func ChildMain() {
	if len(os.Args) < 2 || os.Args[1] != childArg {
		return
	}
	// A terminal interrupts both processes; the parent handles it.
	signal.Ignore(os.Interrupt)
	out := json.NewEncoder(os.Stdout)
	if err := generate(os.Args, os.Stdin, out); err != nil {
		e := event{Event: eventError, Error: err.Error()}
		if own, ok := errors.AsType[*Error](err); ok {
			e.Hint = own.Cure
		}
		out.Encode(e)
		os.Exit(1)
	}
	os.Exit(0)
}

// generate runs the generator.
func generate(args []string, stdin io.Reader, out *json.Encoder) error {
	switch {
	case len(args) == 3 && args[2] == becomeArg:
		return becomeRealTime(args[:2])
	case len(args) != 2:
		return &Error{What: "the load generator takes its plan from stdin"}
	}
	// An answer leaves little garbage, and the generator's memory is not measured:
	// fewer collections disturb less.
	debug.SetGCPercent(400)

	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return &Error{What: "the load generator got no plan", Cure: "it is started by snug bench"}
	}
	var p Plan
	if err := json.Unmarshal(line, &p); err != nil {
		return &Error{What: fmt.Sprintf("bad load plan: %v", err), Cure: "it is started by snug bench"}
	}
	begin := make(chan struct{})
	go listen(in, begin)
	if is := policy(); p.RealTime && is != realTimePolicy {
		return &Error{What: fmt.Sprintf("cannot become real-time: the scheduling policy is %q", is)}
	}
	l, err := newLoop(p)
	if err != nil {
		return err
	}
	if p.Warm > 0 {
		l.run(p.Warm, streamWarm)
	}
	if err := out.Encode(event{Event: eventWarm}); err != nil {
		return err
	}
	<-begin
	r, err := window(l, p)
	if err != nil {
		return err
	}
	return out.Encode(event{Event: eventDone, Result: &r})
}

// listen waits for the line go, and exits at the end of stdin.
func listen(in *bufio.Reader, begin chan<- struct{}) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(1)
		}
		if line == goLine+"\n" && begin != nil {
			close(begin)
			begin = nil
		}
	}
}

// window runs the window, and measures the generator's own CPU time.
func window(l loop, p Plan) (Result, error) {
	before, ok := cpuTime()
	t := l.run(p.Window, streamWindow)
	elapsed := t.now()
	after, _ := cpuTime()
	r := t.result(elapsed)
	if ok {
		r.CPUSeconds = new((after - before).Seconds())
	}
	if r.Policy = policy(); p.RealTime && r.Policy != realTimePolicy {
		return Result{}, &Error{What: fmt.Sprintf("did not stay real-time: the scheduling policy is %q", r.Policy)}
	}
	return r, nil
}

// loop sends for a time, with one of the streams of random numbers. It returns when every
// request has ended.
type loop interface {
	run(length time.Duration, stream uint64) *tally
}

func newLoop(p Plan) (loop, error) {
	p, err := p.withDefaults()
	if err != nil {
		return nil, err
	}
	targets := make([]target, len(p.URLs))
	for i, text := range p.URLs {
		if targets[i], err = newTarget(p, text); err != nil {
			return nil, err
		}
	}
	if p.Kind == Closed {
		return newClosedLoop(p, targets), nil
	}
	return newOpenLoop(p, targets), nil
}
