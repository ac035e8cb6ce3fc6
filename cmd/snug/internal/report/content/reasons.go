// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Reason words a reason; "" = none.
func Reason(w *finding.Why) string {
	if w == nil {
		return ""
	}
	words := reasonWords[w.Code]
	if words == nil { // of a document of another version
		return metric.Readable(w.Code)
	}
	return metric.Readable(words(w))
}

// at returns a number of a reason; NaN = a document lacks it.
func at(w *finding.Why, i int) float64 {
	if i >= len(w.Numbers) {
		return math.NaN()
	}
	return w.Numbers[i]
}

// as words a reason with its numbers, each formatted. What it is about is the argument after them.
func as(format string, each ...func(float64) string) func(*finding.Why) string {
	about := strings.Contains(format, "%[")
	if len(each) == 0 && !about {
		return func(*finding.Why) string { return format }
	}
	return func(w *finding.Why) string {
		var args []any
		for i, f := range each {
			args = append(args, f(at(w, i)))
		}
		if about {
			args = append(args, w.Of)
		}
		return fmt.Sprintf(format, args...)
	}
}

func integer(x float64) string    { return strconv.FormatFloat(x, 'f', 0, 64) }
func hundredths(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
func percent(x float64) string    { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" }
func tenths(x float64) string     { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }
func upMiB(x float64) string      { return fmt.Sprintf("%.0f MiB", math.Ceil(x/(1<<20))) }

// detail is the detail of a reason alone.
func detail(w *finding.Why) string { return w.Detail }

// detailed adds the detail of a reason.
func detailed(what string) func(*finding.Why) string {
	return func(w *finding.Why) string {
		if w.Detail == "" {
			return what
		}
		return what + ": " + w.Detail
	}
}

// windows words a share of windows of some seconds.
func windows(share, seconds float64) string {
	switch seconds {
	case 0.1:
		return percent(share) + " of the periods of 100 ms"
	case 1:
		return percent(share) + " of the seconds"
	}
	return percent(share) + " of the spans of " + integer(seconds) + " s"
}

// unseenShare words what is added for what was not seen, and for collections.
func unseenShare(margin, collections float64) string {
	return "; " + percent(margin) + " for what was not seen" +
		units.If(collections > 0, "; "+hundredths(collections)+" for more collections")
}

// addedTo words what a margin is added to.
func addedTo(lives float64) string {
	if lives == 1 {
		return "to what lives, to what is not Go's and to the CPU request"
	}
	return "to all that was used and to the CPU request"
}

// sizeFigures are the figures that a model of the heap needs.
var sizeFigures = map[string]string{
	"live_heap_bytes": "live heap", "allocated_bytes": "bytes allocated", "gc_cores": "CPU of collections",
	"go_rest_bytes": "memory of Go beside objects", "other_most_bytes": "memory that is not Go's",
}

var reasonWords map[string]func(*finding.Why) string

func init() { // Reason words a cause
	reasonWords = map[string]func(*finding.Why) string{
		finding.SizeCPUUnknown: as("the CPU time used is unknown"),
		finding.SizeRequestUsed: func(w *finding.Why) string {
			return windows(at(w, 1), at(w, 2)) + " used at most " + hundredths(at(w, 0)) + unseenShare(at(w, 3), at(w, 4))
		},
		finding.SizeRequestMean: func(w *finding.Why) string {
			return "the watch used a mean of " + hundredths(at(w, 0)) + unseenShare(at(w, 1), at(w, 2))
		},
		finding.SizeWholeCores: func(w *finding.Why) string {
			return "whole cores for " + hundredths(at(w, 0)) + ", which " + windows(at(w, 1), at(w, 2)) +
				" used at most; a limit reserves nothing"
		},
		finding.SizeMoreCores:     as("more than it has: %s of the periods were throttled", tenths),
		finding.SizePsBusy:        as("a core more: its Ps were busy all the time"),
		finding.SizeForRequest:    as("whole cores for the request, which a limit may not be below"),
		finding.SizeByLimit:       detailed("by the CPU limit"),
		finding.SizeGoChooses:     as("Go chooses it by the CPU limit"),
		finding.SizeGoWould:       as("Go chooses it by the CPU limit: remove the variable"),
		finding.SizeMemoryUnknown: detailed("memory in use is unknown"),
		finding.SizeEndless:       as("with GOGC=off and no GOMEMLIMIT its heap grows without end"),
		finding.SizeAllUsed: func(w *finding.Why) string {
			return "all that was used, because what of it is garbage is unknown: " + Reason(w.Cause)
		},
		finding.SizeFigureUnknown:  func(w *finding.Why) string { return detailed(sizeFigures[w.Of] + " unknown")(w) },
		finding.SizeFewCollections: as("fewer than 4 collections in the watch: %s", integer),
		finding.SizeNeeded: as("what lives at most, memory that is not Go's, and room for collections: the " +
			"least that fits"),
		finding.SizeHeld:         as("what was used at most, more than its heap goal explains: the least that fits"),
		finding.SizeGoalFits:     as("the heap goal of GOGC=%s fits; more would not be used", integer),
		finding.SizeCheapest:     as("the cheapest: more memory costs more than its collections do, less saves less"),
		finding.SizeLeftAlone:    detailed("left alone"),
		finding.SizeHeadroom:     as("the limit without the larger of 10 % and 8 MiB"),
		finding.SizeMoreHeadroom: as("the limit without %s for what is not Go's, and for a heap above its goal", upMiB),
		finding.SizeTooLittle:    as("left alone: what is not Go's leaves too little for one"),
		finding.SizeNineTenths:   as("for a memory limit that you choose: nine tenths of it"),

		finding.SizeYoung:   as("its usual load: it had run for %s s when the watch began", integer),
		finding.SizeGrowing: as("where its live heap ends: it grew by %s in the watch, and as much is added", upMiB),
		finding.SizePeaks:   as("peaks outside of the %s s of the watch: %s is added %s", integer, percent, addedTo),
		finding.SizePeaksScans: as("peaks between two scans, %s s apart, and outside of the %s in which it was "+
			"seen: %s is added %s", integer, units.Days, percent, addedTo),
		finding.SizeNoCollection: func(w *finding.Why) string {
			in := units.If(len(w.Numbers) > 0, ", in which it allocated "+upMiB(at(w, 0)))
			return "the live heap: no collection ended in the watch" + in + "; all memory in use counts as needed"
		},
		finding.SizeLiveUnsure: as("what a collection costs, and whether the live heap grows: %s ended in the watch; all "+
			"memory in use counts as needed", integer),
		finding.SizeMates: as("the CPU that other processes need that share its limits, %s in all: add it; their "+
			"memory counts", integer),
		finding.SizeWaited: as("what it needs where CPUs are free: threads waited %s times as long for a CPU as "+
			"they ran, and collections that wait find more in use and take more CPU",
			func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }),
		finding.SizeThrottled: as("the CPU that it would have used: %s of the periods were throttled", tenths),
		finding.SizeUnexplained: as("what %s of memory in use were, more than its heap goal explains: they count as "+
			"needed, garbage or not", upMiB),
		finding.SizeCurveUnsure: as("the curve is uncertain: %s of the way to the heap goal was allocated between "+
			"collections, and 0.7 to 1 is usual", hundredths),
		finding.SizeBursts: func(w *finding.Why) string {
			shorter := integer(at(w, 0)) + " s"
			if at(w, 0) == 1 {
				shorter = "a second"
			}
			return detailed("CPU use in bursts shorter than " + shorter)(w)
		},

		finding.SizeEnded:     as("not shown: the search ended before fresh runs confirmed a container"),
		finding.SizeNothing:   as("not shown: no container kept %[1]s in all of its fresh runs"),
		finding.SizeLacked:    detailed("not shown"),
		finding.SizeKept:      as("the cheapest that kept %[3]s in %[1]s of %[2]s fresh runs", integer, integer),
		finding.SizeLimitOnly: as("the limit: with less, nothing was shown"),
		finding.SizeLeftToGo:  as("left to Go, as it was tried"),
		finding.SizeAsTried:   as("as it was tried"),
		finding.SizeOtherLoads: as("peaks that runs of %s do not have, and other loads: nothing is added for them",
			units.Seconds),
		finding.SizeNearlyAll: func(w *finding.Why) string {
			s := "that nearly all runs keep it: " + integer(at(w, 0)) + " of " + integer(at(w, 1)) + " say at least " +
				units.Share(at(w, 2)) + ", with 95 % confidence"
			if n := at(w, 3); n > 0 {
				s += ", less because fresh runs refuted " + units.Plural(int(n), "answer") + " before"
			}
			return s
		},
		finding.SizeUntried:  as("that it is the cheapest: %s cheaper ones were not tried", integer),
		finding.SizeSmallest: as("where it breaks: it is the smallest that is tried"),
		finding.SizeAlsoKept: as("that %[3]s is too little: it kept it in %[1]s of %[2]s fresh runs", integer, integer),
		finding.SizeSaid:     detail,

		finding.SilentPod:       detailed("the pod is not running"),
		finding.SilentNoPort:    as("the pod has no port named metrics"),
		finding.SilentToken:     as("it asks for a token (--auth), which the API server does not pass on"),
		finding.SilentForbidden: detail,
		finding.SilentForeign:   as("what it says is no document of an agent"),
		finding.SilentVersion:   as("it is of another version of snug, and does not say what workloads need"),
		finding.SilentError:     detail,

		finding.SizeKilled:   as("may be killed: it needs %s at least", inBytes),
		finding.SizeNearFull: as("%s were in use, near its limit", inBytes),
		finding.SizeSlowed:   as("throttled in %s of the periods", units.Share),
		finding.SizeOverUsed: as("uses %s CPUs on average, more than it requests", TwoFigures),
	}
}
