// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"os"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/limits"
)

// Looker looks at many processes, most of which share programs and cgroups.
type Looker struct {
	Files *goproc.Cache
	// Limits are those that were read, by the text of /proc/PID/cgroup.
	Limits map[string]*limits.Limits
}

// New makes a looker that remembers programs for later runs too.
func New() *Looker { return &Looker{NewFiles(), map[string]*limits.Limits{}} }

// NewFiles remembers what was found out of executables, for later runs too.
func NewFiles() *goproc.Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = ""
	}
	return goproc.NewCache(dir)
}

// Each visits the Go processes here, but this one, that are wanted: only these are
// looked at, which takes much longer than a name. To denied it adds those that may not
// be, by what would help.
func (k *Looker) Each(denied map[string][]int, wanted func(*proc.Process) bool, visit func(*goproc.Facts)) error {
	pids, err := proc.Pids()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		g, err := k.look(pid, wanted)
		var refusal *proc.Denied
		switch {
		case errors.As(err, &refusal):
			denied[refusal.Hint()] = append(denied[refusal.Hint()], pid)
		case err == nil && g != nil && g.Exe.IsGo:
			visit(g)
		}
	}
	return nil
}

// look is what can be known of a process now; nil when it is not wanted. One that became
// another program meanwhile is looked at again: whoever started it may know its number
// before the kernel has laid out its memory.
func (k *Looker) look(pid int, wanted func(*proc.Process) bool) (g *goproc.Facts, err error) {
	for range 3 {
		if g, err = k.once(pid, wanted); !errors.Is(err, proc.ErrGone) {
			break
		}
	}
	return g, err
}

func (k *Looker) once(pid int, wanted func(*proc.Process) bool) (*goproc.Facts, error) {
	p, err := proc.Open(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if !wanted(p) {
		return nil, nil
	}
	g := goproc.Look(p, k.Files)
	return g, g.Err
}

// LimitsOf are a process's limits; nil when they are not known, as when it has ended
// meanwhile. Who is in the same groups has the same, but for
// the CPUs it may run on.
func (k *Looker) LimitsOf(g *goproc.Facts) *limits.Limits {
	group := GroupOf(g.Pid)
	if group == "" {
		return nil
	}
	shared, ok := k.Limits[group]
	if !ok {
		h, err := limits.Open(limits.Process{PID: g.Pid})
		if err != nil {
			return nil
		}
		defer h.Close()
		l, err := h.Read(limits.Counters | limits.Detail | limits.Unreclaimable)
		if err != nil {
			return nil
		}
		shared = &l
		k.Limits[group] = shared
	}
	return OnCPUs(shared, g.CPUs)
}

// GroupOf is the text of a process's cgroups; "" when it has ended.
func GroupOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return string(text)
}

// OnCPUs are limits of a group for a member that may run on so many CPUs; 0 = that is not
// known. nil is nil.
func OnCPUs(shared *limits.Limits, cpus int) *limits.Limits {
	if shared == nil {
		return nil
	}
	l := *shared
	if cpus > 0 {
		l.CPU.Affinity = limits.Of(cpus)
		l.CPU.Cores = limits.Of(float64(cpus))
		if q, ok := l.CPU.Quota.Get(); ok {
			l.CPU.Cores = limits.Of(min(q, float64(cpus)))
		}
	}
	return &l
}

// Momentary reports whether a process is a child of a Go program that is about to
// run another program, and until then looks like its parent. It has one thread; where
// Go's runtime has started after a fork, as in runc init, there are more.
func Momentary(s *proc.Stat) bool { return s.Forked && s.Threads < 2 }
