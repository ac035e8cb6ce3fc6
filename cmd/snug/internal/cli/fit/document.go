// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// LimitsDocument returns the document for limits.
func LimitsDocument(l *limits.Limits, t finding.Target) *finding.Limits {
	c, m := &l.CPU, &l.Memory
	d := &finding.Limits{
		Head:   finding.NewHead(finding.KindLimits),
		Target: t,
		CPU: finding.CPU{
			Cores:            figure.Value(c.Cores),
			Quota:            figure.Value(c.Quota),
			Affinity:         figure.Value(c.Affinity),
			Source:           source(c.QuotaSource),
			Weight:           figure.Value(c.Weight),
			Shares:           figure.Value(c.Shares),
			Candidates:       append([]float64{}, c.RequestHints...),
			Burst:            figure.Value(c.Burst),
			Periods:          figure.Value(c.Throttle.Periods),
			ThrottledPeriods: figure.Value(c.Throttle.Throttled),
			Pressure:         pressure(&c.Pressure),
			Levels:           []finding.Level{},
		},
		Memory: finding.Memory{
			Hard:          figure.Value(m.Hard),
			Source:        source(m.HardSource),
			Soft:          figure.Value(m.Soft),
			SoftSource:    source(m.SoftSource),
			Shared:        m.HardShared,
			Current:       figure.Value(m.Current),
			SharedCurrent: figure.Value(m.SharedCurrent),
			Host:          figure.Value(m.Host),
			SwapMax:       figure.Value(m.SwapMax),
			SwapCurrent:   figure.Value(m.SwapCurrent),
			Events: finding.Events{High: figure.Value(m.Events.High), Max: figure.Value(m.Events.Max),
				OOM: figure.Value(m.Events.OOM), OOMKills: figure.Value(m.Events.OOMKills)},
			Pressure: pressure(&m.Pressure),
		},
		Unknown:  gaps(l.Gaps),
		Mounts:   mounts(l.Gaps),
		Warnings: warnings(l.Warnings),
	}
	if len(c.RequestHints) == 1 && c.RequestHints[0] > 0 {
		d.CPU.Request.Know(c.RequestHints[0], "")
	}
	if c.Cpuset != "" {
		d.CPU.Cpuset = new(finding.UTF8(c.Cpuset))
	}
	if d.CPU.ThrottledPeriods.Known() {
		d.CPU.ThrottledSeconds.Know(c.Throttle.Time.Seconds(), "")
	}
	for _, level := range c.Levels {
		d.CPU.Levels = append(d.CPU.Levels, finding.Level{Source: sourceOf(level.Source), Quota: figure.Value(level.Quota)})
	}
	d.Settle()
	return d
}

func source(s limits.Source) *finding.Source {
	if s == (limits.Source{}) {
		return nil
	}
	return new(sourceOf(s))
}

func sourceOf(s limits.Source) finding.Source {
	return finding.Source{File: finding.UTF8(s.File), Level: finding.UTF8(s.Level), Raw: finding.UTF8(s.Raw)}
}

func pressure(p *limits.Pressure) *finding.Pressure {
	if p.SomeAvg10.State != limits.Known && p.FullAvg10.State != limits.Known {
		return nil
	}
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	return &finding.Pressure{Some10: figure.Value(p.SomeAvg10), Full10: figure.Value(p.FullAvg10),
		SomeTotal: seconds(p.SomeTotal), FullTotal: seconds(p.FullTotal)}
}

func gaps(list []limits.Gap) []finding.Gap {
	out := []finding.Gap{}
	for _, g := range list {
		if !g.Redundant {
			out = append(out, gap(&g))
		}
	}
	return out
}

// mounts sums up the gaps that leave no figure unknown, each mount once.
func mounts(list []limits.Gap) *finding.Mounts {
	var m *finding.Mounts
	for i, g := range list {
		if g.Redundant && !slices.ContainsFunc(list[:i], func(before limits.Gap) bool { return before.File == g.File }) {
			m = cmp.Or(m, &finding.Mounts{})
			if m.Count++; m.Count <= 3 {
				m.First = append(m.First, gap(&g))
			}
		}
	}
	return m
}

func gap(g *limits.Gap) finding.Gap {
	return finding.Gap{Field: g.Field, File: finding.UTF8(g.File), Why: finding.UTF8(g.Why)}
}

func warnings(list []limits.Warning) []finding.Warning {
	out := []finding.Warning{}
	for _, w := range list {
		out = append(out, finding.Warning{Code: w.Code, Text: finding.UTF8(plan.WarningText(w)), Source: sourceOf(w.Source)})
	}
	return out
}

// planDocument returns the document for a decision, with what Go would do by itself.
func planDocument(p *plan.Plan, in *plan.Input, t finding.Target) *finding.Plan {
	d := &finding.Plan{
		Head:       finding.NewHead(finding.KindPlan),
		Target:     t,
		Mode:       "on",
		GOMAXPROCS: finding.Procs{Reason: reasonOf(&p.GOMAXPROCS, inCores), Ignored: ignored(&p.GOMAXPROCS, inCores)},
		GOMEMLIMIT: finding.Bytes{Reason: reasonOf(&p.GOMEMLIMIT, inBytes), Ignored: ignored(&p.GOMEMLIMIT, inBytes)},
		GOGC:       finding.Percent{Reason: reasonOf(&p.GOGC, inNothing), Ignored: ignored(&p.GOGC, inNothing)},
		Set:        []finding.Variable{},
		Runtime:    runtimeOf(p, in, t.PID != nil),
		Unknown:    gaps(in.Limits.Gaps),
		Mounts:     mounts(in.Limits.Gaps),
		Warnings:   warnings(p.Warnings),
	}
	if s := &p.GOMAXPROCS; !s.Leave {
		d.GOMAXPROCS.Value = &s.Value
	}
	if s := &p.GOMEMLIMIT; !s.Leave {
		d.GOMEMLIMIT.Value = &finding.Amount{N: s.Value, Off: s.Value == plan.NoMemLimit}
		if d.GOMEMLIMIT.Value.Off {
			d.GOMEMLIMIT.Value.N = 0
		}
	}
	if s := &p.GOGC; !s.Leave {
		d.GOGC.Value = &finding.Amount{N: s.Value, Off: s.Value == plan.Off}
		if d.GOGC.Value.Off {
			d.GOGC.Value.N = 0
		}
	}
	return d
}

// unit is the unit of the number in a reason.
type unit uint8

const (
	inNothing unit = iota
	inCores
	inBytes
)

func reasonOf(s *plan.Setting, u unit) finding.Reason { return oneReason(s.Reason, s.Value, u) }

func oneReason(r plan.Reason, value int64, u unit) finding.Reason {
	out := finding.Reason{Code: r.Code, Text: finding.UTF8(plan.Text(r, value)), Source: source(r.Source)}
	switch {
	case r.Number == 0:
	case u == inCores:
		out.Cores = &r.Number
	case u == inBytes:
		out.Bytes = new(int64(r.Number))
	}
	return out
}

func ignored(s *plan.Setting, u unit) []finding.Reason {
	out := []finding.Reason{}
	for _, r := range s.Ignored {
		out = append(out, oneReason(r, 0, u))
	}
	return out
}

// runtimeOf returns what the Go runtime would choose by itself, and why. Of another process only the
// own cgroup is known, and not where its runtime looks.
func runtimeOf(p *plan.Plan, in *plan.Input, other bool) finding.Runtime {
	r := finding.Runtime{Cgroups: !in.Go.Blind && (in.Go.Minor == 0 || in.Go.Minor >= 25)}
	c := &in.Limits.CPU
	if n := plan.RuntimeProcs(c, plan.Go{Minor: 25}); in.Go == (plan.Go{}) && n != p.Runtime && n > 0 {
		r.Go125 = &n
	}
	switch p.Runtime {
	case plan.Crash:
		r.Crashes = true
		r.Text = "the quota does not fit into its int32"
		return r
	case 0:
		r.Text = "its choice is unknown, because the CPUs it may run on could not be read"
		return r
	}
	r.GOMAXPROCS = &p.Runtime
	r.Agrees = p.GOMAXPROCS.Leave || p.GOMAXPROCS.Value == int64(p.Runtime)
	var cores float64
	limited := false
	if level := plan.RuntimeLevel(c, in.Go); level != nil {
		cores, limited = level.GoQuota.Get()
	}
	quota, any := c.Quota.Get()
	r.Automemlimit = in.Go.Automemlimit
	if n := plan.Automaxprocs(c, in.Go); n > 0 {
		r.Automaxprocs = &n
	}
	switch {
	case !r.Cgroups && in.Go.Minor != 0 && in.Go.Minor < 25:
		r.Text = "it does not look at cgroups"
	case !r.Cgroups:
		r.Text = "GODEBUG containermaxprocs=0, which a go line below 1.25 implies, keeps it from looking at cgroups"
	case limited && (!any || cores < quota):
		r.Text = "it reads the quota of another cgroup, " + units.Plural(cores, "core")
	case limited && quota < cores:
		r.Text = "it reads the quota of its own cgroup, " + units.Plural(cores, "core") + ", and not the tighter one above"
	case limited && cores > float64(p.Runtime):
		r.Text = "its quota is more than the CPUs it may run on"
	case limited && cores <= 1:
		r.Text = "its quota is " + units.Plural(cores, "core") + ", and its minimum is 2"
	case limited:
		r.Text = "its quota is " + units.Plural(cores, "core")
		if cores != math.Trunc(cores) {
			r.Text += ", rounded up"
		}
	case any && len(c.Levels) > 0 && c.Levels[0].Quota.State == limits.Known:
		r.Text = "it does not find this quota"
	case any:
		r.Text = "it finds no quota in its own cgroup and does not look above it"
	case c.Quota.State == limits.Unknown:
		r.Text = "it cannot read a quota either"
	default:
		r.Text = "it finds no quota"
	}
	if limited && other && in.Go.Minor == 25 {
		r.Text += ", if it finds it (docs/config.md)"
	}
	return r
}
