// SPDX-License-Identifier: Apache-2.0

package top

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Frame returns the screen: exactly height rows of at most width cells.
func (v *View) Frame(width, height int) []Row {
	if width < 1 || height < 1 {
		return nil
	}
	var rows []Row
	switch {
	case v.help:
		rows = v.helpRows(width, height)
	case height < 3:
		rows = v.list(width, height, false)
	default:
		rows = append(rows, v.status(width))
		body := height - 2
		if height >= 12 {
			rows = append(rows, v.summary(width))
			body--
		}
		if v.detail && v.current() != nil {
			list := min(body/3, len(v.rows)+1)
			if body < 9 {
				list = 0
			}
			rows = append(rows, v.list(width, list, true)...)
			rows = append(rows, v.pane(width, body-list)...)
		} else {
			rows = append(rows, v.list(width, body, true)...)
		}
		for len(rows) < height-1 {
			rows = append(rows, nil)
		}
		rows = append(rows, v.footer(width))
	}
	for len(rows) < height {
		rows = append(rows, nil)
	}
	return rows[:height]
}

// status returns the first row: the title and the settings.
func (v *View) status(width int) Row {
	l := v.glyphs.newLine(width).add(Title, "snug top")
	if v.look == nil {
		return l.add(Plain, "  looking ...").row
	}
	if v.over != nil {
		return l.add(Bad, "  "+v.Over()).whole(Plain, "; below is "+clock(v.look.At)).row
	}
	if v.paused {
		l.add(Warn, "  paused")
	}
	l.add(Plain, "  "+clock(v.look.At))
	if every := v.every(); every > 0 {
		l.whole(Plain, "  every "+every.String())
	}
	if len(v.look.Ended) > 0 {
		l.whole(Warn, "  "+ended(v.look))
	}
	wrong := 0
	for i := range v.look.Processes {
		if finding.Worst(v.look.Processes[i].Findings).Level() >= finding.SeverityWarning.Level() {
			wrong++
		}
	}
	l.whole(Plain, "  "+counted(len(v.look.Processes), "Go process", "Go processes"))
	if wrong > 0 {
		l.whole(Warn, ", "+strconv.Itoa(wrong)+" with a warning or worse")
	}
	return l.row
}

// every returns the interval, or the length of a saved look, to a tenth of a second; 0 =
// unknown.
func (v *View) every() time.Duration {
	if v.interval > 0 || v.look.Seconds == nil {
		return v.interval
	}
	return time.Duration(max(0, min(*v.look.Seconds, 1e6)) * float64(time.Second)).Round(time.Second / 10)
}

// clock returns the time of day of an RFC 3339 time.
func clock(at string) string {
	if _, t, ok := strings.Cut(at, "T"); ok && len(t) >= 8 {
		return t[:8]
	}
	return at
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// summary returns the second row: totals over all processes, and what could not be read.
func (v *View) summary(width int) Row {
	l := v.glyphs.newLine(width)
	if v.look == nil {
		return nil
	}
	used, memory, throttled, known := 0.0, int64(0), 0, false
	for i := range v.look.Processes {
		p := &v.look.Processes[i]
		if p.Used.Known() {
			used, known = used+p.Used.N, true
		}
		if p.Memory.Known() {
			memory += p.Memory.N
		}
		if p.Throttled.Known() && p.Throttled.N > 0 {
			throttled++
		}
	}
	l.add(Label, "CPU ")
	if known {
		l.add(Plain, units.NarrowFixed(used, 5))
	} else {
		l.add(Dim, ".")
	}
	if v.look.Machine > 0 {
		l.add(Plain, " of "+counted(v.look.Machine, "core", "cores"))
	}
	l.whole(Label, "  memory ").whole(Plain, units.NarrowBytes(memory))
	if throttled > 0 {
		l.whole(Label, "  throttled ").whole(Warn, counted(throttled, "process", "processes"))
	}
	denied, why := 0, ""
	for _, o := range v.look.Others {
		denied, why = denied+o.Count, o.Why
	}
	if denied > 0 {
		l.whole(Dim, "  cannot read "+strconv.Itoa(denied))
		if len(v.look.Others) == 1 {
			l.whole(Dim, ": "+why)
		}
	}
	if n := len(v.look.Unsupported); n > 0 {
		l.whole(Dim, "  unsupported "+strconv.Itoa(n))
	}
	return l.row
}

// footer returns the last row: the keys, or the filter being typed.
func (v *View) footer(width int) Row {
	l := v.glyphs.newLine(width)
	switch {
	case v.typing:
		l.add(Label, "filter: ").add(Input, v.filter+"_")
		return l.whole(Dim, "   Enter keeps it, Esc drops it").row
	case v.said != "":
		return l.add(Plain, v.said).row
	}
	if v.filter != "" {
		l.add(Label, "filter ").add(Input, v.filter).whole(Dim, " (Esc clears)").add(Plain, "  ")
	}
	keys := [][2]string{{"q", "quit"}, {"?", "help"}, {"Enter", "detail"}, {"/", "filter"}, {"<>", "sort"},
		{"r", "reverse"}, {"Space", "pause"}, {"+-", "time"}}
	if v.paused {
		keys[6][1] = "go on"
	}
	if v.detail {
		keys = [][2]string{{"Enter", "closes"}, {"j k", "other process"}, {"PgUp PgDn", "scroll"}, {"q", "quit"},
			{"?", "help"}}
	}
	for i, k := range keys {
		piece := v.glyphs.newLine(l.left)
		if i > 0 {
			piece.add(Plain, "  ")
		}
		piece.add(Label, k[0]).add(Plain, " "+k[1])
		if want := len(k[0]) + len(k[1]) + 1; piece.row.width() < want || i > 0 && piece.row.width() < want+2 {
			break
		}
		l.row, l.left = append(l.row, piece.row...), piece.left
	}
	return l.row
}

// list returns the column heads and as many processes as fit.
func (v *View) list(width, height int, head bool) []Row {
	if height < 1 {
		return nil
	}
	if height < 2 {
		head = false
	}
	shown := layout(width-2, v.rows, v.sort)
	var rows []Row
	if head {
		rows = append(rows, v.head(shown, width))
		height--
	}
	v.page = height
	v.first = max(0, min(v.first, v.at, len(v.rows)-height))
	if v.at >= v.first+height {
		v.first = v.at - height + 1
	}
	if len(v.rows) == 0 {
		rows = append(rows, v.empty(width))
		height--
	}
	for i := v.first; i < len(v.rows) && i < v.first+height; i++ {
		rows = append(rows, v.process(shown, v.rows[i], width, i == v.at))
	}
	rest := v.unsupported(width)
	return append(rows, rest[:max(0, min(len(rest), height-len(v.rows)))]...)
}

// unsupported returns a row for each process with Go that is not read and that matches the filter.
func (v *View) unsupported(width int) []Row {
	if v.look == nil {
		return nil
	}
	var rows []Row
	want := strings.ToLower(v.filter)
	for i := range v.look.Unsupported {
		if u := &v.look.Unsupported[i]; named(u.PID, path.Base(u.Exe), u.Exe, want) {
			rows = append(rows, v.glyphs.newLine(width).add(Dim, u.String()).row)
		}
	}
	return rows
}

// empty returns a row that says why there is no process.
func (v *View) empty(width int) Row {
	l := v.glyphs.newLine(width)
	switch {
	case v.look == nil:
		return l.add(Dim, "looking at all processes ...").row
	case v.filter != "" && len(v.look.Processes) > 0:
		all := counted(len(v.look.Processes), "Go process", "Go processes")
		return l.add(Plain, "none of "+all+" fits the filter "+strconv.Quote(v.filter)).row
	case len(v.look.Selected) > 0:
		return l.add(Plain, "no Go process now: "+strings.Join(v.look.Selected, " ")).row
	}
	return l.add(Plain, "no Go process here that snug may read").row
}

// placed is a column with its width.
type placed struct {
	*column
	cells  int
	sorted bool
}

// layout chooses the columns that fit into cells. It drops the least important columns first
// and the sort column last, and gives the cells left over to columns that can grow. 0 cells =
// no limit.
func layout(cells int, rows []*finding.TopProcess, sorted int) []placed {
	var shown []placed
	need := 0
	for i := range columns {
		c := placed{&columns[i], columns[i].width, i == sorted}
		shown = append(shown, c)
		need += c.cells + 1
	}
	for cells > 0 && need > cells+1 {
		worst := -1
		for i := range shown {
			if !shown[i].sorted && shown[i].drop > 0 && (worst < 0 || shown[i].drop >= shown[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		need -= shown[worst].cells + 1
		shown = slices.Delete(shown, worst, worst+1)
	}
	for i := range shown {
		c := &shown[i]
		if c.grows == 0 {
			continue
		}
		want := c.width
		if c.text == nil {
			want += c.grows
		} else {
			for _, p := range rows {
				text, _ := c.text(p, nil)
				want = max(want, len(text)) // at least its width in cells
			}
			want = min(want, c.width+c.grows)
		}
		extra := want - c.cells
		if cells > 0 {
			extra = min(extra, max(0, cells+1-need))
		}
		c.cells, need = c.cells+extra, need+extra
	}
	return shown
}

// head returns the row of column names.
func (v *View) head(shown []placed, width int) Row {
	l := v.glyphs.newLine(width).add(Head, "  ")
	for i, c := range shown {
		if i > 0 {
			l.add(Head, " ")
		}
		name, role := c.head, Head
		if c.sorted {
			sign := v.glyphs.down
			if v.reverse {
				sign = v.glyphs.up
			}
			if len(name) >= c.cells {
				name = name[:c.cells-1]
			}
			name, role = name+sign, Sorted
		}
		l.add(role, v.glyphs.fit(name, c.cells, c.left))
	}
	return l.fill(Head).row
}

// process returns the row of a process. Its first character is the cursor or the worst
// severity.
func (v *View) process(shown []placed, p *finding.TopProcess, width int, chosen bool) Row {
	worst := finding.Worst(p.Findings)
	l := v.glyphs.newLine(width)
	role := func(r Role) Role {
		if chosen {
			return Chosen
		}
		return r
	}
	l.add(role(roleOf(worst)), mark(worst)+" ")
	for i, c := range shown {
		if i > 0 {
			l.add(role(Plain), " ")
		}
		text, r := v.cell(c, p)
		l.add(role(r), v.glyphs.fit(v.glyphs.clean(text), c.cells, c.left))
	}
	if chosen {
		l.fill(Chosen)
	}
	return l.row
}

// cell returns the text of one figure of a process.
func (v *View) cell(c placed, p *finding.TopProcess) (string, Role) {
	if c.text == nil {
		return v.glyphs.bar(p, c.cells)
	}
	return c.text(p, v.glyphs)
}

// bar draws the heap and its goal on the way to the limit, or to the goal where
// there is no limit.
func (g *glyphs) bar(p *finding.TopProcess, cells int) (string, Role) {
	full, ok := fullness(p).Get()
	if !ok {
		return absent(p.Heap), Dim
	}
	of := bound(p)
	part := func(n int64) int {
		return max(0, min(cells, int(float64(cells)*min(2, float64(n)/float64(of.N))+0.5)))
	}
	heap, goal := part(p.Heap.N), 0
	if p.Heap.N > 0 {
		heap = max(1, heap)
	}
	if p.Goal.Known() {
		goal = max(0, part(p.Goal.N)-heap)
	}
	role := Plain
	if limit(p).Known() {
		role = alarm(full, 0.8, 0.95)
	}
	room := max(0, cells-heap-goal)
	return strings.Repeat(g.heap, heap) + strings.Repeat(g.goal, goal) + strings.Repeat(g.room, room), role
}
