// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/oracle"
	"github.com/snug-go/snug/limits"
)

var oracleRuns = flag.String("oracle", "", "how many worlds TestOracle tries: a number, a time as in 20s for new ones, or seed=N")

// TestOracle compares the reader with package oracle, which shares no code with it, in random
// worlds of cgroups and mounts.
func TestOracle(t *testing.T) {
	first, n, until := uint64(1), uint64(4000), time.Time{}
	switch seed, one := strings.CutPrefix(*oracleRuns, "seed="); {
	case one:
		s, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, n = s, 1
	case *oracleRuns == "":
		if testing.Short() {
			n = 500
		}
	default:
		var err error
		if n, err = strconv.ParseUint(*oracleRuns, 10, 64); err != nil {
			d, err := time.ParseDuration(*oracleRuns)
			if err != nil {
				t.Fatal(err)
			}
			first, n, until = uint64(time.Now().UnixNano()), 1<<62, time.Now().Add(d)
		}
	}
	var next, shown atomic.Uint64
	var mu sync.Mutex
	all := outcomes{}
	var wait sync.WaitGroup
	for range 2 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			mine := outcomes{}
			for i := next.Add(1) - 1; i < n && (until.IsZero() || time.Now().Before(until)); i = next.Add(1) - 1 {
				steps := oracle.Random(first + i)
				mine["worlds"]++
				if compare(oracle.Build(steps), mine) == "" {
					continue
				}
				if mine["worlds that are wrong"]++; shown.Add(1) <= 5 {
					steps = oracle.Shrink(steps, func(w *oracle.World) bool { return compare(w, outcomes{}) != "" })
					t.Errorf("-oracle seed=%d\n%s", first+i, explain(steps))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for what, n := range mine {
				all[what] += n
			}
		}()
	}
	wait.Wait()
	t.Log(all)
}

// TestOracleFollows: an open handle reads later changes.
func TestOracleFollows(t *testing.T) {
	for seed := uint64(1); seed <= 400 && !t.Failed(); seed++ {
		steps := oracle.Random(seed)
		later := slices.Concat(steps, oracle.Later(seed, steps))
		before, after := oracle.Build(steps).Entries(), oracle.Build(later)
		if slices.ContainsFunc(before, func(e oracle.Entry) bool { return e.Dir && e.Fail != nil }) {
			continue // nothing in there can be changed
		}
		f, pid := tree(oracle.Build(steps)), 0
		if after.Process.Other {
			pid = after.Process.Pid
		}
		h := openParts(t, limits.Process{FS: f, PID: pid}, limits.Counters) // with Detail every poll would look everything up again
		read(t, h)
		change(f, before, after.Entries())
		var l limits.Limits
		for range 4 {
			l = read(t, h)
		}
		h.Close()
		c := check{w: after, l: &l, truth: after.Truth(), count: outcomes{}}
		c.truth.HostHidden = c.truth.HostHidden && (c.truth.Hard.State == oracle.Known || c.truth.Soft.State == oracle.Known)
		if c.all(); c.b.Len() > 0 {
			t.Errorf("seed %d\n%s%s", seed, explain(later), c.b.String())
		}
	}
}

// change turns one tree into another, in place.
func change(f *fixture.FS, before, after []oracle.Entry) {
	old := map[string]oracle.Entry{}
	for _, e := range before {
		old[e.Name] = e
	}
	for _, e := range after {
		if was, ok := old[e.Name]; !ok || was != e {
			put(f, e)
		}
		delete(old, e.Name)
	}
	for name := range old {
		f.Remove(strings.TrimPrefix(name, "/")) // it may have been removed with its directory
	}
}

// explain returns a world as its steps and as a situation, and what is wrong with it.
func explain(steps []oracle.Step) string {
	var b strings.Builder
	w := oracle.Build(steps)
	for _, s := range steps {
		fmt.Fprintln(&b, s.Text)
	}
	fmt.Fprintf(&b, "%s%s", fixture.Format(&fixture.Situation{FS: tree(w)}), compare(w, outcomes{}))
	return b.String()
}

// tree returns a world as a saved tree.
func tree(w *oracle.World) *fixture.FS {
	f := fixture.NewFS()
	for _, e := range w.Entries() {
		put(f, e)
	}
	return f
}

func put(f *fixture.FS, e oracle.Entry) {
	name := strings.TrimPrefix(e.Name, "/")
	var err error
	switch {
	case e.Dir && e.Fail != nil:
		err = f.Deny(name)
	case e.Dir:
		err = f.Mkdir(name)
	default:
		err = f.Set(name, e.Text)
		if err == nil && errors.Is(e.Fail, fs.ErrPermission) {
			err = f.Deny(name)
		} else if err == nil && e.Fail != nil {
			err = f.Fail(name, e.Fail)
		}
	}
	if err != nil {
		panic(err)
	}
}

// outcomes counts answers by kind.
type outcomes map[string]int

func (o outcomes) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(&b, "%8d %s\n", o[what], what)
	}
	return "\n" + b.String()
}

// compare returns the differences between reader and oracle, "" if there are none, and counts
// the outcomes.
func compare(w *oracle.World, count outcomes) string {
	if len(w.Hierarchies) == 0 {
		return ""
	}
	pid := 0
	if w.Process.Other {
		pid = w.Process.Pid
	}
	l, err := limits.Read(limits.Process{FS: tree(w), PID: pid})
	if err != nil {
		return "error: " + err.Error()
	}
	saved := check{w: w, l: &l, truth: w.Truth(), count: count}
	saved.all()
	// This machine reveals more: it has inode numbers, and a process knows its own PID.
	live := *w
	live.Inodes, live.Process.Nameless, live.Process.Table = true, false, "self/mountinfo"
	l = limits.ReadWorld(&live)
	real := check{w: &live, l: &l, truth: live.Truth(), count: count}
	real.all()
	if real.b.Len() > 0 {
		return saved.b.String() + "and live\n" + real.b.String()
	}
	return saved.b.String()
}

// A check compares one world.
type check struct {
	w     *oracle.World
	l     *limits.Limits
	truth oracle.Truth
	count outcomes
	b     strings.Builder
}

func (c *check) wrong(kind, format string, args ...any) {
	c.count["wrong: "+kind]++
	fmt.Fprintf(&c.b, kind+": "+format+"\n", args...)
}

func (c *check) all() {
	t, l := &c.truth, c.l
	c.count["readings"]++
	figure(c, "quota", l.CPU.Quota, &t.CPU, t.CPU.Cores)
	figure(c, "hard", l.Memory.Hard, &t.Hard, t.Hard.Bytes)
	figure(c, "soft", l.Memory.Soft, &t.Soft, t.Soft.Bytes)
	c.source("quota", &l.CPU.QuotaSource, &t.CPU, "cpu.max", "cpu.cfs_quota_us")
	c.source("hard", &l.Memory.HardSource, &t.Hard, "memory.max", "memory.limit_in_bytes")
	c.source("soft", &l.Memory.SoftSource, &t.Soft, "memory.high", "memory.max", "memory.limit_in_bytes")
	if own := c.w.Own("memory"); l.Memory.HardShared != (t.Hard.Total || t.Hard.From != nil && t.Hard.From != own) {
		c.wrong("shared", "%v", l.Memory.HardShared)
	}
	c.gaps()
	c.levels()
	c.warnings()
}

// figure compares one limit.
func figure[T int64 | float64](c *check, what string, got limits.Value[T], f *oracle.Figure, n T) {
	want, kind := limits.Value[T]{State: limits.Known, N: n}, ""
	switch f.State {
	case oracle.None:
		want = limits.NoLimit[T]()
	case oracle.Unknown:
		want = limits.Value[T]{}
	}
	switch {
	case got == want:
		kind = map[limits.State]string{limits.None: "right: none", limits.Unknown: "right: unknown, because hidden", limits.Known: "right: a limit"}[want.State]
		if want.State == limits.Known && f.Hidden {
			kind = "right: a limit, and something hidden"
		}
		c.count[kind]++
		return
	case got.State == limits.Unknown:
		kind = "unknown, and can be known"
	case got.State == limits.None && want.State == limits.Unknown:
		kind = "none, and something is hidden"
	case want.State != limits.Known:
		kind = "invented"
	case got.State == limits.None || got.N > want.N:
		kind = "wider"
	default:
		kind = "tighter"
	}
	c.wrong(kind, "%s %v, want %v", what, got, want)
}

func state(s oracle.State) limits.State {
	return map[oracle.State]limits.State{oracle.None: limits.None, oracle.Known: limits.Known}[s]
}

// source checks that the right group is named, and that the file belongs to it.
func (c *check) source(what string, s *limits.Source, f *oracle.Figure, files ...string) {
	if f.State != oracle.Known {
		if s.File != "" {
			c.wrong("source", "%s: source %+v of nothing", what, *s)
		}
		return
	}
	dir, file := s.File[:max(0, strings.LastIndexByte(s.File, '/'))], s.File[strings.LastIndexByte(s.File, '/')+1:]
	if f.Host {
		if s.File != cgroup.HostMemory {
			c.wrong("source", "%s: source %+v, want the machine", what, *s)
		}
		return
	}
	_, d, err := c.w.Walk(dir)
	switch {
	case err != nil:
		c.wrong("source", "%s: source %+v: %v", what, *s, err)
	case f.Total:
		if d != f.From || file != "memory.stat" || s.Level != "" {
			c.wrong("source", "%s: source %+v, want memory.stat", what, *s)
		}
	case d != f.From || s.Level != f.From.Path():
		c.wrong("source", "%s: source %+v, want %s", what, *s, f.From.Path())
	case !slices.Contains(files, file):
		c.wrong("source", "%s: source %+v", what, *s)
	}
}

// gaps checks that a figure is listed if something that may be tighter is hidden.
func (c *check) gaps() {
	for field, want := range map[string]bool{"cpu.quota_cores": c.truth.CPU.Hidden, "memory.hard_bytes": c.truth.Hard.Hidden,
		"memory.soft_bytes": c.truth.Soft.Hidden, "memory.host_bytes": c.truth.HostHidden} {
		got := slices.ContainsFunc(c.l.Gaps, func(g limits.Gap) bool { return g.Field == field && !g.Redundant })
		if got != want {
			c.wrong("gap", "%s listed as unknown: %v, want %v: %v", field, got, want, c.l.Gaps)
		}
	}
}

func (c *check) levels() {
	// If everything that may show the own group is closed, its files are listed.
	levels := slices.DeleteFunc(slices.Clone(c.l.CPU.Levels), func(l limits.CPULevel) bool {
		_, err := c.w.Read(l.File)
		return errors.Is(err, fs.ErrPermission) && !slices.ContainsFunc(c.truth.Levels, func(t oracle.Level) bool { return t.Path == l.Level })
	})
	same := len(levels) == len(c.truth.Levels)
	for i := 0; same && i < len(c.truth.Levels); i++ {
		got, want := levels[i], c.truth.Levels[i]
		_, d, err := c.w.Walk(got.File[:strings.LastIndexByte(got.File, '/')])
		same = got.Level == want.Path && err == nil && d == want.Group && got.Quota.State == state(want.Quota.State) &&
			(got.Quota.State != limits.Known || got.Quota.N == want.Quota.Cores)
	}
	if !same {
		c.wrong("levels", "levels %+v, want %+v", c.l.CPU.Levels, c.truth.Levels)
	}
}

func (c *check) warnings() {
	warned := func(code string) bool {
		return slices.ContainsFunc(c.l.Warnings, func(w limits.Warning) bool { return w.Code == code })
	}
	deleted, unreachable := warned(limits.WarnCgroupDeleted), warned(limits.WarnCgroupUnreachable)
	if seen := c.truth.SeenCPU && c.truth.SeenMemory; seen && (deleted || unreachable) || deleted && !c.truth.Removed {
		c.wrong("warning", "warnings %v; own group in sight %v, removed %v", c.l.Warnings, seen, c.truth.Removed)
	}
}
