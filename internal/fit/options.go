// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"strconv"

	"github.com/snug-go/snug/internal/plan"
)

// Options has the fields of snug.Options, whose Round type is R, so that one converts to the
// other: package adapt uses them too, and this package cannot import snug.
type Options[R ~uint8] struct {
	DryRun   bool
	Override bool

	Round         R
	MinProcs      int
	MaxProcs      int
	ReserveCPUs   float64
	RequestFactor float64
	GOMEMLIMIT    string
	Workers       int

	CPULimit    float64
	CPURequest  float64
	MemoryLimit int64

	Log interface {
		Info(msg string, args ...any)
		Warn(msg string, args ...any)
	}
}

// Invalid is an error about one option.
type Invalid struct {
	Field string // "Options.MinProcs"
	Value string
	Want  string // what is allowed
}

func (e *Invalid) Error() string {
	return "snug: " + e.Field + " is " + e.Value + ", want " + e.Want
}

const (
	maxProcs  = 8192 // as for SNUG_MAX_PROCS and plan.ParseProcs
	maxCPUs   = 1e6  // as for plan.ParseCPUs
	maxFactor = 1000 // as for plan.ParseFactor
)

// Input converts the options. bad is the first invalid field, nil if all are valid.
func (o *Options[R]) Input() (in plan.Input, bad *Invalid) {
	const procs, cpus = "0 to 8192", "0 to 1000000 cores"
	switch {
	case o.Round > R(plan.Nearest):
		bad = &Invalid{"Options.Round", strconv.Itoa(int(o.Round)), "RoundUp, RoundDown or RoundNearest"}
	case outside(o.MinProcs, maxProcs):
		bad = &Invalid{"Options.MinProcs", strconv.Itoa(o.MinProcs), procs}
	case outside(o.MaxProcs, maxProcs):
		bad = &Invalid{"Options.MaxProcs", strconv.Itoa(o.MaxProcs), procs}
	case o.MaxProcs > 0 && o.MaxProcs < o.MinProcs:
		bad = &Invalid{"Options.MaxProcs", strconv.Itoa(o.MaxProcs),
			"0, or MinProcs (" + strconv.Itoa(o.MinProcs) + ") to 8192"}
	case outside(o.ReserveCPUs, maxCPUs):
		bad = &Invalid{"Options.ReserveCPUs", Number(o.ReserveCPUs), cpus}
	case outside(o.RequestFactor, maxFactor):
		bad = &Invalid{"Options.RequestFactor", Number(o.RequestFactor), "0 to 1000"}
	case outside(o.Workers, maxProcs):
		bad = &Invalid{"Options.Workers", strconv.Itoa(o.Workers), procs}
	case outside(o.CPULimit, maxCPUs):
		bad = &Invalid{"Options.CPULimit", Number(o.CPULimit), cpus}
	case outside(o.CPURequest, maxCPUs):
		bad = &Invalid{"Options.CPURequest", Number(o.CPURequest), cpus}
	case o.MemoryLimit < 0:
		bad = &Invalid{"Options.MemoryLimit", strconv.FormatInt(o.MemoryLimit, 10), "0 or more bytes"}
	}
	in.Policy = plan.Policy{
		Round: plan.Round(o.Round), MinProcs: o.MinProcs, MaxProcs: o.MaxProcs, ReserveCPUs: o.ReserveCPUs,
		RequestFactor: o.RequestFactor, Workers: o.Workers, Override: o.Override,
	}
	if text := o.GOMEMLIMIT; text != "" && bad == nil {
		var ok bool
		if in.Policy.Memory, ok = plan.ParseMemory(text); !ok {
			bad = &Invalid{"Options.GOMEMLIMIT", strconv.Quote(text[:min(len(text), 40)]), `400MiB, 90%, 99%-100MiB, off or ""`}
		}
	}
	in.Hints = plan.Hints{CPULimit: o.CPULimit, CPURequest: o.CPURequest, MemoryLimit: o.MemoryLimit}
	return in, bad
}

// outside reports whether n is not in 0 to limit: NaN never is.
func outside[T int | float64](n, limit T) bool { return !(n >= 0 && n <= limit) }

// Number formats an option's number.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
