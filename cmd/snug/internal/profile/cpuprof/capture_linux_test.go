// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// childEnv turns the test binary into a child. Its value is the file to which the child
// writes its own profile.
const childEnv = "SNUG_TEST_CPUPROF"

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(childEnv); ok {
		burn(name)
		return
	}
	os.Exit(m.Run())
}

// burn uses CPU time in many ways until its standard input ends.
func burn(name string) {
	f, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	for range 4 {
		go func() {
			var keep [64][]byte
			sum := sha256.Sum256(nil)
			for i := 0; ; i++ {
				for range 16 {
					sum = hash(sum)
				}
				keep[i%len(keep)] = make([]byte, 512+i%4096)
				if i%64 == 0 {
					os.Getppid() // a system call
				}
				if i%4096 == 0 {
					time.Sleep(time.Microsecond)
				}
			}
		}()
	}
	os.Stdout.WriteString("on\n")
	io.Copy(io.Discard, os.Stdin)
	pprof.StopCPUProfile()
	f.Close()
}

//go:noinline
func hash(sum [32]byte) [32]byte { return inner(sum) }

func inner(sum [32]byte) [32]byte { return sha256.Sum256(sum[:]) }

// own symbolizes addresses of the test binary; a child has the same addresses.
type own struct{}

func (own) Frames(pc uint64) (all []Frame) {
	if runtime.FuncForPC(uintptr(pc)) == nil {
		return nil
	}
	frames := runtime.CallersFrames([]uintptr{uintptr(pc + 1)})
	for {
		f, more := frames.Next()
		all = append(all, Frame{Function: f.Function, File: f.File, Line: f.Line, Inlined: more})
		if !more {
			return all
		}
	}
}

// needRoot skips or fails a test that needs the privilege for perf events.
func needRoot(t *testing.T) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to sample real processes")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E has root, and this is not root")
	}
}

// start runs a child and returns it once it is busy, with a function that ends it.
func start(t *testing.T, own string) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+own)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, end
}

// schedstat returns the CPU time of the existing threads of a process.
func schedstat(t *testing.T, pid int) float64 {
	t.Helper()
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	total := 0.0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		run, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseFloat(run, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += ns / 1e9
	}
	return total
}

// whenUsed returns a context that ends once a process has used the given CPU time in seconds.
func whenUsed(t *testing.T, pid int, seconds float64) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	began, ok := cpuClock(pid)
	if !ok {
		t.Fatal("no CPU clock")
	}
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if now, ok := cpuClock(pid); !ok || float64(now-began)/1e9 >= seconds {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return ctx
}

func TestCaptureAccountsForCPUTime(t *testing.T) {
	needRoot(t)
	for _, userOnly := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "own")
		pid, end := start(t, name)
		var raw *Raw
		var before, after float64
		for range 5 { // what it does while this process waits for a CPU, before and after, is not sampled
			before = schedstat(t, pid)
			var err error
			if raw, err = Capture(whenUsed(t, pid, 5), pid, Options{UserOnly: userOnly}); err != nil {
				t.Fatal(err)
			}
			if after = schedstat(t, pid); math.Abs(raw.Scheduled/(after-before)-1) <= 0.05 {
				break
			}
		}
		end()
		t.Logf("%.2f s sampled, %.2f s scheduled, %.2f s by schedstat; %d threads, %d places, %d lost",
			raw.Sampled, raw.Scheduled, after-before, raw.Threads, len(raw.Samples), raw.Lost)
		if d := raw.Scheduled / (after - before); math.Abs(d-1) > 0.05 {
			t.Errorf("clock / schedstat = %.3f", d)
		}
		if raw.Threads < 4 || raw.Unsampled > 0 || raw.Ended != Full || raw.Kernel == userOnly {
			t.Errorf("%d threads, %d not sampled, %s, kernel %v", raw.Threads, raw.Unsampled, raw.Ended, raw.Kernel)
		}
		ratio, known := raw.Accounted()
		if known == userOnly || known && math.Abs(ratio-1) > 0.1 {
			t.Errorf("accounted for %.3f, %v", ratio, known)
		}
		p, err := raw.Profile(own{})
		if err != nil {
			t.Fatal(err)
		}
		perf, err := Summarize(p)
		if err != nil {
			t.Fatal(err)
		}
		if perf.Source != Perf || perf.Ratio(User) < 0.3 || perf.Ratio(Alloc, GCMark, GCAssist, GCSweep) < 0.01 || perf.Ratio(Native, Kernel) > 0.1 {
			t.Errorf("%s: %+v", perf.Source, perf.Shares)
		}
		if i := slices.IndexFunc(perf.Top, func(f Func) bool { return strings.Contains(f.Name, "sha256") }); i < 0 || perf.Top[i].Self < 0.05 {
			t.Errorf("top %+v", perf.Top)
		}
		theirs, err := readFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pprof, err := Summarize(theirs)
		if err != nil || pprof.Source != RuntimePprof {
			t.Fatalf("%+v, %v", pprof, err)
		}
		for _, share := range perf.Shares {
			t.Logf("%-14s perf %6.3f  runtime/pprof %6.3f", share.Class, share.Ratio, pprof.Ratio(share.Class))
		}
		t.Logf("over-size: perf %.3f, runtime/pprof %.3f", perf.OverSize(), pprof.OverSize())
		checkTool(t, p)
	}
}

// checkTool checks that go tool pprof reads a profile.
func checkTool(t *testing.T, p *profile.Profile) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cpu.pb.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(name); err != nil {
		t.Error(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-nodecount=20", name)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("sha256")) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
}

func TestCaptureOfProcessThatEnds(t *testing.T) {
	needRoot(t)
	pid, end := start(t, filepath.Join(t.TempDir(), "own"))
	captured := capturing(t, pid)
	<-whenUsed(t, pid, 0.5).Done()
	end()
	if raw, err := captured(); err != nil || raw.Ended != Exited || raw.Sampled < 0.2 {
		t.Fatalf("%+v, %v", raw, err)
	}
}

// capturing starts a capture, waits until it runs, and returns a function that waits for its end.
func capturing(t *testing.T, pid int) (captured func() (*Raw, error)) {
	t.Helper()
	var raw *Raw
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err = Capture(t.Context(), pid, Options{})
	}()
	for ; ; time.Sleep(time.Millisecond) {
		files, _ := filepath.Glob("/proc/self/fd/*")
		if slices.ContainsFunc(files, func(name string) bool {
			to, _ := os.Readlink(name)
			return strings.Contains(to, "perf_event")
		}) {
			break
		}
		select {
		case <-done: // it failed
			return func() (*Raw, error) { return raw, err }
		default:
		}
	}
	return func() (*Raw, error) { <-done; return raw, err }
}

func TestCaptureOfProcessThatExecs(t *testing.T) {
	needRoot(t)
	cmd := exec.Command("/bin/sh", "-c", "read line; i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; exec sleep 600")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	captured := capturing(t, cmd.Process.Pid)
	io.WriteString(in, "go\n")
	if raw, err := captured(); err != nil || raw.Ended != Execed {
		t.Fatalf("%+v, %v", raw, err)
	}
}

// TestCaptureCancelled: a context that is already cancelled still gives a result.
func TestCaptureCancelled(t *testing.T) {
	needRoot(t)
	pid, _ := start(t, filepath.Join(t.TempDir(), "own"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	raw, err := Capture(ctx, pid, Options{})
	if err != nil || raw.Ended != Full {
		t.Fatalf("%+v, %v", raw, err)
	}
	p, err := raw.Profile(own{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Summarize(p); err != nil {
		t.Error(err)
	}
}

func TestCaptureOfNoProcess(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if raw, err := Capture(t.Context(), pid, Options{}); err == nil {
			t.Errorf("%d: %+v", pid, raw)
		} else if pid > 0 && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d: %v", pid, err)
		}
	}
}

func TestDenialReasons(t *testing.T) {
	err := error(&DeniedError{PID: 7, Reason: ByLevel, Level: 4, LevelKnown: true, Err: os.ErrPermission})
	if !errors.Is(err, ErrDenied) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "perf_event_paranoid is 4") {
		t.Error(err)
	}
}
