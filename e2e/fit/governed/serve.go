// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// kind is a program that serves requests.
type kind struct {
	handle func(r *rand.Rand)
	jitter time.Duration // of regular arrivals; -1 = Poisson arrivals
	// floor is the mean latency in seconds without interference. A window of 250 ms with a mean
	// above five times the floor is bad.
	floor float64
}

// kinds returns the four programs on which settings were compared, in the same sizes.
func kinds() map[string]kind {
	return map[string]kind{
		// Two system calls that block for some milliseconds, and a little CPU time.
		"sys": {func(r *rand.Rand) {
			nanosleep(int64(1e6 + r.Float64()*4e6))
			spin(10)
			nanosleep(int64(1e6 + r.Float64()*2e6))
			spin(10)
		}, -1, .0055},
		"cpu":   {func(r *rand.Rand) { spin(90); roundTrip(list(r, 4)) }, -1, .002},
		"gc":    {withLive(), -1, .003},
		"burst": {func(r *rand.Rand) { fanOut(18, 300) }, 15 * time.Millisecond, .04},
	}
}

// spin hashes this many KiB ten times: about 7 µs per KiB with SHA instructions.
func spin(kib int) {
	var block [1 << 10]byte
	for range kib * 10 {
		s := sha256.Sum256(block[:])
		block[0] = s[0]
	}
}

type item struct {
	Name  string
	Price float64
	Tags  []string
}

func list(r *rand.Rand, n int) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = item{strconv.FormatUint(r.Uint64(), 36), r.Float64(), []string{"a", strconv.Itoa(i)}}
	}
	return items
}

func roundTrip(items []item) {
	text, _ := json.Marshal(items)
	var back []item
	json.Unmarshal(text, &back)
}

// withLive answers with JSON of 60 items, and has a live heap of 60,000 objects.
func withLive() func(*rand.Rand) {
	var once sync.Once
	var live []*item
	return func(r *rand.Rand) {
		once.Do(func() {
			for i := range 60_000 {
				live = append(live, &item{strconv.Itoa(i), float64(i), []string{"x"}})
			}
		})
		items := list(r, 60)
		items[0] = *live[r.IntN(len(live))]
		for range 4 {
			roundTrip(items)
		}
	}
}

// fanOut runs goroutines that use CPU time in parallel.
func fanOut(goroutines, kib int) {
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() { spin(kib) })
	}
	all.Wait()
}

// window is the length of a part of the timeline.
const window = 250 * time.Millisecond

// served is the last line of serve. Latencies count from the time when a request was due.
type served struct {
	Load     string  `json:"load"`
	Seconds  float64 `json:"seconds"`
	Offered  float64 `json:"offered_per_second"`
	Achieved float64 `json:"achieved_per_second"` // finished before the arrivals ended
	Late     int64   `json:"unfinished"`          // when the arrivals ended
	Mean     float64 `json:"mean_seconds"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	Max      float64 `json:"max_seconds"`
	LastMean float64 `json:"last_third_mean_seconds"`
	LastP99  float64 `json:"last_third_p99_seconds"`
	CPUPerOp float64 `json:"cpu_ms_per_op"`
	Cores    float64 `json:"cores"`
	// Bad is the time in windows with a mean latency above five times the floor.
	Bad float64 `json:"bad_seconds"`
	// Normal is the time until the end of the last bad window, from the last stop of the program
	// or, without a stop, from the start of the first bad window; 0 = no bad window, null = bad
	// until the load ended.
	Normal   number `json:"back_to_normal_seconds"`
	Procs    int    `json:"gomaxprocs"`
	ProcsMax int    `json:"gomaxprocs_max"`
	Changes  int    `json:"gomaxprocs_changes"` // polled four times a second
	*watched
}

// tally collects latencies by the due time of the request.
type tally struct {
	mu      sync.Mutex
	all     [][]float32 // by window
	inTime  int64       // finished before the end
	waiting atomic.Int64
}

func (t *tally) add(due, now time.Duration, end time.Duration) {
	i := int(due / window)
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.all) <= i {
		t.all = append(t.all, nil)
	}
	t.all[i] = append(t.all[i], float32((now - due).Seconds()))
	if now <= end {
		t.inTime++
	}
}

// serve answers requests, each in a goroutine. A process of its own generates them at a rate.
func serve(args []string) error {
	f := newFlags("serve", 20)
	name := f.String("kind", "sys", "sys, cpu, gc or burst")
	rate := f.Float64("rate", 900, "requests per second")
	seed := f.Uint64("seed", 1, "seed of the arrivals")
	stall := f.Duration("stall", 0, "how long each stop of the program lasts (default: no stop)")
	stallAt := f.Duration("stall-at", 3*time.Second, "time of the first stop")
	stalls := f.Int("stalls", 1, "number of stops")
	every := f.Duration("stall-every", 0, "from one stop to the next (default: three times --stall)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *every <= *stall {
		*every = 3 * *stall
	}
	k, ok := kinds()[*name]
	if !ok {
		return fmt.Errorf("unknown kind, --kind %s", *name)
	}
	if err := govern(nil); err != nil {
		return err
	}
	k.handle(rand.New(rand.NewPCG(1, 1))) // exclude one-time setup from the first request
	cmd, in, err := generate("--rate", fmt.Sprint(*rate), "--jitter", k.jitter.String(), "--seed", fmt.Sprint(*seed),
		"--for", f.duration().String(), "--stop-at", stallAt.String(), "--stop-for", stall.String(),
		"--stops", strconv.Itoa(*stalls), "--stop-every", every.String())
	if err != nil {
		return err
	}
	m := newMeter()
	a := m.read()
	began, end := monotonic(), f.duration()
	t := &tally{}
	var came int64
	var done atomic.Int64
	procs := newProcs()
	untrace := tracer(a.at, done.Load, func(s *sample) { s.Queue = t.waiting.Load(); procs.see(s.Procs) }, f.trace)
	var all sync.WaitGroup
	var next [arrivalBytes]byte
	for {
		if _, err := io.ReadFull(in, next[:]); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		due := time.Duration(int64(binary.LittleEndian.Uint64(next[:])) - began)
		draw := binary.LittleEndian.Uint64(next[8:])
		came++
		t.waiting.Add(1)
		all.Go(func() {
			k.handle(rand.New(rand.NewPCG(draw, 2)))
			t.add(max(0, due), time.Duration(monotonic()-began), end)
			t.waiting.Add(-1)
			done.Add(1)
		})
	}
	waiting := t.waiting.Load()
	b := m.read()
	finished := make(chan struct{})
	go func() { all.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(10 * time.Second): // an endless backlog is a result too
	}
	untrace()
	if err := cmd.Wait(); err != nil {
		return err
	}
	r := served{
		Load: "serve " + *name, Seconds: end.Seconds(), Offered: float64(came) / end.Seconds(),
		Late: waiting, Cores: (b.cpu - a.cpu) / b.at.Sub(a.at).Seconds(),
		Procs: runtime.GOMAXPROCS(0), ProcsMax: procs.peak, Changes: procs.changes, watched: watch(),
	}
	resumed := time.Duration(0)
	if *stall > 0 {
		resumed = *stallAt + time.Duration(*stalls-1)**every + *stall
	}
	t.sum(&r, k, resumed)
	r.CPUPerOp = (b.cpu - a.cpu) / float64(max(1, t.inTime)) * 1000
	printJSON(r)
	os.Stdout.Sync()
	return nil
}

// sum fills in the statistics of the latencies. resumed is when the program was continued for the
// last time; 0 = it was not stopped.
func (t *tally) sum(r *served, k kind, resumed time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Achieved = float64(t.inTime) / r.Seconds
	var all, last []float32
	first, bad := -1, -1 // windows: the first and the last bad one
	for i, part := range t.all {
		all = append(all, part...)
		if i >= len(t.all)*2/3 {
			last = append(last, part...)
		}
		if mean(part) > 5*k.floor {
			r.Bad += window.Seconds()
			if bad = i; first < 0 {
				first = i
			}
		}
	}
	r.Mean, r.P50, r.P99, r.Max = mean(all), quantile(all, .5), quantile(all, .99), quantile(all, 1)
	r.LastMean, r.LastP99 = mean(last), quantile(last, .99)
	from := resumed
	if resumed == 0 {
		from = time.Duration(first) * window
	}
	switch {
	case bad < 0:
	case bad >= len(t.all)-2:
		r.Normal = none
	default:
		r.Normal = number(max(0, (time.Duration(bad+1)*window - from).Seconds()))
	}
}

func mean(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(max(1, len(x)))
}

func quantile(x []float32, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return float64(s[min(len(s)-1, int(q*float64(len(s))))])
}

// procs tracks GOMAXPROCS.
type procs struct{ last, peak, changes int }

func newProcs() *procs {
	n := runtime.GOMAXPROCS(0)
	return &procs{last: n, peak: n}
}

func (p *procs) see(n int) {
	if n != p.last {
		p.changes++
	}
	p.last, p.peak = n, max(p.peak, n)
}
