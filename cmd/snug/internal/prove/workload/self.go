// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/trace"
	"sync/atomic"
	"time"
)

// program is a self-driven workload.
type program interface {
	// prepare creates the input. It is called once, before everything else.
	prepare() error
	// warm does the work of measure for about this long, or at least once.
	warm(d time.Duration) error
	// measure works for d, or does its fixed amount of work. It returns when nothing is
	// left running.
	measure(d time.Duration, r *record) error
}

// record is what a program reports about its work.
type record struct {
	ops     int64
	latency *latency // nil is not measured
	counts  map[string]int64
	probe   *Probe
	note    string
}

// drive runs p by the protocol in the package's comment.
func drive(name string, p program, o Options) error {
	start := make(chan struct{})
	var done atomic.Bool
	go listen(start, &done)

	if err := p.prepare(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := p.warm(o.Warm); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	runtime.GC() // the window must not pay for the garbage of the warm-up
	if err := send(Event{Event: "warm"}); err != nil {
		return err
	}
	<-start

	ended, err := startTrace(o.Trace)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var r record
	begin := time.Now()
	err = p.measure(o.Window, &r)
	took := time.Since(begin)
	if err = errors.Join(err, ended()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	result := &Result{
		Workload: name, Ops: r.ops, Seconds: took.Seconds(),
		Counts: r.counts, Probe: r.probe, Note: r.note,
	}
	if r.latency != nil {
		r.latency.fill(result)
	}
	done.Store(true) // before the parent reads it
	if err := send(Event{Event: "done", Result: result}); err != nil {
		return err
	}
	select {} // listen ends the process
}

// startTrace starts an execution trace into a new file, and returns the function that
// ends it. If file is "" neither does anything.
func startTrace(file string) (end func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := trace.Start(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		trace.Stop()
		return f.Close()
	}, nil
}

// listen reads the parent's commands, and ends the process when the parent ends.
func listen(start chan<- struct{}, done *atomic.Bool) {
	started := false
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() != "go" || started {
			os.Exit(fail(2, fmt.Errorf("stdin said %q, want one go", in.Text())))
		}
		started = true
		close(start)
	}
	if done.Load() {
		os.Exit(0)
	}
	os.Exit(fail(1, errors.New("stdin ended before the work was done")))
}

func send(e Event) error {
	e.Procs = runtime.GOMAXPROCS(0)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}
