// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// What a scan reads of processes is bounded for each process, for each pod and in all: a process cannot make a scan
// long, and pods cannot take the scan from each other. A Go process that is known costs little, so it is only part of
// the sum of its pod, and its figures are as old as the last scan whatever other pods do.

const (
	// podPart is the part of a scan's budget that a pod has, or a cgroup outside of pods.
	podPart = 3
	// muchEvery is the interval, in scans, at which a process is looked at that has used up a budget.
	muchEvery = 10
	// maxMuch bounds the processes that the document names.
	maxMuch = 20
)

var (
	// sumOfLooks is for new processes, and the libraries that a process has mapped: less than a second of CPU time.
	sumOfLooks = proc.Amount{Bytes: 512 << 20, Calls: 1 << 18, Time: proc.OneLook.Time * 10}
	// knownLook is for a process that is known to be Go, knownPart for all of a pod. Such a look usually takes some
	// kilobytes.
	knownLook = proc.Amount{Bytes: 16 << 20, Calls: 1 << 12, Time: proc.OneLook.Time}
	knownPart = proc.Amount{Bytes: 64 << 20, Calls: 1 << 15, Time: proc.OneLook.Time * 10}
	// filesPart is for the pages of files of a pod, of which all pods have knownPart.
	filesPart = proc.Amount{Bytes: knownPart.Bytes / podPart, Calls: knownPart.Calls / podPart,
		Time: knownPart.Time / podPart}
	// heapLook is for a heap profile, of which there is one in heapPace: it is no part of a sum either.
	heapLook = proc.Amount{Bytes: 160 << 20, Calls: 1 << 16, Time: proc.OneLook.Time}
)

// budgets are those of one scan.
type budgets struct {
	ctx   context.Context
	share               // of processes of which more may be read than of one that is known
	known share         // of those that are
	files share         // of the pages of files of those that are
	gaps  []finding.Gap // names processes that were skipped
	late  int           // the first process for which nothing was left of the sum; 0 = there was enough
}

// share is what pods may have read of their processes.
type share struct {
	sum  *proc.Budget            // of all pods; nil = it has no bound
	part proc.Amount             // of a pod
	pods map[string]*proc.Budget // by podOf
}

// look returns the budget of a look at a process, as a part of its pod's.
func (s *share) look(ctx context.Context, a proc.Amount, pod string) *proc.Budget {
	if s.pods[pod] == nil {
		s.pods[pod] = proc.NewBudget(ctx, s.part, s.sum)
	}
	return proc.NewBudget(ctx, a, s.pods[pod])
}

// budgetsOf returns the budgets of a scan; whole = the sum is without a bound.
func budgetsOf(ctx context.Context, whole bool) budgets {
	sum := sumOfLooks
	if whole {
		sum = proc.Amount{Bytes: 1 << 62, Calls: 1 << 62, Time: sum.Time * 100}
	}
	part := proc.Amount{Bytes: sum.Bytes / podPart, Calls: sum.Calls / podPart, Time: sum.Time}
	return budgets{
		ctx: ctx, share: share{proc.NewBudget(ctx, sum, nil), part, map[string]*proc.Budget{}},
		known: share{nil, knownPart, map[string]*proc.Budget{}}, gaps: []finding.Gap{},
		files: share{proc.NewBudget(ctx, knownPart, nil), filesPart, map[string]*proc.Budget{}},
	}
}

// of returns the budget of a look at a process of which more may be read than of one that is known, as a
// part of its pod's.
func (b *budgets) of(a proc.Amount, group string) *proc.Budget { return b.look(b.ctx, a, podOf(group)) }

// repeat returns the scan in which a look of this scan is repeated whose budget was not enough, and why it
// was not: the next scan if only the budget of its pod or of the scan was used up.
func repeat(b *proc.Budget, tick int) (due int, why string) {
	if b.Spent() || b.Over() == nil { // or it was a part of the look that had too much to read
		return tick + muchEvery, proc.ErrTooMuch.Error()
	}
	return tick + 1, "the scan has read enough of others: it is looked at in the next one"
}

// gap names a process of which something is unknown because of its budget.
func (b *budgets) gap(pid int, why string) {
	if len(b.gaps) < maxMuch {
		b.gaps = append(b.gaps, finding.Gap{Field: "process", File: "/proc/" + strconv.Itoa(pid), Why: why})
	}
}

// inTurn begins with the process for which the last scan had nothing left. The kernel lists them in ascending order.
func inTurn(list []proc.Entry, first int) []proc.Entry {
	i := slices.IndexFunc(list, func(e proc.Entry) bool { return e.Pid >= first })
	if i <= 0 {
		return list
	}
	return append(slices.Clone(list[i:]), list[:i]...)
}

// pacer limits work to a share of one CPU, so that other programs on the node need not wait.
type pacer struct {
	share float64 // of one CPU, 0 to 1; 0 = no bound
	since time.Duration
	begun bool
	at    time.Time // when the CPU time was last read
	// For tests; nil = the process's own CPU time, and sleep.
	cpu   func() time.Duration
	sleep func(context.Context, time.Duration) error
}

// stint is the CPU time between two pauses: a few time slices of the scheduler, and far above
// the cost of a sleep.
const stint = 20 * time.Millisecond

// rest sleeps if a stint is used up. It returns the error of ctx.
func (p *pacer) rest(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.share <= 0 || p.share >= 1 {
		return nil
	}
	cpu, sleep := p.cpu, p.sleep
	if cpu == nil {
		now := time.Now() // costs less than the CPU time, which two Ps use up no faster than this
		if p.begun && now.Sub(p.at) < stint/2 {
			return nil
		}
		p.at, cpu, sleep = now, proc.CPUTime, names.Pause
	}
	now := cpu()
	if !p.begun {
		p.begun, p.since = true, now
	}
	took := now - p.since
	if took < stint {
		return nil
	}
	err := sleep(ctx, time.Duration(float64(took)*(1/p.share-1)))
	p.since = cpu()
	return err
}
