// SPDX-License-Identifier: Apache-2.0

package golog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReleases reads the output of testdata/program, built by each release, with GOMAXPROCS=3
// GOGC=150 GODEBUG=gctrace=1,schedtrace=50, and compares it with the program's own figures.
func TestReleases(t *testing.T) {
	files, err := filepath.Glob("testdata/go1.*.log")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			log, truth := sample(t, file)
			s, err := Read(bytes.NewReader(log))
			if err != nil {
				t.Fatal(err)
			}
			g := s.GC
			if g.Cycles != truth.gcs || g.Procs != truth.procs || g.firstNumber != 1 || int(g.lastNumber) != truth.gcs {
				t.Errorf("%+v, want %+v", g, truth)
			}
			if rate, ok := g.PerSecond(); !ok || rate*(g.Last-g.First) < float64(truth.gcs-1)-0.001 {
				t.Errorf("%v a second, %v", rate, ok)
			}
			if g.Live != 128<<20 || g.Goal < g.Live || g.Goal > 8*g.Live || g.CPU < float64(truth.pause)/1e9 {
				t.Errorf("%+v", g)
			}
			looks := bytes.Count(log, []byte("SCHED "))
			if d := s.Sched; d.Looks != looks || d.Procs != truth.procs || d.IdleProcs() <= 0 || d.IdleProcs() > 3 || d.Spinning() > 3 {
				t.Errorf("%+v, want %d looks", d, looks)
			}
		})
	}
}

type said struct{ procs, gogc, gcs, forced, pause int }

func sample(t *testing.T, file string) ([]byte, said) {
	t.Helper()
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s said
	var version string
	at := bytes.Index(log, []byte("truth: "))
	if _, err := fmt.Sscanf(string(log[max(at, 0):]), "truth: go=%s gomaxprocs=%d gogc=%d numgc=%d forced=%d pause_ns=%d", &version, &s.procs, &s.gogc, &s.gcs, &s.forced, &s.pause); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return log, s
}

const (
	gc1    = "gc 1 @0.500s 2%: 0.018+0.48+0.003 ms clock, 0.036+0.1/0.4/7+0.006 ms cpu, 4->5->1 MB, 6 MB goal, 2 MB stacks, 3 MB globals, 2 P\n"
	gc2    = "gc 2 @1.500s 3%: 1.5+20+2 ms clock, 3+0.1/0.4/0+4 ms cpu, 40->50->20 MB, 60 MB goal, 0 MB stacks, 0 MB globals, 4 P (forced)\n"
	sched0 = "SCHED 0ms: gomaxprocs=2 idleprocs=1 threads=5 spinningthreads=1 idlethreads=2 runqueue=1 [0 2]\n"
	sched1 = "SCHED 10ms: gomaxprocs=2 idleprocs=0 threads=4 spinningthreads=0 needspinning=1 idlethreads=2 runqueue=0 [ 0 4 ] schedticks=[ 3 4 ]\n"
)

var (
	gcOne = GC{
		Cycles: 1, First: 0.5, Last: 0.5, Procs: 2, CPU: 0.542e-3, Live: 1 << 20, Goal: 6 << 20,
		firstNumber: 1, lastNumber: 1,
	}
	schedBoth = Sched{Looks: 2, Procs: 2, idle: 1, spinning: 1, ms: 10}
)

func TestRead(t *testing.T) {
	leak := strings.Replace(gc1, "2%:", "2% (checking for goroutine leaks):", 1)
	for name, c := range map[string]struct {
		log  string
		want Summary
	}{
		"nothing":                       {"", Summary{}},
		"lines of the program":          {"listening\ngc is on\ngc 1 ran @ noon\nSCHED 5 jobs\n", Summary{}},
		"one collection":                {gc1, Summary{GC: gcOne}},
		"with text before and after":    {"a: " + strings.TrimSuffix(gc1, "\n") + "2026/11/21 b\n", Summary{GC: gcOne}},
		"without the last newline":      {strings.TrimSuffix(gc1, "\n"), Summary{GC: gcOne}},
		"with carriage returns":         {strings.ReplaceAll(gc1, "\n", "\r\n"), Summary{GC: gcOne}},
		"checking for goroutine leaks":  {leak, Summary{GC: gcOne}},
		"Docker's json-file":            {`{"log":"` + strings.ReplaceAll(strings.TrimSpace(gc1), ">", `\u003e`) + `\n","stream":"stderr"}`, Summary{GC: gcOne}},
		"Kubernetes' log":               {"2026-11-21T10:00:00.1Z stderr F " + gc1, Summary{GC: gcOne}},
		"torn by the program":           {gc1 + strings.Replace(gc2, "20 MB", "20hello\n MB", 1), Summary{GC: gcOne}},
		"cut off":                       {gc1 + gc2[:40], Summary{GC: gcOne}},
		"no P":                          {strings.Replace(gc1, "2 P", "0 P", 1), Summary{}},
		"a heap no Go can have":         {strings.Replace(gc1, "->1 MB", "->9999999999999 MB", 1), Summary{}},
		"a number with 30 digits":       {strings.Replace(gc1, "gc 1", "gc "+strings.Repeat("4", 30), 1), Summary{}},
		"a new process":                 {gc2 + "panic: x\n" + gc1, Summary{GC: gcOne}},
		"a new process, same number":    {gc1 + gc1, Summary{GC: gcOne}},
		"a new process, time goes back": {strings.Replace(gc1, "@0.500", "@0.600", 1) + strings.Replace(gc2, "@1.500", "@0.100", 1) + gc1, Summary{GC: gcOne}},
		"both formats of schedtrace":    {sched0 + sched1, Summary{Sched: schedBoth}},
		"schedtrace of a new process":   {sched1 + gc2 + sched0 + sched1, Summary{Sched: schedBoth}},
		"more idle Ps than Ps":          {sched0 + sched1 + strings.Replace(sched1, "idleprocs=0", "idleprocs=3", 1), Summary{Sched: schedBoth}},
		"gctrace glued to schedtrace":   {sched0 + strings.TrimSuffix(gc1, "\n") + sched1, Summary{GC: gcOne, Sched: schedBoth}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Read(strings.NewReader(c.log)); err != nil || !near(got, c.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

// near compares formatted values, because sums of decimals differ in the last bits.
func near(a, b Summary) bool {
	text := func(s Summary) string {
		cpu := s.GC.CPU
		s.GC.CPU = 0
		return fmt.Sprintf("%+v %.9f", s, cpu)
	}
	return text(a) == text(b)
}

func TestTwoCollections(t *testing.T) {
	s, err := Read(strings.NewReader(gc1 + gc2))
	g := s.GC
	if err != nil || g.Cycles != 2 || g.Procs != 4 || g.Live != 20<<20 || g.Goal != 60<<20 || math.Abs(g.CPU-8.042e-3) > 1e-9 {
		t.Errorf("%+v, %v", g, err)
	}
	if rate, ok := g.PerSecond(); !ok || rate != 1 {
		t.Errorf("%v, %v a second", rate, ok)
	}
	if _, ok := gcOne.PerSecond(); ok {
		t.Error("a rate of one collection")
	}
}

// TestGap: with a missing line the rate is right.
func TestGap(t *testing.T) {
	s, _ := Read(strings.NewReader(gc1 + strings.Replace(gc2, "gc 2", "gc 9", 1)))
	if rate, ok := s.GC.PerSecond(); !ok || rate != 8 || s.GC.Cycles != 2 {
		t.Errorf("%v a second, %v, %+v", rate, ok, s.GC)
	}
}

// TestOff reads the goals that Go 1.18 and later write with GOGC=off.
func TestOff(t *testing.T) {
	for _, goal := range []string{"17592186044415", "8532210231511"} {
		s, err := Read(strings.NewReader(strings.Replace(gc1, "->1 MB, 6 MB goal", "->64 MB, "+goal+" MB goal", 1)))
		if g := s.GC; err != nil || g.Cycles != 1 || g.Live != 64<<20 || g.Goal != NoGoal {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// TestDetail reads a log with scheddetail=1, whose lines have no queues.
func TestDetail(t *testing.T) {
	log, truth := sample(t, "testdata/detail-go1.26.8.log")
	s, err := Read(bytes.NewReader(log))
	if d := s.Sched; err != nil || d.Looks < 2 || d.Procs != 3 || truth.procs != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestPieces: the Summary does not depend on the sizes of the reads.
func TestPieces(t *testing.T) {
	log := new(bytes.Buffer)
	files, _ := filepath.Glob("testdata/*.log")
	if len(files) < 8 {
		t.Fatal("no logs")
	}
	for _, file := range files {
		text, _ := sample(t, file)
		log.Write(text)
		// Lines longer than the buffer, with a line of the runtime in them.
		for _, n := range []int{bufferSize - longest - 60, bufferSize - 20, 2*bufferSize - longest} {
			log.WriteString(strings.Repeat("x", n) + gc1)
		}
	}
	whole, err := Read(bytes.NewReader(log.Bytes()))
	if err != nil || whole.GC.Cycles == 0 {
		t.Fatalf("%+v, %v", whole, err)
	}
	for name, r := range map[string]io.Reader{
		"bytes":          iotest.OneByteReader(bytes.NewReader(log.Bytes())),
		"halves":         iotest.HalfReader(bytes.NewReader(log.Bytes())),
		"data with EOF":  iotest.DataErrReader(bytes.NewReader(log.Bytes())),
		"any pieces":     &pieces{log.Bytes(), rand.New(rand.NewPCG(1, 2))},
		"any pieces too": &pieces{log.Bytes(), rand.New(rand.NewPCG(3, 4))},
	} {
		if got, err := Read(r); err != nil || got != whole {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, whole)
		}
	}
}

// pieces returns its text in pieces of random size, some of them empty.
type pieces struct {
	b []byte
	r *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.r.IntN(1<<p.r.IntN(18)))], p.b)
	p.b = p.b[n:]
	return n, nil
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("broken")
	s, err := Read(io.MultiReader(strings.NewReader(gc1), iotest.ErrReader(broken)))
	if err != broken || !near(s, Summary{GC: gcOne}) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Read(idle{}); err != io.ErrNoProgress {
		t.Errorf("a reader that never returns anything: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestGigabyte: nonsense of any length takes little memory and time.
func TestGigabyte(t *testing.T) {
	if testing.Short() {
		t.Skip("a gigabyte takes a second")
	}
	for name, pattern := range map[string]string{
		"no newline":     "no line ends here, ",
		"almost gctrace": "gc 1 @0.500s 2%: 0.018+",
		"almost all":     "SCHED 1ms: gomaxprocs=1000 idleprocs=0 threads=4 spinningthreads=0 idlethreads=2 runqueue=0 [" + strings.Repeat(" 0", 990) + "gc \n",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			total := int64(1 << 30)
			if name != "no newline" {
				total >>= 3
			}
			if _, err := Read(io.LimitReader(&again{pattern: []byte(strings.Repeat(pattern, 1+1<<16/len(pattern)))}, total)); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

// again repeats its pattern endlessly.
type again struct {
	pattern []byte
	at      int
}

func (a *again) Read(b []byte) (int, error) {
	n := copy(b, a.pattern[a.at:])
	a.at = (a.at + n) % len(a.pattern)
	return n, nil
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{gc1, gc2, sched0, sched1, gc1 + "x" + gc2 + sched1 + sched0} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, log []byte, seed uint64) {
		whole, err := Read(bytes.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Read(&pieces{log, rand.New(rand.NewPCG(seed, 0))}); err != nil && err != io.ErrNoProgress || err == nil && got != whole {
			t.Errorf("in pieces %+v, %v\nwhole %+v", got, err, whole)
		}
		g, d := whole.GC, whole.Sched
		if g.Cycles == 0 && g != (GC{}) || g.Cycles > 0 && (g.Procs < 1 || g.Last < g.First || g.Live < 0 || g.Goal < 0) {
			t.Errorf("%+v", g)
		}
		if d.Looks == 0 && d != (Sched{}) || d.Looks > 0 && (d.Procs < 1 || d.IdleProcs() > maxProcs || d.Spinning() < 0) {
			t.Errorf("%+v", d)
		}
	})
}
