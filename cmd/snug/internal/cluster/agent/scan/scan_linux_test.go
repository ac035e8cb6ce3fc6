// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// TestMain lets the test binary also be the Go process to inspect.
func TestMain(m *testing.M) {
	switch how := os.Getenv("AGENT_TEST_CHILD"); how {
	case "":
		os.Exit(m.Run())
	case "memory", "outside":
		scanOnce(how == "outside")
		return
	case "forked":
		forked()
		return
	}
	runtime.GC()
	sparse(os.Getenv("AGENT_TEST_SPARSE"))
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "hold" {
			held = hold()
		}
		runtime.GOMAXPROCS(7)
		runtime.GC()
		fmt.Println("done")
	}
}

// child is a running Go process.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, args ...string) *child {
	t.Helper()
	if len(args) == 0 {
		args = []string{self(t)}
	}
	c := &child{t: t, cmd: exec.Command(args[0], args[1:]...)}
	c.cmd.Env = append(os.Environ(), "AGENT_TEST_CHILD=1", "GOMAXPROCS=3", "GOGC=77", "GOMEMLIMIT=123MiB", "PASSWORD=hunter2")
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *child) says(want string) {
	c.t.Helper()
	if line, err := c.out.ReadString('\n'); line != want+"\n" {
		c.t.Fatalf("%q, %v, want %q", line, err, want)
	}
}

func (c *child) ask() {
	c.t.Helper()
	fmt.Fprintln(c.in)
	c.says("done")
}

func (c *child) end() {
	c.in.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func newScanner(t *testing.T, opts Options) *Scanner {
	t.Helper()
	opts.Files, opts.Interval = goproc.NewCache(""), time.Second
	a, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func scan(t *testing.T, a *Scanner) *finding.Node {
	t.Helper()
	from, err := a.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return from.Node
}

// find returns a process in the document, and its container; nil = none.
func find(d *finding.Node, pid int) (*finding.Container, *finding.NodeProcess) {
	for i := range d.Containers {
		for j := range d.Containers[i].Processes {
			if p := &d.Containers[i].Processes[j]; p.PID == pid {
				return &d.Containers[i], p
			}
		}
	}
	return nil, nil
}

func count(d *finding.Node, reason string) int {
	for _, l := range d.Skipped {
		if l.Reason == reason {
			return l.Count
		}
	}
	return 0
}

// TestScan checks knobs and who set them, also after a change between two scans.
func TestScan(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{Node: "node-1"})
	d := scan(t, a)
	_, p := find(d, c.pid())
	switch {
	case p == nil:
		t.Fatalf("pid %d is not among %d Go processes", c.pid(), d.Scan.Go)
	case p.GOMAXPROCS.N != 3, p.GOMAXPROCSSource.N != "environment", p.GOGC.N.N != 77, p.GOMEMLIMIT.N != 123<<20, *p.SetLimit != "environment":
		t.Errorf("%+v", p)
	case d.Seconds != nil, p.Used.Known(), p.PerMin.Known(), *d.Node != "node-1", !d.Memory, p.Cycles.N < 1, p.Started == nil, p.CPUs.N < 1:
		t.Errorf("%+v", p)
	}
	if _, own := find(d, os.Getpid()); own != nil {
		t.Error("the agent inspects itself")
	}
	before := p.Cycles.N
	c.ask()
	d = scan(t, a)
	_, p = find(d, c.pid())
	switch {
	case p == nil:
		t.Fatal("it is not there the second time")
	case p.GOMAXPROCS.N != 7, p.GOMAXPROCSSource.N != "code", p.Cycles.N <= before:
		t.Errorf("%+v", p)
	case d.Seconds == nil, !p.Used.Known(), !p.PerMin.Known(), !(p.PerMin.N > 0), !p.Window.Known():
		t.Errorf("%+v", p)
	}
	if text, err := finding.Encode(d); err != nil || bytes.Contains(text, []byte("hunter2")) || bytes.Contains(text, []byte("PASSWORD")) {
		t.Errorf("%v, or a secret is shown", err)
	}
}

// TestScanWhole: inspecting a process as if it were new gives the same figures.
func TestScanWhole(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{})
	began := time.Now()
	for range wholeEvery + 1 {
		if _, p := find(scan(t, a), c.pid()); p == nil || p.GOMAXPROCS.N != 3 {
			t.Fatalf("%+v", p)
		}
	}
	if n, most := len(a.known[c.pid()].moments), 1+int(time.Since(began)/(window/maxMoments)); n > most {
		t.Errorf("%d moments within %v", n, time.Since(began))
	}
}

// TestScanShort: with too few files nothing stays open, and everything is found.
func TestScanShort(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{})
	a.maxFiles = 0
	for range 3 {
		if _, p := find(scan(t, a), c.pid()); p == nil || p.GOMAXPROCS.N != 3 {
			t.Fatalf("%+v", p)
		}
		e := a.known[c.pid()]
		if g := a.groups[e.group]; !e.closed || g.h != nil || g.limits == nil {
			t.Errorf("closed: %t; group: %+v", e.closed, g)
		}
	}
	for _, files := range []int{2 * filesPerGroup, maxFiles(), filesPerGroup} {
		a.maxFiles = files
		for range limitsEvery {
			scan(t, a)
		}
		open := 0
		for _, g := range a.groups {
			if g.h != nil {
				open++
			}
		}
		if all := len(a.groups); open > 0 && !a.hasRoom(open, 0) || open < all && a.hasRoom(all, 0) {
			t.Errorf("with %d files, %d of %d groups are open", files, open, all)
		}
	}
}

// TestHasRoom: processes that were opened while they were few stay open, and their files count.
func TestHasRoom(t *testing.T) {
	s := &Scanner{open: 55, bounds: bounds{files: 10 * filesPerGroup}}
	if !s.hasRoom(5, 0) || s.hasRoom(5, 1) || s.hasRoom(6, 0) {
		t.Errorf("room for 5 groups beside 55 processes: %t; 5 and 1: %t; 6: %t", s.hasRoom(5, 0), s.hasRoom(5, 1), s.hasRoom(6, 0))
	}
}

// TestScanOutside: without memory the environment's values count.
func TestScanOutside(t *testing.T) {
	c := start(t)
	c.says("ready")
	c.ask()
	a := newScanner(t, Options{Outside: true})
	for range 2 {
		d := scan(t, a)
		_, p := find(d, c.pid())
		if p == nil || p.GOMAXPROCS.N != 3 || p.Cycles.Known() || p.Live.Known() || d.Memory || len(d.Lost) == 0 {
			t.Fatalf("%+v", p)
		}
	}
}

// TestScanZombie: a zombie is counted but not listed, and then forgotten.
func TestScanZombie(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{})
	if _, p := find(scan(t, a), c.pid()); p == nil {
		t.Fatal("it is not there")
	}
	c.cmd.Process.Kill()
	// A zombie has closed its files.
	if _, err := c.out.ReadByte(); err == nil {
		t.Fatal("it still writes")
	}
	late := time.Now().Add(time.Minute)
	for {
		d := scan(t, a)
		_, p := find(d, c.pid())
		if p == nil && count(d, snapshot.SkipZombie) > 0 {
			break
		}
		// Between the end of its memory and its own end it is neither.
		if time.Now().After(late) {
			t.Fatalf("%+v, %+v", p, d.Skipped)
		}
	}
	if a.known[c.pid()] != nil {
		t.Error("it is still known")
	}
}

// TestScanReused: a process with a reused PID is another process.
func TestScanReused(t *testing.T) {
	for name, room := range map[string]int{"kept open": maxFiles(), "short of files": 0} {
		t.Run(name, func(t *testing.T) {
			first := start(t)
			first.says("ready")
			a := newScanner(t, Options{})
			a.maxFiles = room
			scan(t, a)
			old := a.known[first.pid()]
			first.end()
			time.Sleep(50 * time.Millisecond) // start times are in ticks
			second := start(t)
			second.says("ready")
			// As if the second process had reused the PID of the first.
			delete(a.known, first.pid())
			a.known[second.pid()] = old
			old.last.Go.Pid, old.last.Go.Stat.CPU = second.pid(), time.Hour
			_, p := find(scan(t, a), second.pid())
			if p == nil || p.CPUTotal > 1800 || p.Used.Known() {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestScanExec: a shell is not listed, and is listed after it execs a Go program.
func TestScanExec(t *testing.T) {
	c := start(t, "/bin/sh", "-c", `echo ready; read line; exec "$1"`, "sh", self(t))
	c.says("ready")
	a := newScanner(t, Options{})
	if _, p := find(scan(t, a), c.pid()); p != nil {
		t.Fatalf("a shell is %+v", p)
	}
	fmt.Fprintln(c.in)
	c.says("ready")
	if _, p := find(scan(t, a), c.pid()); p == nil || p.GOMAXPROCS.N != 3 {
		t.Fatalf("%+v", p)
	}
}

// TestScanChurn: processes that come and go during scans cause no wrong figures and no errors.
func TestScanChurn(t *testing.T) {
	stay := start(t)
	stay.says("ready")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	exe := self(t)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			c := exec.Command(exe)
			c.Env = append(os.Environ(), "AGENT_TEST_CHILD=1", "GOMAXPROCS=5")
			c.Run() // its standard input is empty
		}
	}()
	a := newScanner(t, Options{})
	for range 50 {
		d := scan(t, a)
		if _, p := find(d, stay.pid()); p == nil || p.GOMAXPROCS.N != 3 {
			t.Errorf("the one that stays: %+v", p)
		}
		for _, c := range d.Containers {
			for _, p := range c.Processes {
				if p.Exe == exe && p.GOMAXPROCS.Known() && p.GOMAXPROCS.N != 3 && p.GOMAXPROCS.N != 5 {
					t.Errorf("%+v", p)
				}
			}
		}
	}
	stop()
	<-done
}

// TestScanMoved: the groups of a process are read again, and a move is no resize.
func TestScanMoved(t *testing.T) {
	s := &Scanner{}
	g := &goproc.Facts{Pid: os.Getpid()}
	e := &process{group: "0::/before\n"}
	e.quota.last = limits.Of(1.0)
	for range groupEvery {
		s.tick++
		s.note(e, g)
	}
	if want := s.groupOf(g.Pid); e.group != want || e.quota.last.State != limits.Unknown {
		t.Errorf("in %q, want %q; %+v", e.group, want, e.quota)
	}
	e.quota.last = limits.Of(1.0)
	for range groupEvery {
		s.tick++
		s.note(e, g)
	}
	if e.quota.last != limits.Of(1.0) {
		t.Errorf("a process that stays in its group lost its limits: %+v", e.quota)
	}
}

// TestScanDenied: root without capabilities counts processes as denied, with a hint.
func TestScanDenied(t *testing.T) {
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") {
		t.Skip("set SNUG_E2E=root to run as root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root, but this is not root")
	}
	c := start(t)
	c.says("ready")
	for _, how := range []string{"memory", "outside"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command("setpriv", "--bounding-set=-all", "--inh-caps=-all", self(t))
			cmd.Env = append(os.Environ(), "AGENT_TEST_CHILD="+how)
			text, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			d, err := finding.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			n := d.(*finding.Node)
			if _, p := find(n, c.pid()); p != nil {
				t.Errorf("it was inspected: %+v", p)
			}
			if count(n, snapshot.SkipDenied) == 0 || count(n, snapshot.SkipError) > 0 {
				t.Errorf("%+v", n.Skipped)
			}
			for _, l := range n.Skipped {
				if l.Reason == snapshot.SkipDenied && !strings.Contains(l.Hint, "CAP_SYS_PTRACE") {
					t.Errorf("%+v", l)
				}
			}
		})
	}
}

// scanOnce prints one scan with the rights of its user.
func scanOnce(outside bool) {
	a, err := New(Options{Files: goproc.NewCache(""), Outside: outside})
	if err == nil {
		var from *snapshot.Snapshot
		if from, err = a.Scan(context.Background()); err == nil {
			var text []byte
			text, err = finding.Encode(from.Node)
			os.Stdout.Write(text)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestPacer: the pauses are in proportion to the CPU time.
func TestPacer(t *testing.T) {
	now := 10 * time.Second // of CPU time, before the first stint
	var slept time.Duration
	p := pacer{share: 0.25, cpu: func() time.Duration { return now }, sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }}
	for range 1000 {
		if err := p.rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		now += time.Millisecond
	}
	took := time.Second
	if share := took.Seconds() / (took + slept).Seconds(); share < 0.24 || share > 0.26 {
		t.Errorf("%v of %v", took, took+slept)
	}
	free := pacer{}
	if err := free.rest(t.Context()); err != nil || free.begun {
		t.Errorf("%v, %+v", err, free)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := free.rest(ctx); err != context.Canceled {
		t.Error(err)
	}
	if err := names.Pause(ctx, time.Hour); err != context.Canceled {
		t.Error(err)
	}
}
