// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"strconv"

	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

// Text returns a reason of the plan or of a law as one sentence without a full stop. value is
// the resulting number.
func Text(r plan.Reason, value int64) string {
	switch r.Code {
	case law.MemoryMeasured:
		return "95 % of the memory limit, less the recent peak of memory outside Go (now " + plan.Bytes(int64(r.Number)) + ")"
	case law.GCCost:
		takes := ""
		if r.Number > 0 {
			takes = "; it takes " + strconv.FormatFloat(100*r.Number, 'f', 1, 64) + " %"
		}
		return "for garbage collection to take its share of the CPU" + takes
	case law.GCCapped:
		return "the most that the memory limit allows"
	case law.GCBase:
		return "no more is needed, or there is no memory for it"
	case law.GCFirst:
		return "no garbage collection has run yet"
	case law.GCKeep:
		return "nothing requests another value"
	case law.GCOff:
		return "it is off, as the program or the operator chose"
	case law.ProcsTried:
		return "goroutines wait while CPU time is left over; more Ps than " + strconv.Itoa(int(r.Number)) + " are tried"
	case law.ProcsRaised:
		return "the program uses more of its CPU time than with " + strconv.Itoa(int(r.Number)) + " Ps"
	}
	return plan.Text(r, value)
}
