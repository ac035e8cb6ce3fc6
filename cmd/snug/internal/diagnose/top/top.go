// SPDX-License-Identifier: Apache-2.0

// Package top is the live view of Go processes, without the terminal. A [View] takes looks
// ([finding.Watch]) and keys and returns rows of text with roles; it neither reads processes
// nor draws. The watcher reads the processes.
package top

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Options are the initial settings of a view.
type Options struct {
	ASCII    bool          // show only ASCII
	Sort     string        // one of Orders; "" = cpu
	Interval time.Duration // between looks; 0 = take it from each look
}

// View is the state of the screen.
type View struct {
	glyphs   *glyphs
	look     *finding.Watch
	next     *finding.Watch // arrived while paused
	over     *finding.Watch // the last look: all named processes have ended
	interval time.Duration
	sort     int // index in columns
	reverse  bool
	paused   bool
	filter   string
	typing   bool // the filter is being edited
	before   string
	help     bool
	detail   bool
	scroll   int // rows of the detail or the help above the screen
	rows     []*finding.TopProcess
	chosen   int  // pid; 0 = none yet
	at       int  // its row
	held     bool // the user chose it: it stays chosen when the order changes
	first    int  // row at the top of the list
	page     int  // rows of the list when last shown
	inner    int  // rows of the detail when last shown
	said     string
}

// New returns a view without processes.
func New(o Options) *View {
	v := &View{glyphs: glyphsFor(o.ASCII), interval: o.Interval, page: 1, inner: 1}
	for i, c := range columns {
		if c.id == o.Sort || v.sort == 0 && c.id == "cpu" && o.Sort == "" {
			v.sort = i
		}
	}
	return v
}

// Interval returns the time between looks that the user has set.
func (v *View) Interval() time.Duration { return v.interval }

// Paused reports whether the view is paused.
func (v *View) Paused() bool { return v.paused }

// Update shows the next look, or keeps it until the view is no longer paused. If all named
// processes have ended, the previous look stays.
func (v *View) Update(d *finding.Watch) {
	if v.paused && v.look != nil {
		v.next = d
		return
	}
	if d.Over() && v.look != nil {
		v.over = d // their last figures stay
		return
	}
	was := v.current()
	v.look, v.over = d, nil
	v.arrange()
	if v.held && was != nil && v.chosen != was.PID &&
		!slices.ContainsFunc(d.Processes, func(p finding.TopProcess) bool { return p.PID == was.PID }) {
		v.said = "ended: " + strconv.Itoa(was.PID) + " " + was.Name
	}
}

// Over returns the note for the end: all named processes have ended. "" before that.
func (v *View) Over() string {
	if v.over == nil {
		return ""
	}
	return ended(v.over) + ", by " + clock(v.over.At)
}

// ended names the processes that have ended.
func ended(d *finding.Watch) string {
	pids := make([]string, len(d.Ended))
	for i, pid := range d.Ended {
		pids[i] = strconv.Itoa(pid)
	}
	return "ended: " + strings.Join(pids, " ")
}

// arrange sorts the rows and keeps the chosen row chosen.
func (v *View) arrange() {
	v.rows = v.rows[:0]
	if v.look == nil {
		return
	}
	want := strings.ToLower(v.filter)
	for i := range v.look.Processes {
		if p := &v.look.Processes[i]; matches(p, want) {
			v.rows = append(v.rows, p)
		}
	}
	order(v.rows, v.sort, v.reverse)
	if v.held {
		if at := slices.IndexFunc(v.rows, func(p *finding.TopProcess) bool { return p.PID == v.chosen }); at >= 0 {
			v.at = at
			return
		}
	}
	v.choose(v.at)
}

func order(rows []*finding.TopProcess, by int, reverse bool) {
	slices.SortStableFunc(rows, func(a, b *finding.TopProcess) int {
		c := columns[by].order(b, a)
		if reverse {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.PID, b.PID))
	})
}

// matches reports whether a process matches the filter, which is in lower case.
func matches(p *finding.TopProcess, want string) bool {
	return named(p.PID, p.Name, p.Exe, want) ||
		slices.ContainsFunc(p.Findings, func(f finding.Finding) bool { return strings.Contains(f.ID, want) })
}

// named reports whether a pid, a name or a path matches the filter.
func named(pid int, name, exe, want string) bool {
	return strings.Contains(strings.ToLower(name), want) || strings.Contains(strings.ToLower(exe), want) ||
		strings.HasPrefix(strconv.Itoa(pid), want)
}

// choose chooses the row that is nearest to at.
func (v *View) choose(at int) {
	v.at = max(0, min(at, len(v.rows)-1))
	was := v.chosen
	v.chosen = 0
	if len(v.rows) > 0 {
		v.chosen = v.rows[v.at].PID
	}
	if v.chosen != was && !v.help {
		v.scroll = 0
	}
}

// current returns the chosen process; nil = none.
func (v *View) current() *finding.TopProcess {
	if v.at < len(v.rows) {
		return v.rows[v.at]
	}
	return nil
}
