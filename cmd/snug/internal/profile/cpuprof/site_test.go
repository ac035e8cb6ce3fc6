// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"strings"
	"testing"
)

func TestSites(t *testing.T) {
	for _, tt := range []struct {
		name, stack string // innermost first
		demand      Demand
		function    string
	}{
		{"go-statement", "runtime.newproc1 runtime.newproc.func1 runtime.systemstack runtime.newproc main.spawn.func1 main.spawn", StartsGoroutines, "main.spawn.func1"},
		{"go-statement-in-wait-group", "runtime.newproc1 runtime.newproc sync.(*WaitGroup).Go example.com/x.spawn main.main", StartsGoroutines, "example.com/x.spawn"},
		{"ticker", "runtime.lock2 runtime.chanrecv runtime.chanrecv2 main.tick", Receives, "main.tick"},
		{"timer-1.18", "runtime.addtimer time.startTimer time.NewTimer time.After main.wait", SetsTimers, "main.wait"},
		{"timer-1.23", "runtime.(*timer).maybeAdd time.newTimer time.NewTimer main.wait", SetsTimers, "main.wait"},
		{"sleep", "runtime.gopark time.Sleep main.poll", Sleeps, "main.poll"},
		{"mutex-1.18", "runtime.semacquire1 sync.runtime_SemacquireMutex sync.(*Mutex).lockSlow sync.(*Mutex).Lock main.get", TakesMutexes, "main.get"},
		{"mutex-1.24", "runtime.procyield internal/sync.(*Mutex).lockSlow internal/sync.(*Mutex).Lock sync.(*Mutex).Lock main.(*T[...]).get", TakesMutexes, "main.(*T[...]).get"},
		{"write", "[kernel] internal/runtime/syscall.Syscall6 syscall.RawSyscall6 syscall.Syscall syscall.write internal/poll.(*FD).Write os.(*File).Write fmt.Fprintln example.com/log.Print main.main", CallsKernel, "example.com/log.Print"},
		{"only-the-library", "[kernel] syscall.Syscall internal/poll.(*FD).Read net.(*conn).Read net/http.(*connReader).backgroundRead runtime.goexit", UsesConnections, "net/http.(*connReader).backgroundRead"},
		{"inlined", "runtime.chansend runtime.chansend1 main.put+main.produce", Sends, "main.put"},
		{"the-program's-own-work", "main.work main.main", "", ""},
		{"a-call-further-out", "main.work main.(*worker).serve time.Sleep", "", ""},
		{"deep", strings.Repeat("main.visit ", 70) + "main.main", CallsDeep, "main.visit"},
		{"an-expired-timer", "runtime.chansend time.sendTime runtime.(*timer).unlockAndRun runtime.(*timers).run runtime.(*timers).check runtime.schedule", "", ""},
		{"the-scheduler's-stack", "runtime.(*timers).check runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Summarize(stacked(10, tt.stack))
			if err != nil {
				t.Fatal(err)
			}
			if tt.demand == "" {
				if len(s.Sites) > 0 {
					t.Errorf("%+v", s.Sites)
				}
				return
			}
			if len(s.Sites) != 1 || s.Sites[0] != (Site{Demand: tt.demand, Function: tt.function, Samples: 1, Ratio: 1}) {
				t.Errorf("%+v, want %s %s", s.Sites, tt.function, tt.demand)
			}
		})
	}
}

// TestSitePlace: the line is the one with most of the time.
func TestSitePlace(t *testing.T) {
	p := stacked(10, "runtime.newproc main.a", "runtime.newproc main.b", "runtime.newproc main.b", "main.c")
	for _, f := range p.Function {
		f.Filename = "/src/a.go"
		if strings.HasPrefix(f.Name, "main.") {
			f.Name = "main.spawn"
		}
	}
	for i, l := range p.Location {
		l.Line[0].Line = int64(i)
	}
	s, err := Summarize(p)
	if err != nil || len(s.Sites) != 1 || s.Sites[0] != (Site{StartsGoroutines, "main.spawn", "a.go:2", 3, 0.75}) {
		t.Errorf("%+v, %v", s.Sites, err)
	}
}
