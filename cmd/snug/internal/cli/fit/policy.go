// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/option"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/measure"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// PolicyFlags are the flags of `snug plan` and `snug run` for policy, hints and explicit
// values.
type PolicyFlags struct {
	setters []option.Setter // one for each flag on the command line, in order
	flags   *pflag.FlagSet  // nil = none was defined
}

// roundings are the values of --round.
var roundings = []string{"ceil", "floor", "nearest"}

// add defines the flags.
func (f *PolicyFlags) add(fs *pflag.FlagSet) {
	fs.SortFlags = false
	f.flags = fs
	option.Flags(fs, func(set option.Setter) { f.setters = append(f.setters, set) })
	flagvalue.Section(fs, "Policy", "round", "min-procs", "max-procs", "reserve-cpus", "request-factor", "gomaxprocs",
		"gomemlimit", "gogc")
	flagvalue.Section(fs, "Hints: what the process cannot see", "cpu-limit", "cpu-request", "memory-limit")
}

// given returns the flags on the command line in the form of a command that starts a program: as
// flags of `snug run`, and as variables for a program that reads them itself.
func (f *PolicyFlags) given() (flags, variables string) {
	for _, o := range option.Table {
		if f.flags == nil || o.Flag == "" || !f.flags.Changed(o.Flag) {
			continue
		}
		value := message.Quote(f.flags.Lookup(o.Flag).Value.String())
		flags += "--" + o.Flag + " " + value + " "
		variables += o.Variable + "=" + value + " "
	}
	return flags, variables
}

// input returns policy and hints from the SNUG variables and the flags; flags win. A variable
// with a wrong value gives a warning. The error is a wrong use of flags.
func (f *PolicyFlags) input(getenv func(string) string) (plan.Policy, plan.Hints, plan.Mode, []limits.Warning, error) {
	var p plan.Policy
	var h plan.Hints
	mode, bad := plan.ReadEnv(getenv, &p, &h)
	// These variables are read by programs with snug linked in.
	_, unread := follow.ReadEnv(getenv, new(time.Duration))
	bad = append(append(bad, unread...), measure.ReadEnv(getenv, &follow.Measure{})...)
	for _, set := range f.setters {
		set(&p, &h)
	}
	if len(f.setters) > 0 && p.MaxProcs > 0 && p.MinProcs > p.MaxProcs {
		return p, h, mode, bad, message.Usage("--min-procs "+strconv.Itoa(p.MinProcs)+" --max-procs "+
			strconv.Itoa(p.MaxProcs)+": minimum above maximum",
			"raise --max-procs or lower --min-procs; SNUG_MIN_PROCS and SNUG_MAX_PROCS count as well")
	}
	return p, h, mode, bad, nil
}
