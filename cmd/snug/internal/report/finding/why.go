// SPDX-License-Identifier: Apache-2.0

package finding

import "encoding/json"

// Why is a reason as data. Package content words it, and snug explain has an entry for each code.
type Why struct {
	Code    string    `json:"code"`              // stable; "" = no reason
	Numbers []float64 `json:"numbers,omitempty"` // behind the code, as its entry lists them
	Of      string    `json:"of,omitempty"`      // what it is about: a figure by its name in JSON, a goal, a container
	Detail  string    `json:"detail,omitempty"`  // the code of a decision, or the reason of an error
	Cause   *Why      `json:"cause,omitempty"`   // the reason of the reason
}

// UnmarshalJSON takes the sentence of an earlier version for a reason too.
func (w *Why) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*w = Why{Code: SizeSaid}
		return json.Unmarshal(text, &w.Detail)
	}
	type plain Why
	return json.Unmarshal(text, (*plain)(w))
}

// Codes of snug size and snug cluster size, and why agents are silent. What follows each are its numbers; shares are
// of 1.
const (
	SizeCPUUnknown     = "size-cpu-unknown"
	SizeRequestUsed    = "size-request-used"    // cores used, share and seconds of windows, margin, cores for collections
	SizeRequestMean    = "size-request-mean"    // cores used, margin, cores for collections
	SizeWholeCores     = "size-whole-cores"     // cores used, share of the windows, seconds of a window
	SizeMoreCores      = "size-more-cores"      // share of periods that were throttled
	SizePsBusy         = "size-ps-busy"         //
	SizeForRequest     = "size-for-request"     //
	SizeByLimit        = "size-by-cpu-limit"    // detail: the code of the decision
	SizeGoChooses      = "size-go-chooses"      //
	SizeGoWould        = "size-go-would-choose" // the variable is set
	SizeMemoryUnknown  = "size-memory-unknown"  // detail: why
	SizeEndless        = "size-endless"         // there is no memory limit where nothing ends the growth of the heap
	SizeAllUsed        = "size-all-used"        // cause: why the heap is not known better
	SizeFigureUnknown  = "size-figure-unknown"  // of: the figure; detail: why
	SizeFewCollections = "size-few-collections" // collections
	SizeNeeded         = "size-needed"          //
	SizeHeld           = "size-held"            //
	SizeGoalFits       = "size-goal-fits"       // GOGC
	SizeCheapest       = "size-cheapest"        //
	SizeLeftAlone      = "size-left-alone"      // detail: the code of the decision
	SizeHeadroom       = "size-headroom"        //
	SizeMoreHeadroom   = "size-more-headroom"   // bytes
	SizeTooLittle      = "size-too-little"      //
	SizeNineTenths     = "size-nine-tenths"     //

	SizeYoung        = "size-young"         // age in seconds
	SizeGrowing      = "size-growing"       // bytes
	SizePeaks        = "size-peaks"         // seconds, margin, 1 = added to what lives, 0 = to all memory
	SizePeaksScans   = "size-peaks-scans"   // seconds between scans, days, margin, 1 or 0 as above
	SizeNoCollection = "size-no-collection" // bytes allocated, if known
	SizeLiveUnsure   = "size-live-unsure"   // collections
	SizeMates        = "size-mates"         // processes
	SizeWaited       = "size-waited"        // seconds for each that ran
	SizeThrottled    = "size-throttled"     // share of periods
	SizeUnexplained  = "size-unexplained"   // bytes
	SizeCurveUnsure  = "size-curve-unsure"  // part of the way
	SizeBursts       = "size-bursts"        // seconds; detail: why

	SizeEnded      = "size-ended"       //
	SizeNothing    = "size-nothing"     // of: the goal
	SizeLacked     = "size-lacked"      // detail: what
	SizeKept       = "size-kept"        // fresh runs that kept it, fresh runs; of: the goal
	SizeLimitOnly  = "size-limit-only"  //
	SizeLeftToGo   = "size-left-to-go"  //
	SizeAsTried    = "size-as-tried"    //
	SizeOtherLoads = "size-other-loads" // seconds of a run
	SizeNearlyAll  = "size-nearly-all"  // runs that kept it, runs, share at least, answers refuted before
	SizeUntried    = "size-untried"     // containers
	SizeSmallest   = "size-smallest"    //
	SizeAlsoKept   = "size-also-kept"   // fresh runs that kept it, fresh runs; of: a container
	SizeSaid       = "size-said"        // detail: a warning of the experiment, or a sentence of an earlier version

	SilentPod       = "silent-pod"       // detail: its phase
	SilentNoPort    = "silent-no-port"   //
	SilentToken     = "silent-token"     //
	SilentForbidden = "silent-forbidden" // detail: what the API server says
	SilentForeign   = "silent-foreign"   //
	SilentVersion   = "silent-version"   //
	SilentError     = "silent-error"     // detail: the error

	SizeKilled   = "size-killed"    // bytes
	SizeNearFull = "size-near-full" // bytes
	SizeSlowed   = "size-slowed"    // share of periods
	SizeOverUsed = "size-over-used" // cores
)
