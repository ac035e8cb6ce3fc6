// SPDX-License-Identifier: Apache-2.0

// Package option holds the table of all options: the name of each as a variable, as a field
// in Go, as a flag and in the chart. A test compares the library, the help texts, docs/config.md
// and the chart's schema with it.
package option

import (
	"cmp"
	"errors"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/internal/plan"
)

// Option is one option. A name that is "" does not exist.
type Option struct {
	Variable string // SNUG_MIN_PROCS; package plan parses it and says which values it accepts
	Field    string // field of snug.Options, or after "WatchOptions." or "adapt." of those
	Flag     string // flag of snug plan and snug run
	Help     string // help text of the flag
	Chart    string // key of snug cluster policy's configuration and of the chart's values

	set  func(text string, p *plan.Policy) bool // nil: plan.Set
	want string                                 // "": plan.Want
}

// Table has the options in the order of --help; those without a flag are last.
var Table = []Option{
	{Variable: "SNUG_ROUND", Field: "Round", Flag: "round", Chart: "round",
		Help: "`HOW` fractions of a core become Ps: ceil, floor or nearest (default ceil)"},
	{Variable: "SNUG_MIN_PROCS", Field: "MinProcs", Flag: "min-procs", Chart: "minProcs",
		Help: "at least `N` Ps, never above affinity (default 2, below one core 1)"},
	{Variable: "SNUG_MAX_PROCS", Field: "MaxProcs", Flag: "max-procs",
		Help: "at most `N` Ps"},
	{Variable: "SNUG_RESERVE_CPUS", Field: "ReserveCPUs", Flag: "reserve-cpus",
		Help: "leave `CPUS` to other processes of the container",
		set: func(text string, p *plan.Policy) (ok bool) {
			if p.ReserveCPUs = 0; text == "0" { // overrides the variable
				return true
			}
			p.ReserveCPUs, ok = plan.ParseCPUs(text)
			return ok
		}},
	{Variable: "SNUG_REQUEST_FACTOR", Field: "RequestFactor", Flag: "request-factor", Chart: "requestFactor",
		Help: "without a limit, `F` Ps for each core of --cpu-request (default 2)"},
	{Variable: "GOMAXPROCS", Flag: "gomaxprocs", Help: "set GOMAXPROCS to `N`",
		set: func(text string, p *plan.Policy) (ok bool) { p.GOMAXPROCS, ok = plan.ParseProcs(text); return ok }},
	{Variable: "SNUG_GOMEMLIMIT", Field: "GOMEMLIMIT", Flag: "gomemlimit", Chart: "memory",
		Help: "set GOMEMLIMIT to `SIZE`, as 400MiB, 90%, 99%-100MiB or off\n(default 90% of the limit, and at least 8 MiB " +
			"less than it)"},
	{Variable: "GOGC", Flag: "gogc", Help: "set GOGC to `PERCENT`, a number or off (default: leave it alone)",
		want: "a whole number from 1 to 2147483647, or off",
		set:  func(text string, p *plan.Policy) (ok bool) { p.GOGC, ok = flagvalue.ParseGOGC(text); return ok }},
	{Variable: "SNUG_WORKERS", Field: "Workers", Flag: "workers"}, // each command has its own help text for it
	{Variable: "SNUG_CPU_LIMIT", Field: "CPULimit", Flag: "cpu-limit",
		Help: "hint: the CPU limit is `CPUS`; only tightens"},
	{Variable: "SNUG_CPU_REQUEST", Field: "CPURequest", Flag: "cpu-request",
		Help: "hint: the CPU request is `CPUS`; counts if there is no limit"},
	{Variable: "SNUG_MEMORY_LIMIT", Field: "MemoryLimit", Flag: "memory-limit",
		Help: "hint: the memory limit is `SIZE`; only tightens"},
	{Variable: "SNUG"},
	{Variable: "SNUG_LOG", Field: "Log"},
	{Field: "WatchOptions.OnPlan"},
	{Variable: "SNUG_WATCH"},
	{Variable: "SNUG_POLL", Field: "WatchOptions.Poll"},
	{Variable: "SNUG_ADAPT", Field: "adapt.Memory"},
	{Variable: "SNUG_GC", Field: "adapt.GCShare"},
	{Field: "DryRun"}, // SNUG=observe
	{Field: "Override"},
}

// Setter applies one flag of the command line.
type Setter = func(*plan.Policy, *plan.Hints)

// Flags defines the flags of the table. It calls given for each flag on the command line.
func Flags(fs *pflag.FlagSet, given func(Setter)) {
	for _, o := range Table {
		if o.Help == "" {
			continue
		}
		fs.Var(&flagvalue.Parsed{Take: func(text string) error {
			set := func(p *plan.Policy, h *plan.Hints) bool {
				if o.set != nil {
					return o.set(text, p)
				}
				return plan.Set(o.Variable, text, new(plan.Mode), p, h)
			}
			if !set(&plan.Policy{}, &plan.Hints{}) {
				return errors.New(cmp.Or(o.want, plan.Want(o.Variable)))
			}
			given(func(p *plan.Policy, h *plan.Hints) { set(p, h) })
			return nil
		}}, o.Flag, o.Help)
	}
}
