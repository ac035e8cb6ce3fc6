// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func pids(v *View) (all []int) {
	for _, p := range v.rows {
		all = append(all, p.PID)
	}
	return all
}

const (
	fine, killed, busy, denied = 12, 99, 4711, 4194304
)

// TestKeys: what each key leaves behind.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		keys   []Key
		action Action
		want   func(*View) bool
	}{
		{"at first by CPU", nil, None, func(v *View) bool {
			return slices.Equal(pids(v), []int{busy, denied, fine, killed}) && v.chosen == busy
		}},
		{"reversed", []Key{'r'}, None, func(v *View) bool { return slices.Equal(pids(v), []int{killed, fine, denied, busy}) }},
		{"by pid", []Key{'N'}, None, func(v *View) bool { return slices.Equal(pids(v), []int{fine, killed, busy, denied}) }},
		{"by pid twice", []Key{'N', 'N'}, None, func(v *View) bool { return slices.Equal(pids(v), []int{denied, busy, killed, fine}) }},
		{"by finding", []Key{'W'}, None, func(v *View) bool { return slices.Equal(pids(v)[:2], []int{killed, busy}) }},
		{"next column", []Key{'>'}, None, func(v *View) bool { return columns[v.sort].id == "quota" }},
		{"column before", []Key{'<'}, None, func(v *View) bool { return columns[v.sort].id == "name" }},
		{"unknown is last", []Key{'M'}, None, func(v *View) bool { return pids(v)[3] == killed }},
		{"down", []Key{'j', Down}, None, func(v *View) bool { return v.chosen == fine }},
		{"not above the first", []Key{Up, 'k'}, None, func(v *View) bool { return v.chosen == busy }},
		{"last", []Key{'G', Down}, None, func(v *View) bool { return v.chosen == killed }},
		{"first again", []Key{End, Home}, None, func(v *View) bool { return v.chosen == busy }},
		{"the chosen one stays chosen", []Key{'j', 'r'}, None, func(v *View) bool { return v.chosen == denied && v.at == 2 }},
		{"who chose nobody stays on top", []Key{'r'}, None, func(v *View) bool { return v.chosen == killed && v.at == 0 }},
		{"filter by name", append([]Key{'/'}, typed("SERV")...), None, func(v *View) bool { return slices.Equal(pids(v), []int{busy}) && v.typing }},
		{"filter by finding", append([]Key{'/'}, typed("oom")...), None, func(v *View) bool { return slices.Equal(pids(v), []int{killed}) }},
		{"filter by pid", append([]Key{'/'}, typed("47")...), None, func(v *View) bool { return slices.Equal(pids(v), []int{busy}) }},
		{"filter of what is not read", append([]Key{'/'}, typed("PYTHON")...), None, func(v *View) bool { return len(pids(v)) == 0 && len(v.unsupported(80)) == 1 }},
		{"what is not read, filtered", append([]Key{'/'}, typed("serv")...), None, func(v *View) bool { return len(v.unsupported(80)) == 0 }},
		{"what is not read, by pid", append([]Key{'/'}, typed("81")...), None, func(v *View) bool { return len(v.unsupported(80)) == 1 }},
		{"filter kept", append([]Key{'/'}, append(typed("q"), Enter)...), None, func(v *View) bool { return v.filter == "q" && !v.typing && len(v.rows) == 1 }},
		{"filter dropped", append([]Key{'/'}, append(typed("q"), Escape)...), None, func(v *View) bool { return v.filter == "" && len(v.rows) == 4 }},
		{"filter corrected", append([]Key{'/'}, append(typed("日x"), Backspace, Backspace, Backspace)...), None, func(v *View) bool { return v.filter == "" && !v.typing }},
		{"filter cleared", append([]Key{'/'}, append(typed("q"), Enter, Escape)...), None, func(v *View) bool { return v.filter == "" && len(v.rows) == 4 }},
		{"filter wiped", append([]Key{'/'}, append(typed("abc"), CtrlU)...), None, func(v *View) bool { return v.filter == "" && v.typing }},
		{"no endless filter", append([]Key{'/'}, typed(strings.Repeat("日", 99))...), None, func(v *View) bool { return len(v.filter) <= maxFilter }},
		{"detail", []Key{Enter}, None, func(v *View) bool { return v.detail }},
		{"detail of nobody", append([]Key{'/'}, append(typed("zzz"), Enter, Enter)...), None, func(v *View) bool { return !v.detail && v.chosen == 0 }},
		{"detail closed", []Key{Enter, Enter}, None, func(v *View) bool { return !v.detail }},
		{"detail closed by Escape", []Key{Enter, Escape}, None, func(v *View) bool { return !v.detail }},
		{"help", []Key{'?'}, None, func(v *View) bool { return v.help }},
		{"help closed, not ended", []Key{'h', 'q'}, None, func(v *View) bool { return !v.help }},
		{"paused", []Key{' '}, None, func(v *View) bool { return v.Paused() }},
		{"and on", []Key{'p', ' '}, None, func(v *View) bool { return !v.Paused() }},
		{"slower", []Key{'+'}, Retime, func(v *View) bool { return v.Interval() == 5*time.Second }},
		{"faster", []Key{'-'}, Retime, func(v *View) bool { return v.Interval() == time.Second }},
		{"fastest", []Key{'-', '-', '-'}, None, func(v *View) bool { return v.Interval() == 500*time.Millisecond }},
		{"quit", []Key{'q'}, Quit, nil},
		{"Ctrl-C while typing", []Key{'/', CtrlC}, Quit, nil},
		{"Ctrl-C in the help", []Key{'?', CtrlC}, Quit, nil},
		{"q while typing", []Key{'/', 'q'}, None, func(v *View) bool { return v.filter == "q" }},
		{"suspend", []Key{CtrlZ}, Suspend, nil},
		{"paint again", []Key{CtrlL}, Repaint, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := view(Options{})
			v.Frame(80, 24)
			if got := press(v, c.keys...); got != c.action {
				t.Errorf("action %v, want %v", got, c.action)
			}
			if c.want != nil && !c.want(v) {
				t.Errorf("%v, chosen %d at %d, sorted by %s, filter %q", pids(v), v.chosen, v.at, columns[v.sort].id, v.filter)
			}
		})
	}
}

// TestOddInterval: from an interval of the user's own it goes to the next of ours.
func TestOddInterval(t *testing.T) {
	v := view(Options{Interval: 3 * time.Second})
	if v.Key('+'); v.Interval() != 5*time.Second {
		t.Errorf("+: %v", v.Interval())
	}
	v = view(Options{Interval: 3 * time.Second})
	if v.Key('-'); v.Interval() != 2*time.Second {
		t.Errorf("-: %v", v.Interval())
	}
}

// TestPause: what is shown stays, and the newest comes when it goes on.
func TestPause(t *testing.T) {
	v := view(Options{})
	v.Key('p')
	later := look()
	later.Processes = later.Processes[:1]
	v.Update(later)
	if len(v.rows) != 4 {
		t.Errorf("paused: %v", pids(v))
	}
	if v.Key('p'); len(v.rows) != 1 {
		t.Errorf("gone on: %v", pids(v))
	}
}

// TestEnded: when the chosen process ends, the one in its place is chosen; nothing is
// left of the last.
func TestEnded(t *testing.T) {
	v := view(Options{})
	press(v, 'j', Enter)
	rest := look()
	rest.Processes = rest.Processes[:3]
	v.Update(rest)
	if v.chosen != fine || v.at != 1 {
		t.Errorf("chosen %d at %d", v.chosen, v.at)
	}
	v.Update(&finding.Watch{})
	if v.Frame(80, 24); v.current() != nil {
		t.Errorf("chosen %d", v.chosen)
	}
}

// TestScrolls: the chosen row is always in sight.
func TestScrolls(t *testing.T) {
	d := look()
	d.Processes = nil
	for i := range 300 {
		p := finding.TopProcess{Name: "p"}
		p.PID = i + 1
		d.Processes = append(d.Processes, p)
	}
	v := New(Options{Sort: "pid", Interval: time.Second})
	v.Update(d)
	random := rand.New(rand.NewPCG(1, 2))
	all := []Key{Up, Down, PageUp, PageDown, 'g', 'G', 'j', 'k', Enter, 'r', '>', '<'}
	for i := range 2000 {
		v.Key(all[random.IntN(len(all))])
		height := 3 + random.IntN(30)
		rows := v.Frame(60, height)
		if v.detail && height < 11 {
			continue // the pane has the screen
		}
		seen := 0
		for _, row := range rows {
			if len(row) > 0 && row[0].Role == Chosen {
				seen++
			}
		}
		if seen != 1 {
			t.Fatalf("step %d, height %d, row %d: shown %d times", i, height, v.at, seen)
		}
	}
}

// FuzzKeys: no sequence of keys and sizes brings it down.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("jj\r/serv\x1b?q"), 80, 24)
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 'G', '+', '<', 'r'}, 20, 5)
	f.Fuzz(func(t *testing.T, keys []byte, width, height int) {
		v := view(Options{})
		for i, k := range keys[:min(len(keys), 200)] {
			key := Key(k)
			if k < 16 {
				key = -Key(k)
			}
			v.Key(key)
			if i%3 == 0 {
				v.Frame(width&127, height&63)
			}
			if i%7 == 0 {
				d := look()
				d.Processes = d.Processes[:i%5]
				v.Update(d)
			}
		}
	})
}
