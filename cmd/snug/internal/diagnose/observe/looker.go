// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// Looker reads many processes, most of which share programs and cgroups.
type Looker struct {
	Files *goproc.Cache
	// Limits caches the limits that were read, by the text of /proc/PID/cgroup.
	Limits map[string]*limits.Limits
	// Guests makes Each also visit processes with Go code that is not their executable.
	Guests bool
}

// New returns a Looker that also remembers programs for later runs.
func New() *Looker { return &Looker{Files: NewFiles(), Limits: map[string]*limits.Limits{}} }

// NewFiles returns the cache of what is known about executables. It is kept for later runs.
func NewFiles() *goproc.Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = ""
	}
	return goproc.NewCache(dir)
}

// listing bounds what is read of all processes that Each visits: about a second of CPU time. A program that snug has
// seen before takes some kilobytes.
var listing = proc.Amount{Bytes: 2 << 30, Calls: 1 << 20, Time: 10 * proc.OneLook.Time}

// Skips holds the processes that could not be inspected, by why.
type Skips map[Skip][]int

// Skip is why a process could not be inspected; the zero Skip = it could.
type Skip struct {
	Why    string
	Failed bool // a read failed: no permission would help
}

// Add adds a process, unless why is the zero Skip.
func (s Skips) Add(why Skip, pid int) {
	if why != (Skip{}) {
		s[why] = append(s[why], pid)
	}
}

// List returns the processes for a document.
func (s Skips) List() []finding.Skipped {
	all := []finding.Skipped{}
	for _, why := range slices.SortedFunc(maps.Keys(s), func(a, b Skip) int { return strings.Compare(a.Why, b.Why) }) {
		all = append(all, finding.Skipped{Why: why.Why, Failed: why.Failed, Count: len(s[why]),
			PIDs: s[why][:min(10, len(s[why]))]})
	}
	return all
}

// Each visits the Go processes that match, except this one. match comes first because reading
// a process takes much longer than reading its name. Each adds processes that it may not read
// to denied, by the hint that would help, and those with too much to look at, also together.
func (k *Looker) Each(denied Skips, match func(*proc.Process) bool, visit func(*goproc.Facts)) error {
	pids, err := proc.Pids()
	if err != nil {
		return err
	}
	sum := proc.NewBudget(context.Background(), listing, nil)
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		g, err := k.look(pid, sum, match)
		denied.Add(Unread(err), pid)
		if err == nil && g != nil && (g.Exe.IsGo || g.Guest.Path != "") {
			visit(g)
		}
	}
	return nil
}

// Unread says why a process could not be read, if that does not say that it is none.
func Unread(err error) Skip {
	var refusal *proc.Denied
	var number syscall.Errno
	switch {
	case errors.As(err, &refusal):
		return Skip{Why: refusal.Hint()}
	case errors.Is(err, proc.ErrTooMuch):
		return Skip{Why: err.Error()}
	case errors.Is(err, proc.ErrGone), errors.Is(err, proc.ErrNone), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, syscall.ESRCH), !errors.As(err, &number):
		return Skip{}
	}
	return Skip{"cannot be read: " + number.Error(), true}
}

// look reads a process; nil if it does not match. If it has become another program meanwhile,
// look reads it again: whoever started it may know its number before the kernel has set up
// its memory.
func (k *Looker) look(pid int, sum *proc.Budget, match func(*proc.Process) bool) (g *goproc.Facts, err error) {
	for range 3 {
		if g, err = k.once(pid, sum, match); !errors.Is(err, proc.ErrGone) {
			break
		}
	}
	return g, err
}

func (k *Looker) once(pid int, sum *proc.Budget, match func(*proc.Process) bool) (*goproc.Facts, error) {
	p, err := proc.OpenWithin(pid, proc.NewBudget(context.Background(), proc.OneLook, sum))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if !match(p) {
		return nil, nil
	}
	g := goproc.Look(p, k.Files)
	if k.Guests && g.Err == nil && !g.Exe.IsGo {
		if g.Guest, g.Err = k.Files.Guest(p); g.Guest.Path != "" {
			g.Path, g.Deleted, _ = p.Exe()
		}
	}
	if g.Err == nil && g.Exe.IsGo { // what is not Go's is complete without its memory
		g.Err = sum.Over()
	}
	return g, g.Err
}

// LimitsOf returns the limits of a process, or nil if they are unknown, for instance because it
// has ended. Processes in the same groups share limits, except for the CPUs they may run on.
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

// GroupOf returns the text of /proc/PID/cgroup; "" if the process has ended.
func GroupOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return string(text)
}

// OnCPUs returns the limits of a group for a member that may run on cpus CPUs; 0 = unknown. nil
// stays nil.
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

// Momentary reports whether a process is the forked child of a Go program that is about to run
// another program, and until then looks like its parent. Such a child has one thread. If Go's
// runtime has started after a fork, as in runc init, there are more.
func Momentary(s *proc.Stat) bool { return s.Forked && s.Threads < 2 }
