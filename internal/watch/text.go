// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strconv"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/plan"
)

// Text is a reason in one sentence without a full stop: the plan's, or one of
// the laws'. value is the number it led to.
func Text(r plan.Reason, value int64) string {
	others := plan.Bytes(int64(r.Number)) + " is not Go's"
	switch r.Code {
	case adapt.MemoryStatic:
		return "the memory limit, less what is not Go's and a reserve for bursts; nothing was collected yet"
	case adapt.MemoryMeasured:
		return "of the memory limit " + others + ", and a reserve for bursts stays free"
	case adapt.MemoryReserve:
		return "of the memory limit " + others + "; the live heap needs a part of the reserve for bursts"
	case adapt.MemoryCap:
		return "of the memory limit " + others + "; this is the most that is safe"
	case adapt.MemoryGuardOOM:
		return "the live heap needs it: less would let the garbage collector take over"
	case adapt.MemoryGuardThrash:
		return "the live heap needs more, and this is all that is left of the memory limit"
	case adapt.GCHeadroom:
		return "a multiple of the live heap, while memory is idle"
	case adapt.GCCost:
		takes := ""
		if r.Number > 0 {
			takes = "; it takes " + strconv.FormatFloat(100*r.Number, 'f', 1, 64) + " %"
		}
		return "for garbage collection to take its share of the CPU" + takes
	case adapt.GCCapped:
		return "as much as the memory limit allows"
	case adapt.GCBase:
		return "there is no memory for more"
	case adapt.GCKeep:
		return "nothing asks for another"
	case adapt.GCOff:
		return "it is off, which somebody had a reason for"
	case adapt.StarvationSuspected:
		return "goroutines wait while CPU time is left over; why is being measured"
	case adapt.StarvationUnsure:
		return "goroutines wait while CPU time is left over, and why cannot be measured here"
	case adapt.EscapeYielded:
		return "somebody else has set it"
	case adapt.StarvationEscape:
		return "Ps are held in system calls while CPU time is left over; " + strconv.Itoa(int(r.Number)) + " were too few"
	case adapt.EscapeStays:
		return "Ps are held in system calls as soon as there are fewer"
	case adapt.EscapeReturned:
		return "Ps were held in system calls, and are no more"
	case adapt.EscapeFutile:
		return "more Ps did not help"
	}
	return plan.Text(r, value)
}
