// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snug-go/snug/adapt"
)

// event is one line of resize. Another process changes the limits and records the times of its
// changes.
type event struct {
	Unix   float64 `json:"unix_seconds"`
	What   string  `json:"what"`   // "plan", "gomaxprocs" or "gomemlimit"
	Number number  `json:"number"` // of "gomaxprocs" and "gomemlimit"
	Procs  int64   `json:"plan_gomaxprocs,omitempty"`
	Memory int64   `json:"plan_gomemlimit_bytes,omitempty"`
}

// resize works, and prints every plan and every change of a knob. It polls the knobs every 5 ms.
func resize(args []string) error {
	f := newFlags("resize", 60)
	live := f.Float64("live", .2, "live heap, as a share of the limit")
	busy := f.Int("busy", 4, "goroutines that work")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := govern(func(p adapt.Plan) {
		printJSON(event{Unix: now(), What: "plan", Procs: p.GOMAXPROCS.Value, Memory: p.GOMEMLIMIT.Value})
	}); err != nil {
		return err
	}
	h := heap{seed: 1}
	h.grow(f.share(*live))
	began := time.Now()
	var ops atomic.Int64
	var all sync.WaitGroup
	for range *busy {
		all.Go(func() {
			for time.Since(began) < f.duration() {
				for range 20 {
					litter(garbage)
				}
				ops.Add(20)
				time.Sleep(time.Millisecond) // about half a CPU per worker
			}
		})
	}
	limit := []metrics.Sample{{Name: "/gc/gomemlimit:bytes"}}
	procs, memory := 0, int64(-1)
	for time.Since(began) < f.duration() {
		if n := runtime.GOMAXPROCS(0); n != procs {
			procs = n
			printJSON(event{Unix: now(), What: "gomaxprocs", Number: number(n)})
		}
		metrics.Read(limit)
		if n := int64(min(limit[0].Value.Uint64(), math.MaxInt64)); n != memory {
			memory = n
			printJSON(event{Unix: now(), What: "gomemlimit", Number: number(n)})
		}
		time.Sleep(5 * time.Millisecond)
	}
	all.Wait()
	runtime.KeepAlive(&h)
	printJSON(struct {
		Load string `json:"load"`
		Ops  int64  `json:"ops"`
		*watched
	}{"resize", ops.Load(), watch()})
	return nil
}

func now() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

// change is one line of CHANGES: the effective limit after the change, which is the smaller one of
// pod and container.
type change struct {
	Unix  float64 `json:"unix_seconds"`
	What  string  `json:"what"` // "memory" or "cpu"
	Way   string  `json:"way"`  // "up" or "down"
	First string  `json:"first"`
	Bytes int64   `json:"bytes"`
	Procs int64   `json:"gomaxprocs"` // the right GOMAXPROCS afterwards
}

// delays joins CHANGES with resize's EVENTS and prints a table: how long each change took to appear
// in a plan, and in the knob. A memory change is followed when GOMEMLIMIT is at most the new limit
// (down) or above the old one (up); a CPU change, when GOMAXPROCS is right.
func delays(args []string) error {
	f := flag.NewFlagSet("governed delays", flag.ContinueOnError)
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return fmt.Errorf("want two files: governed delays CHANGES EVENTS")
	}
	changes, err := lines[change](f.Arg(0))
	if err != nil {
		return err
	}
	events, err := lines[event](f.Arg(1))
	if err != nil {
		return err
	}
	fmt.Println("what,way,first,unix_seconds,plan_seconds,knob_seconds")
	for i, c := range changes {
		until := math.Inf(1)
		for _, d := range changes[i+1:] {
			if d.What == c.What {
				until = d.Unix
				break
			}
		}
		old := change{}
		for _, d := range slices.Backward(changes[:i]) {
			if d.What == c.What {
				old = d
				break
			}
		}
		after := func(is func(event) bool) string {
			for _, e := range events {
				if e.Unix >= c.Unix && e.Unix < until && is(e) {
					return fmt.Sprintf("%.4f", e.Unix-c.Unix)
				}
			}
			return "" // never, or it was right before
		}
		fits := func(n int64) bool {
			switch {
			case c.What == "cpu":
				return n == c.Procs
			case c.Way == "down":
				return n > 0 && n <= c.Bytes
			}
			return n > old.Bytes
		}
		knob := map[string]string{"memory": "gomemlimit", "cpu": "gomaxprocs"}[c.What]
		plan := after(func(e event) bool {
			n := e.Memory
			if c.What == "cpu" {
				n = e.Procs
			}
			return e.What == "plan" && fits(n)
		})
		set := after(func(e event) bool { return e.What == knob && fits(int64(e.Number)) })
		fmt.Println(strings.Join([]string{c.What, c.Way, c.First, fmt.Sprintf("%.4f", c.Unix), plan, set}, ","))
	}
	return nil
}

// lines reads a file of JSON lines and skips those that do not decode into T.
func lines[T any](name string) ([]T, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []T
	s := bufio.NewScanner(file)
	for s.Scan() {
		var one T
		if json.Unmarshal(s.Bytes(), &one) == nil {
			all = append(all, one)
		}
	}
	return all, s.Err()
}
