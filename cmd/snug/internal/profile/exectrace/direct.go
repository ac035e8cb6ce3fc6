// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"reflect"
	"strings"
	"unsafe"

	"golang.org/x/exp/trace"
)

// direct tells a few types of event cheaply: nearly all of a trace are goroutines that
// start to run, stop, block and are woken up, sizes of the heap, and sweeping. Asked
// through its methods an event is copied each time, and StateTransition alone takes 30 ns,
// a third of what reading the event takes.
//
// What tells them has no accessor. So it is looked for by name and type, and is relied
// on for a type of event only where events of trace.MakeEvent turn out to say what they
// were made of. Where they do not, as package trace has changed, the methods are used.
type direct struct {
	known bool // where these are in an event
	// Offsets.
	kind, time      uintptr // uint8, int64
	goroutine, proc uintptr // int64, which ran before
	argument        uintptr // uint64, the first one

	meanings [256]meaning

	// Reasons to block: all texts there were, where each is in them, and the numbers of
	// this generation, by their last bits.
	texts   []string
	places  map[string]int32
	numbers [64]reason
}

// brief is what direct tells of an event.
type brief struct {
	time    int64
	about   int64 // which goroutine, or how many bytes
	place   int32 // which P, or where the rest is: see meaning
	meaning meaning
}

// meaning is what a type of event says.
type meaning uint8

const (
	other  meaning = iota // something else: place is where the event is
	starts                // a goroutine starts to run, on a P
	wakes                 // it becomes runnable
	stops                 // it does so that ran
	blocks                // it waits; place is where the text of its reason is
	hasHeap
	hasGoal
	assists // a goroutine begins to help the collector
	assisted
	sweeps // the collector begins to sweep, on a P
	swept
)

// reason is a reason to block.
type reason struct {
	number uint64 // 0 is none, and has no text
	place  int32
}

// mostTexts is how many reasons to block are kept; Go has about 40.
const mostTexts = 1 << 10

func newDirect() *direct {
	d := &direct{known: true, places: map[string]int32{}}
	event := reflect.TypeFor[trace.Event]()
	d.kind = d.offset(event, reflect.Uint8, "base", "typ")
	d.time = d.offset(event, reflect.Int64, "base", "time")
	d.goroutine = d.offset(event, reflect.Int64, "ctx", "G")
	d.proc = d.offset(event, reflect.Int64, "ctx", "P")
	d.argument = d.offset(event, reflect.Uint64, "base", "args")
	if !d.known {
		return d
	}
	transition := func(from, to trace.GoState) func(n int64) trace.StateTransition {
		return func(n int64) trace.StateTransition { return trace.MakeGoStateTransition(trace.GoID(n), from, to) }
	}
	learn(d, starts, trace.EventStateTransition, d.argument, transition(trace.GoRunnable, trace.GoRunning))
	learn(d, wakes, trace.EventStateTransition, d.argument, transition(trace.GoWaiting, trace.GoRunnable))
	learn(d, stops, trace.EventStateTransition, d.goroutine, transition(trace.GoRunning, trace.GoRunnable))
	learn(d, blocks, trace.EventStateTransition, d.goroutine, transition(trace.GoRunning, trace.GoWaiting))
	metric := func(name string) func(n int64) trace.Metric {
		return func(n int64) trace.Metric { return trace.Metric{Name: name, Value: trace.Uint64Value(uint64(n))} }
	}
	learn(d, hasHeap, trace.EventMetric, d.argument, metric(metricHeap))
	learn(d, hasGoal, trace.EventMetric, d.argument, metric(metricGoal))
	assist := func(n int64) trace.Range {
		return trace.Range{Name: rangeAssist, Scope: trace.MakeResourceID(trace.GoID(n))}
	}
	learn(d, assists, trace.EventRangeBegin, d.goroutine, assist)
	learn(d, assisted, trace.EventRangeEnd, d.goroutine, assist)
	sweep := func(n int64) trace.Range {
		return trace.Range{Name: rangeSweep, Scope: trace.MakeResourceID(trace.ProcID(n))}
	}
	learn(d, sweeps, trace.EventRangeBegin, d.proc, sweep)
	learn(d, swept, trace.EventRangeEnd, d.proc, sweep)
	return d
}

// learn finds out which type of event means m, if such events have what they are about
// at an offset.
func learn[T trace.EventDetails](d *direct, m meaning, kind trace.EventKind, at uintptr, details func(n int64) T) {
	kindOf := uint8(0)
	for _, n := range [...]int64{1, 77, 1 << 40} {
		e, err := trace.MakeEvent(trace.EventConfig[T]{
			Kind: kind, Time: trace.Time(n + 1), Goroutine: trace.GoID(n + 2), Proc: trace.ProcID(n + 3), Details: details(n),
		})
		if err != nil || get[int64](&e, at) != n || get[int64](&e, d.time) != n+1 ||
			at != d.goroutine && get[int64](&e, d.goroutine) != n+2 || at != d.proc && get[int64](&e, d.proc) != n+3 {
			return
		}
		kindOf = get[uint8](&e, d.kind)
	}
	if d.meanings[kindOf] != other {
		d.known = false // one type for two things: that is not what it is
	}
	d.meanings[kindOf] = m
}

// offset is where a field of a field is, or the first element of one that is an array;
// there must be one of that kind.
func (d *direct) offset(t reflect.Type, kind reflect.Kind, names ...string) (at uintptr) {
	for _, name := range names {
		f, ok := reflect.StructField{}, false
		if t.Kind() == reflect.Struct {
			f, ok = t.FieldByName(name)
		}
		if !ok || len(f.Index) != 1 {
			d.known = false
			return 0
		}
		at, t = at+f.Offset, f.Type
	}
	if t.Kind() == reflect.Array && t.Len() > 0 {
		t = t.Elem()
	}
	if t.Kind() != kind {
		d.known = false
	}
	return at
}

// get is a field of an event.
func get[T any](e *trace.Event, at uintptr) T { return *(*T)(unsafe.Add(unsafe.Pointer(e), at)) }

// read writes down what an event says; the meaning other is that it cannot.
func (d *direct) read(e *trace.Event, r *brief) {
	r.meaning = other
	if !d.known {
		return
	}
	r.time = get[int64](e, d.time)
	switch m := d.meanings[get[uint8](e, d.kind)]; m {
	case starts:
		r.about, r.place, r.meaning = get[int64](e, d.argument), number(get[int64](e, d.proc)), m
	case wakes, hasHeap, hasGoal:
		r.about, r.meaning = get[int64](e, d.argument), m
	case stops, assists, assisted:
		r.about, r.meaning = get[int64](e, d.goroutine), m
	case sweeps, swept:
		r.place, r.meaning = number(get[int64](e, d.proc)), m
	case blocks:
		n := get[uint64](e, d.argument)
		known := &d.numbers[n%uint64(len(d.numbers))]
		if known.number != n || n == 0 {
			*known = reason{n, d.text(e.StateTransition().Reason)}
		}
		if known.place >= 0 {
			r.about, r.place, r.meaning = get[int64](e, d.goroutine), known.place, m
		}
	}
}

// sync is told of a new generation, in which texts have other numbers.
func (d *direct) sync() { clear(d.numbers[:]) }

// text is where a text is; below 0 is nowhere.
func (d *direct) text(s string) int32 {
	at, ok := d.places[s]
	if ok {
		return at
	}
	if len(d.texts) == mostTexts {
		return -1
	}
	s = strings.Clone(s)
	at = int32(len(d.texts))
	d.places[s] = at
	d.texts = append(d.texts, s)
	return at
}

// number is that of a P; -1 is one that cannot be.
func number(p int64) int32 {
	if p < 0 || p >= mostProcs {
		return -1
	}
	return int32(p)
}

// batch folds events; texts are reasons to block.
func (f *fold) batch(b *batch, texts []string) {
	for i := range b.briefs {
		r := &b.briefs[i]
		if r.meaning == other {
			f.event(&b.events[r.place])
			continue
		}
		if t := r.time; t > f.now && t-f.start >= 0 && f.begun { // at, which is too long to be inlined
			f.now = t
			f.events++
		} else {
			f.at(t, false)
		}
		g := trace.GoID(r.about)
		switch r.meaning {
		case starts:
			f.runs(g, trace.ProcID(r.place))
		case wakes:
			f.wakes(g)
		case stops:
			f.halts(g, trace.GoRunnable, "")
		case blocks:
			f.halts(g, trace.GoWaiting, texts[r.place])
		case hasHeap:
			f.heapIs(uint64(r.about))
		case hasGoal:
			f.goalIs(uint64(r.about))
		case assists, assisted:
			f.assist(g, r.meaning == assists)
		case sweeps, swept:
			f.sweep(trace.ProcID(r.place), r.meaning == sweeps)
		}
	}
}
