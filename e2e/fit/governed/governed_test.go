// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDelays: a change is followed when a plan, and a knob, match its value, but only before the
// next change of the same kind.
func TestDelays(t *testing.T) {
	dir := t.TempDir()
	changes, events := filepath.Join(dir, "changes"), filepath.Join(dir, "events")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(changes, `{"unix_seconds":100,"what":"memory","way":"up","first":"start","bytes":500}
{"unix_seconds":101,"what":"memory","way":"down","first":"pod","bytes":200}
{"unix_seconds":102,"what":"cpu","way":"down","first":"container","gomaxprocs":1}
{"unix_seconds":105,"what":"memory","way":"up","first":"pod","bytes":500}
{"unix_seconds":110,"what":"cpu","way":"up","first":"pod","gomaxprocs":2}
{"unix_seconds":111,"what":"cpu","way":"down","first":"pod","gomaxprocs":1}
`)
	write(events, `{"unix_seconds":99,"what":"plan","plan_gomaxprocs":2,"plan_gomemlimit_bytes":450}
{"unix_seconds":101.2,"what":"gomemlimit","number":300}
{"unix_seconds":101.5,"what":"plan","plan_gomaxprocs":2,"plan_gomemlimit_bytes":180}
{"unix_seconds":101.6,"what":"gomemlimit","number":180}
{"unix_seconds":102.75,"what":"gomaxprocs","number":1}
no JSON
{"unix_seconds":108,"what":"gomemlimit","number":450}
{"unix_seconds":112,"what":"gomaxprocs","number":2}
`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	err = delays([]string{changes, events})
	os.Stdout = stdout
	w.Close()
	got, _ := io.ReadAll(r)
	want := `what,way,first,unix_seconds,plan_seconds,knob_seconds
memory,up,start,100.0000,,
memory,down,pod,101.0000,0.5000,0.6000
cpu,down,container,102.0000,,0.7500
memory,up,pod,105.0000,,3.0000
cpu,up,pod,110.0000,,
cpu,down,pod,111.0000,,
`
	if err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// TestTally: a program is back to normal when its last bad window is over.
func TestTally(t *testing.T) {
	k := kind{floor: .01}
	for _, test := range []struct {
		name             string
		bad              []int // of 20 windows
		resumed          time.Duration
		seconds, recover number // recover -1: never
	}{
		{"never bad", nil, 0, 0, 0},
		{"bad after a stop", []int{4, 5, 6, 9}, 1500 * time.Millisecond, 1, 1},
		{"bad by itself", []int{4, 6}, 0, .5, .75},
		{"to the end", []int{4, 5, 19}, 0, .75, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tl tally
			for i := range 20 {
				late := time.Millisecond
				for _, b := range test.bad {
					if b == i {
						late = 100 * time.Millisecond
					}
				}
				due := time.Duration(i) * window
				tl.add(due, due+late, 4*time.Second)
			}
			var r served
			tl.sum(&r, k, test.resumed)
			never := r.Normal != r.Normal
			if number(r.Bad) != test.seconds || never != (test.recover < 0) || !never && r.Normal != test.recover {
				t.Errorf("bad for %g s, back after %g s", r.Bad, float64(r.Normal))
			}
			if tl.inTime != 16 { // the last four finished after the end
				t.Errorf("%d in time", tl.inTime)
			}
		})
	}
}

// TestLoads: the live heaps have the requested size.
func TestLoads(t *testing.T) {
	h := heap{seed: 1}
	h.grow(10 << 20)
	if n := h.bytes(); n < 10<<20 || n > 10<<20+nodeBytes || len(h.blocks) != int((h.nodes+blockNodes-1)/blockNodes) {
		t.Errorf("%d bytes in %d blocks", n, len(h.blocks))
	}
	c := &cache{seed: 1}
	c.fill(10 << 20)
	before := c.bytes
	for range 100_000 {
		c.use()
	}
	sum := int64(0)
	for _, e := range c.entries {
		sum += int64(len(e.value)) + 96
	}
	if c.bytes > before+1<<16 || c.bytes < before/2 || sum > c.bytes*11/10 || sum < c.bytes*8/10 {
		t.Errorf("%d bytes became %d, %d in values", before, c.bytes, sum)
	}
}
