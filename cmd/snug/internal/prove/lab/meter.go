// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// meter gives the status every second, also while a run goes on.
type meter struct {
	talk  talk
	every time.Duration
	began time.Time
	stop  chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	doing string                           // while there is no progress; "" shows nothing
	text  func(since time.Duration) string // of the last progress; nil before the first
	at    time.Time                        // of the last progress
}

// measured starts a meter. The caller must call done.
func (l *Lab) measured(doing string) *meter {
	m := &meter{talk: l.Talk, every: l.beat, began: time.Now(), doing: doing, stop: make(chan struct{}),
		ended: make(chan struct{})}
	if m.every == 0 {
		m.every = time.Second
	}
	go m.run()
	return m
}

func (m *meter) run() {
	defer close(m.ended)
	tick := time.NewTicker(m.every)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			m.show()
		}
	}
}

// done ends the meter and clears its line.
func (m *meter) done() {
	close(m.stop)
	<-m.ended
	m.talk.Status("")
}

// progress takes what an experiment reports.
func (m *meter) progress(p experiment.Progress) {
	m.say(func(since time.Duration) string { return progressText(m.doing, p, time.Since(m.began), since) })
}

// say takes the text of a progress, which changes with the time since.
func (m *meter) say(text func(since time.Duration) string) {
	m.mu.Lock()
	m.text, m.at = text, time.Now()
	m.mu.Unlock()
	m.show()
}

func (m *meter) show() {
	m.mu.Lock()
	text := ""
	switch {
	case m.text != nil:
		text = m.text(time.Since(m.at))
	case m.doing != "":
		text = progressText(m.doing, experiment.Progress{}, time.Since(m.began), 0)
	}
	m.mu.Unlock()
	if text != "" {
		m.talk.Status(text)
	}
}

// progressText says what is done, for how long and for how much longer. since is the time since p.
func progressText(doing string, p experiment.Progress, elapsed, since time.Duration) string {
	text := doing
	if p.Total > 0 {
		text = fmt.Sprintf("run %d of %d", min(p.Done+1, p.Total), p.Total)
		if p.Repeated > 0 {
			text += fmt.Sprintf(", %d repeated", p.Repeated)
		}
	}
	text += "; " + approximate(elapsed) + " so far"
	if left := p.Left - since; left > 0 {
		text += ", about " + approximate(left) + " left"
	}
	return text
}

// minutes says how long something takes.
func minutes(d time.Duration) string {
	if n := int(d.Round(time.Minute).Minutes()); n > 0 {
		return fmt.Sprintf("about %d min", n)
	}
	return "under a minute"
}

// duration returns the time that a run of an arm takes; false if only a run can show it.
func (l *Lab) duration(a finding.Arm) (time.Duration, bool) {
	if a.Load == experiment.LoadBenchmark || a.Load == runner.LoadBatch {
		return 0, false
	}
	return l.perRun(), true
}

// perRun returns the time that a run under load takes.
func (l *Lab) perRun() time.Duration { return l.warmUp + l.window + runCost }

// firstRun returns a function that takes the progress of an experiment, and says once how long the
// runs take that have no fixed duration: after the first of them. runs is the number of runs to do.
func (l *Lab) firstRun(d *experiment.Design, runs int) func(experiment.Progress) {
	var known time.Duration // of the other runs, on average
	open := 0
	for _, a := range d.Arms {
		if took, ok := l.duration(a.Arm); ok {
			known += took / time.Duration(len(d.Arms))
		} else {
			open++
		}
	}
	said := open == 0
	var before *experiment.Progress
	return func(p experiment.Progress) {
		if before != nil && !said {
			if _, ok := l.duration(before.Trial.Arm); !ok {
				said = true
				took := p.Elapsed - before.Elapsed
				all := time.Duration(runs) * (known + took*time.Duration(open)/time.Duration(len(d.Arms)))
				l.Talk.Note("note: each run takes %s: %s for %d runs", content.Whole(took.Seconds()), minutes(all), runs)
			}
		}
		before = &p
	}
}
