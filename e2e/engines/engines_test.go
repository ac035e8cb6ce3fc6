// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/engines/wire"
)

// questions are the command lines that are run in each container.
var questions = map[string][]string{
	"snug":         {"snug", "plan", "--json"},
	"runtime":      {"inmate", "runtime"},
	"automaxprocs": {"sizers", "automaxprocs"},
	"automemlimit": {"sizers", "automemlimit"},
	"java":         {java, "-Xlog:os+container=trace", "-version"},
}

// readers are those who answer them, in the order of the table.
var readers = []struct {
	name string
	read func(wire.Run) (reading, error)
}{
	{"snug", fromPlan}, {"runtime", fromRuntime}, {"automaxprocs", fromAutomaxprocs}, {"automemlimit", fromAutomemlimit}, {"java", fromJava},
}

// TestLayouts: snug says what the kernel does, or that it does not know where the
// container shows nothing.
func TestLayouts(t *testing.T) {
	l := newLab(t)
	l.startDocker(t)
	for _, y := range layouts {
		t.Run(y.name, func(t *testing.T) {
			c := l.start(t, y)
			truth := c.truth(t, l, y)
			t.Logf("%-22s %v", "truth", truth)
			a := c.ask(t, wire.Request{Do: "run", Run: questions})
			for _, r := range readers {
				said, err := r.read(a.Run[r.name])
				if err != nil {
					t.Error(err)
				}
				t.Logf("%-22s %v", r.name, said)
				if r.name == "snug" {
					judge(t, "snug plan", y, truth, said)
				}
			}
			pid := c.pid(t)
			said, err := fromPlan(once([]string{l.bin + "/snug", "plan", "--json", "--pid", fmt.Sprint(pid)}))
			if err != nil {
				t.Error(err)
			}
			t.Logf("%-22s %v", "snug --pid", said)
			outside := y
			outside.cpuShown, outside.memoryShown = all, all
			judge(t, "snug plan --pid", outside, truth, said)
			if t.Failed() {
				a := c.ask(t, wire.Request{Do: "look"})
				t.Logf("/proc/self/cgroup:\n%s/proc/self/mountinfo:\n%s", a.Groups, a.Mounts)
			}
		})
	}
}

// start starts a container of a layout.
func (l *lab) start(t *testing.T, y layout) *inside {
	t.Helper()
	l.count++
	name := fmt.Sprintf("%s-%d", l.name, l.count)
	command := []string{"/e/inmate", "serve", name}
	if y.setup != "" {
		command = append([]string{"/bin/sh", "-ec", y.setup + "\nexec \"$@\"", "sh"}, command...)
	}
	flags := strings.Fields(y.flags)
	flags = append(flags, "--cpus", fmt.Sprint(y.cpu), "--memory", fmt.Sprintf("%dm", y.memory))
	return start(t, name, l.docker.run(l, name, flags, command))
}
