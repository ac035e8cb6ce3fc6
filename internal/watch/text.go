// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strconv"

	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

func init() { follow.Text = Text }

// Text is a reason in one sentence without a full stop: the plan's, or one of
// the laws'. value is the number it led to.
func Text(r plan.Reason, value int64) string {
	switch r.Code {
	case law.MemoryMeasured:
		return "95 % of the memory limit, less the recent peak of memory that is not Go's (now " + plan.Bytes(int64(r.Number)) + ")"
	case law.GCCost:
		takes := ""
		if r.Number > 0 {
			takes = "; it takes " + strconv.FormatFloat(100*r.Number, 'f', 1, 64) + " %"
		}
		return "for garbage collection to take its share of the CPU" + takes
	case law.GCCapped:
		return "as much as the memory limit allows"
	case law.GCBase:
		return "there is no memory for more"
	case law.GCKeep:
		return "nothing asks for another"
	case law.GCOff:
		return "it is off, which somebody had a reason for"
	case law.StarvationSuspected:
		return "goroutines wait while CPU time is left over; why is being measured"
	case law.StarvationUnsure:
		return "goroutines wait while CPU time is left over, and why cannot be measured here"
	case law.EscapeYielded:
		return "somebody else has set it"
	case law.StarvationEscape:
		return "Ps are held in system calls while CPU time is left over; " + strconv.Itoa(int(r.Number)) + " were too few"
	case law.EscapeStays:
		return "Ps are held in system calls as soon as there are fewer"
	case law.EscapeReturned:
		return "Ps were held in system calls, and are no more"
	case law.EscapeFutile:
		return "more Ps did not help"
	}
	return plan.Text(r, value)
}
