// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/engines/wire"
)

// questions maps readers to the command lines that are run in each container.
var questions = map[string][]string{
	"snug":         {"snug", "plan", "--json"},
	"runtime":      {"inmate", "runtime"},
	"automaxprocs": {"sizers", "automaxprocs"},
	"automemlimit": {"sizers", "automemlimit"},
	"java":         {java, "-Xlog:os+container=trace", "-version"},
}

// readers lists the parsers of the outputs, in the order of the table.
var readers = []struct {
	name string
	read func(wire.Run) (reading, error)
}{
	{"snug", fromPlan}, {"runtime", fromRuntime}, {"automaxprocs", fromAutomaxprocs}, {"automemlimit", fromAutomemlimit}, {"java", fromJava},
}

// TestLayouts: snug reports the limits that the kernel enforces. It may report unknown where the
// container shows nothing.
func TestLayouts(t *testing.T) {
	l := newLab(t)
	l.startDocker(t)
	outside := l.outside(t)
	r := newRecord(t)
	for _, y := range layouts {
		t.Run(y.name, func(t *testing.T) {
			c := l.start(t, y)
			truth := c.truth(t, l, y)
			t.Logf("%-22s %v", "truth", truth)
			row := r.row(y, truth)
			a := c.ask(t, wire.Request{Do: "run", Run: questions})
			for _, r := range readers {
				said, err := r.read(a.Run[r.name])
				if err != nil && r.name == "java" && y.noProc {
					t.Log(err)
				} else if err != nil {
					t.Error(err)
				}
				t.Logf("%-22s %v", r.name, said)
				row.Said[r.name] = said
				if r.name == "snug" {
					judge(t, "snug plan", y, truth, said)
				}
			}
			for _, from := range outside {
				said, err := fromPlan(from.ask(t, c.pid(t)))
				if err != nil {
					t.Error(err)
				}
				t.Logf("%-22s %v", from.name, said)
				row.Said[from.name] = said
				seen := y
				seen.cpuShown, seen.memoryShown = from.shown, from.shown
				judge(t, from.name, seen, truth, said)
			}
			if t.Failed() {
				a := c.ask(t, wire.Request{Do: "look"})
				t.Logf("/proc/self/cgroup:\n%s/proc/self/mountinfo:\n%s", a.Groups, a.Mounts)
			}
		})
	}
	r.write(t, "layouts", len(layouts))
}

// start starts a container with a layout.
func (l *lab) start(t *testing.T, y layout) *inside {
	t.Helper()
	w := wanted{flags: strings.Fields(y.flags), cpu: y.cpu, memory: y.memory, parent: "/" + l.name}
	w.name, w.dir = l.next()
	w.line = []string{"/e/inmate", "serve", w.name}
	if y.setup != "" {
		w.line = append([]string{"/bin/sh", "-ec", y.setup + "\nexec \"$@\"", "sh"}, w.line...)
	}
	if y.parent {
		w.parent = l.group(t, "of-"+w.name, y.cpu, y.memory)
		w.cpu, w.memory = 0, mebibytes
	}
	return start(t, l.dir, w.name, engines[y.engine](t, l, w))
}

// observer runs `snug plan --pid`.
type observer struct {
	name  string
	shown shown // the limits of other containers that it can read
	ask   func(t *testing.T, pid int) wire.Run
}

// outside returns the observers of a container: this machine, and containers that see all
// processes, as a DaemonSet with hostPID does.
func (l *lab) outside(t *testing.T) []observer {
	t.Helper()
	command := func(snug string, pid int) []string { return []string{snug, "plan", "--json", "--pid", fmt.Sprint(pid)} }
	observers := []observer{{"--pid", all, func(t *testing.T, pid int) wire.Run { return once(command(l.bin+"/snug", pid)) }}}
	for _, o := range []struct {
		name, flags string
		shown       shown
	}{
		{"--pid, host", "--cgroupns host" + tree, all},
		{"--pid, private, tree beside", "--cgroupns private" + beside, all},
		{"--pid, private", "--cgroupns private", hidden},
	} {
		w := wanted{parent: "/" + l.name}
		w.name, w.dir = l.next()
		w.flags = append(strings.Fields(o.flags), "--pid", "host", "--cap-add", "SYS_PTRACE")
		w.line = []string{"/e/inmate", "serve", w.name}
		c := start(t, l.dir, w.name, dockerRun(t, l, w))
		observers = append(observers, observer{o.name, o.shown, func(t *testing.T, pid int) wire.Run {
			t.Helper()
			return c.ask(t, wire.Request{Do: "run", Run: map[string][]string{"plan": command("snug", pid)}}).Run["plan"]
		}})
	}
	return observers
}
