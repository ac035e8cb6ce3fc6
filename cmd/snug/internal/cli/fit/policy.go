// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
	"github.com/snug-go/snug/limits"
)

// PolicyFlags are the flags that say how to decide, what the operator knows,
// and values given outright. `snug plan` and `snug run` have the same ones.
type PolicyFlags struct {
	given []func(*plan.Policy, *plan.Hints) // one for each flag on the command line, in order
}

// roundings are what --round takes.
var roundings = []string{"ceil", "floor", "nearest"}

// add defines the flags.
func (f *PolicyFlags) add(fs *pflag.FlagSet) {
	fs.SortFlags = false
	define(f, fs, "round", "`HOW` fractions of a core become Ps: ceil, floor or nearest (default ceil)", plan.Want("SNUG_ROUND"), plan.ParseRound,
		func(v plan.Round, p *plan.Policy, _ *plan.Hints) { p.Round = v })
	define(f, fs, "min-procs", "at least `N` Ps, never above affinity (default 2)", plan.Want("SNUG_MIN_PROCS"), plan.ParseProcs,
		func(v int, p *plan.Policy, _ *plan.Hints) { p.MinProcs = v })
	define(f, fs, "max-procs", "at most `N` Ps", plan.Want("SNUG_MAX_PROCS"), plan.ParseProcs,
		func(v int, p *plan.Policy, _ *plan.Hints) { p.MaxProcs = v })
	define(f, fs, "reserve-cpus", "leave `CPUS` to other processes of the container", plan.Want("SNUG_RESERVE_CPUS"), flagvalue.OrZero(plan.ParseCPUs),
		func(v float64, p *plan.Policy, _ *plan.Hints) { p.ReserveCPUs = v })
	define(f, fs, "request-factor", "without a limit, `F` Ps for each core of --cpu-request (default 2)", plan.Want("SNUG_REQUEST_FACTOR"), plan.ParseFactor,
		func(v float64, p *plan.Policy, _ *plan.Hints) { p.RequestFactor = v })

	define(f, fs, "gomaxprocs", "set GOMAXPROCS to `N`", plan.Want("GOMAXPROCS"), plan.ParseProcs,
		func(v int, p *plan.Policy, _ *plan.Hints) { p.GOMAXPROCS = v })
	define(f, fs, "gomemlimit", "set GOMEMLIMIT to `SIZE`, as 400MiB, 90%, 99%-100MiB or off\n(default 90% of the limit, and at least 16 MiB less than it)", plan.Want("SNUG_GOMEMLIMIT"), plan.ParseMemory,
		func(v plan.Memory, p *plan.Policy, _ *plan.Hints) { p.Memory = v })
	define(f, fs, "gogc", "set GOGC to `PERCENT`, a number or off (default: leave it alone)", "a whole number from 1 to 2147483647, or off", flagvalue.ParseGOGC,
		func(v int, p *plan.Policy, _ *plan.Hints) { p.GOGC = v })

	define(f, fs, "cpu-limit", "hint: the CPU limit is `CPUS`; only tightens", plan.Want("SNUG_CPU_LIMIT"), plan.ParseCPUs,
		func(v float64, _ *plan.Policy, h *plan.Hints) { h.CPULimit = v })
	define(f, fs, "cpu-request", "hint: the CPU request is `CPUS`; counts where there is no limit", plan.Want("SNUG_CPU_REQUEST"), plan.ParseCPUs,
		func(v float64, _ *plan.Policy, h *plan.Hints) { h.CPURequest = v })
	define(f, fs, "memory-limit", "hint: the memory limit is `SIZE`; only tightens", plan.Want("SNUG_MEMORY_LIMIT"), plan.ParseBytes,
		func(v int64, _ *plan.Policy, h *plan.Hints) { h.MemoryLimit = v })
}

// input is what the SNUG variables and, over them, the flags say. What a
// variable says that makes no sense is among the warnings; the error is a
// wrong use of flags.
func (f *PolicyFlags) input(getenv func(string) string) (plan.Policy, plan.Hints, plan.Mode, []limits.Warning, error) {
	var p plan.Policy
	var h plan.Hints
	mode, bad := plan.ReadEnv(getenv, &p, &h)
	// For programs with snug in them.
	_, unread := follow.ReadEnv(getenv, new(time.Duration))
	bad = append(append(bad, unread...), watch.ReadEnv(getenv, &watch.Config{})...)
	for _, set := range f.given {
		set(&p, &h)
	}
	if len(f.given) > 0 && p.MaxProcs > 0 && p.MinProcs > p.MaxProcs {
		return p, h, mode, bad, message.Usage("minimum above maximum, --min-procs "+strconv.Itoa(p.MinProcs)+" --max-procs "+strconv.Itoa(p.MaxProcs),
			"raise --max-procs or lower --min-procs; SNUG_MIN_PROCS and SNUG_MAX_PROCS count as well")
	}
	return p, h, mode, bad, nil
}

// define adds one flag. want says what its value looks like.
func define[T any](f *PolicyFlags, fs *pflag.FlagSet, name, usage, want string, parse func(string) (T, bool), use func(T, *plan.Policy, *plan.Hints)) {
	fs.Var(&flagvalue.Parsed{Take: func(text string) error {
		v, ok := parse(text)
		if !ok {
			return errors.New(want)
		}
		f.given = append(f.given, func(p *plan.Policy, h *plan.Hints) { use(v, p, h) })
		return nil
	}}, name, usage)
}
