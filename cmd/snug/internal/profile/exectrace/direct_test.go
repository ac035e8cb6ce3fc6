// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bufio"
	"bytes"
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

// TestEventsAreAsTheyAreKnown fails when package trace changes what is read past its
// methods. Figures stay right then, and take longer.
func TestEventsAreAsTheyAreKnown(t *testing.T) {
	d := newDirect()
	if !d.known {
		t.Fatal("fields of trace.Event are not where they are looked for")
	}
	found := map[meaning]int{}
	for _, m := range d.meanings {
		found[m]++
	}
	for m := starts; m <= swept; m++ {
		if found[m] != 1 {
			t.Errorf("%d types of event mean %d", found[m], m)
		}
	}
}

// TestWhatIsNotThere looks for fields that are not as they are wanted.
func TestWhatIsNotThere(t *testing.T) {
	event := reflect.TypeOf(struct {
		Head int64
		In   struct {
			Small uint8
			Many  [2]uint64
			None  [0]uint64
		}
		*bytes.Reader
	}{})
	for _, c := range []struct {
		kind  reflect.Kind
		names []string
		at    uintptr
		known bool
	}{
		{reflect.Int64, []string{"Head"}, 0, true},
		{reflect.Uint8, []string{"In", "Small"}, 8, true},
		{reflect.Uint64, []string{"In", "Many"}, 16, true},
		{reflect.Uint64, []string{"In", "None"}, 0, false},
		{reflect.Int64, []string{"In", "Many"}, 0, false},
		{reflect.Uint8, []string{"Small"}, 0, false},
		{reflect.Uint8, []string{"Head", "Small"}, 0, false},
		{reflect.Slice, []string{"s"}, 0, false}, // behind a pointer
	} {
		d := &direct{known: true}
		if at := d.offset(event, c.kind, c.names...); d.known != c.known || c.known && at != c.at {
			t.Errorf("%v: %d, %v", c.names, at, d.known)
		}
	}
}

// TestBothWays reads traces past the methods of events, and by them.
func TestBothWays(t *testing.T) {
	for name, work := range map[string]func(){
		"busy": busy,
		"collections": func() {
			for range 20 {
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := record(t, work).data
			both := [2]*Summary{}
			for i, d := range []*direct{newDirect(), {}} {
				f := newFold()
				in := &input{ctx: context.Background(), r: bytes.NewReader(data)}
				if err := f.read(in.ctx, d, bufio.NewReader(in), in, nil); err != nil {
					t.Fatal(err)
				}
				both[i] = f.summary()
			}
			if !reflect.DeepEqual(both[0], both[1]) {
				t.Errorf("%+v\nwant\n%+v", both[0], both[1])
			}
		})
	}
}

// TestReasonsHaveOtherNumbers blocks with the same number and another text in each
// generation, as runtimes do.
func TestReasonsHaveOtherNumbers(t *testing.T) {
	d := newDirect()
	for i, text := range []string{"select", "sleep", "", "select"} {
		e, err := trace.MakeEvent(trace.EventConfig[trace.StateTransition]{
			Kind: trace.EventStateTransition, Time: 5, Goroutine: 7, Proc: 1,
			Details: func() trace.StateTransition {
				s := trace.MakeGoStateTransition(7, trace.GoRunning, trace.GoWaiting)
				s.Reason = text
				return s
			}(),
		})
		if err != nil {
			t.Fatal(err)
		}
		d.sync()
		var b brief
		for range 2 {
			if d.read(&e, &b); b.meaning != blocks || b.about != 7 || b.time != 5 || d.texts[b.place] != text {
				t.Errorf("%d: %+v of %q", i, b, d.texts)
			}
		}
	}
	if len(d.texts) != 3 {
		t.Errorf("%q", d.texts)
	}
}

// TestTooManyReasons falls back to the event's methods.
func TestTooManyReasons(t *testing.T) {
	d := newDirect()
	for i := range mostTexts {
		if at := d.text(string(rune(i + 1))); at != int32(i) {
			t.Fatalf("%d is at %d", i, at)
		}
	}
	if at := d.text("one more"); at >= 0 {
		t.Errorf("at %d", at)
	}
	if at := d.text("\x01"); at != 0 {
		t.Errorf("the first is at %d", at)
	}
}
