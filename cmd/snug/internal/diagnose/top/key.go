// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// Key is one key: a typed character, or one of the constants below.
type Key rune

// Keys that are not characters.
const (
	Up Key = -1 - iota
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	End
	Enter
	Escape
	Backspace
	CtrlC
	CtrlL
	CtrlU
	CtrlZ
)

// Action is what the caller must do after a key, besides drawing the view again.
type Action int

// The actions.
const (
	None    Action = iota
	Quit           // end
	Suspend        // stop, as Ctrl-Z does
	Repaint        // redraw everything: another program may have written to the screen
	Retime         // Interval has changed
)

// intervals are the steps of + and -.
var intervals = []time.Duration{
	500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
}

// maxFilter bounds the filter, in bytes.
const maxFilter = 64

// Key handles a key.
func (v *View) Key(k Key) Action {
	v.said = ""
	switch k {
	case CtrlC:
		return Quit
	case CtrlZ:
		return Suspend
	case CtrlL:
		return Repaint
	}
	switch {
	case v.typing:
		v.filterKey(k)
		return None
	case v.help:
		return v.helpKey(k)
	}
	return v.listKey(k)
}

// filterKey edits the filter, which applies at once.
func (v *View) filterKey(k Key) {
	switch {
	case k == Enter:
		v.typing = false
	case k == Escape:
		v.typing, v.filter = false, v.before
	case k == CtrlU:
		v.filter = ""
	case k == Backspace && v.filter == "":
		v.typing = false
	case k == Backspace:
		_, n := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-n]
	case k == Up || k == Down:
		v.listKey(k)
		return
	case k > 0 && unicode.IsPrint(rune(k)) && len(v.filter)+utf8.RuneLen(rune(k)) <= maxFilter:
		v.filter += string(rune(k))
	}
	v.arrange()
}

func (v *View) helpKey(k Key) Action {
	switch k {
	case 'q', 'h', '?', Escape, Enter:
		v.help, v.scroll = false, 0
	case Up, 'k':
		v.scroll = max(0, v.scroll-1)
	case Down, 'j':
		v.scroll++
	case PageUp:
		v.scroll = max(0, v.scroll-v.inner)
	case PageDown, ' ':
		v.scroll += v.inner
	case Home, 'g':
		v.scroll = 0
	}
	return None
}

func (v *View) listKey(k Key) Action {
	switch k {
	case 'q', 'Q':
		return Quit
	case Escape:
		switch {
		case v.detail:
			v.detail = false
		case v.filter != "":
			v.filter = ""
			v.arrange()
		default:
			v.held = false
			v.choose(0)
		}
	case 'h', '?':
		v.help, v.scroll = true, 0
	case '/':
		v.typing, v.before = true, v.filter
	case Enter:
		v.detail, v.scroll = !v.detail && v.current() != nil, 0
		v.held = v.held || v.detail
	case 'p', ' ':
		if v.paused = !v.paused; !v.paused && v.next != nil {
			d := v.next
			v.next = nil
			v.Update(d)
		}
	case '+', '=':
		return v.retime(1)
	case '-', '_':
		return v.retime(-1)
	case '<', ',', Left:
		v.sortNext(-1)
	case '>', '.', Right:
		v.sortNext(1)
	case 'r', 'R', 'I':
		v.reverse = !v.reverse
		v.arrange()
	case 'P':
		v.sortBy("cpu")
	case 'M':
		v.sortBy("memory")
	case 'N':
		v.sortBy("pid")
	case 'T':
		v.sortBy("throttled")
	case 'C':
		v.sortBy("gc")
	case 'W':
		v.sortBy("finding")
	default:
		v.move(k)
	}
	return None
}

// move moves through the list. If the detail is open, page keys scroll it.
func (v *View) move(k Key) {
	to := v.at
	switch k {
	case Up, 'k':
		to--
	case Down, 'j':
		to++
	case Home, 'g':
		to = 0
	case End, 'G':
		to = len(v.rows) - 1
	case PageUp, PageDown:
		by := v.page
		if k == PageUp {
			by = -by
		}
		if v.detail {
			v.scroll = max(0, v.scroll+max(1, v.inner-1)*by/max(1, v.page))
			return
		}
		to += by
	default:
		return
	}
	v.held = true
	v.choose(to)
}

func (v *View) retime(by int) Action {
	at, exact := slices.BinarySearch(intervals, v.interval)
	if by > 0 && !exact {
		at--
	}
	if at += by; at < 0 || at >= len(intervals) {
		v.said = "no further than " + v.interval.String()
		return None
	}
	v.interval = intervals[at]
	v.said = "every " + v.interval.String()
	return Retime
}

// sortNext sorts by the next column, shown or not.
func (v *View) sortNext(by int) {
	for {
		v.sort = (v.sort + by + len(columns)) % len(columns)
		if columns[v.sort].order != nil {
			break
		}
	}
	v.said = "sorted by " + columns[v.sort].head
	v.arrange()
}

// sortBy sorts by a column. The same column again reverses the order.
func (v *View) sortBy(id string) {
	at := slices.IndexFunc(columns, func(c column) bool { return c.id == id })
	v.reverse = at == v.sort && !v.reverse
	v.sort = at
	v.said = "sorted by " + columns[v.sort].head
	v.arrange()
}
