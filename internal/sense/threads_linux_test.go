// SPDX-License-Identifier: Apache-2.0

package sense

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A task is a directory in the form of /proc/PID/task.
type task struct {
	t   *testing.T
	dir string
}

func (d task) set(tid int, schedstat string) {
	d.t.Helper()
	dir := filepath.Join(d.dir, strconv.Itoa(tid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "schedstat"), []byte(schedstat), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d task) end(tid int) {
	d.t.Helper()
	if err := os.RemoveAll(filepath.Join(d.dir, strconv.Itoa(tid))); err != nil {
		d.t.Fatal(err)
	}
}

func watched(t *testing.T) (task, *threads) {
	d, w := task{t, filepath.Join(t.TempDir(), "task")}, &threads{}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.init(d.dir)
	t.Cleanup(w.close)
	return d, w
}

func expect(t *testing.T, when string, w *threads, want float64) {
	t.Helper()
	if got := w.read(); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s: %v s, want %v", when, got, want)
	}
}

func TestThreadsComeAndGo(t *testing.T) {
	d, w := watched(t)
	d.set(100, "5000000000 1000000000 7\n")
	d.set(101, "1 2000000000 7\n")
	expect(t, "at first", w, 3)
	d.set(101, "1 2500000000 8\n")
	expect(t, "one waited", w, 3.5)
	d.set(99, "0 1000000000 1\n")
	expect(t, "a new one with a smaller number", w, 4.5)
	d.end(100)
	expect(t, "one ended", w, 4.5)
	d.set(100, "0 250000000 1\n")
	expect(t, "its number is used again", w, 4.75)
	d.set(100, "0 125000000 1\n")
	expect(t, "and again, between two looks", w, 4.875)
	if len(w.list) != 3 || w.kept != 3 {
		t.Errorf("%d threads listed, %d files kept, want 3", len(w.list), w.kept)
	}
	w.close()
	if w.kept != 0 {
		t.Errorf("%d files kept after close", w.kept)
	}
	d.set(100, "0 625000000 1\n")
	expect(t, "opened again", w, 5.375)
}

func TestThreadsThatCannotBeRead(t *testing.T) {
	nan := math.NaN()
	d, w := watched(t)
	expect(t, "no thread", w, nan)
	if err := os.Mkdir(filepath.Join(d.dir, "50"), 0o755); err != nil {
		t.Fatal(err)
	}
	expect(t, "a kernel without schedstat", w, nan)
	d.set(50, "0 0 0\n")
	expect(t, "a kernel that does not count", w, nan)
	d.set(50, "9 1000000000 1\n")
	d.set(51, "9 1000000000 1\n")
	expect(t, "it counts", w, 2)
	for _, bad := range []string{"", "7", "7 \n", "7 8x 9\n", "-7 8 9\n", "7 99999999999999999999999 1\n"} {
		d.set(51, bad)
		d.set(50, "9 1500000000 1\n")
		expect(t, "one says "+strconv.Quote(bad), w, nan)
	}
	d.set(51, "9 1250000000 1\n")
	expect(t, "it is back", w, 2.75)

	var gone threads
	gone.init(filepath.Join(d.dir, "none"))
	expect(t, "no such directory", &gone, nan)
}

// TestNothingIsForgotten hides the directory for a while.
func TestNothingIsForgotten(t *testing.T) {
	d, w := watched(t)
	d.set(50, "9 1000000000 1\n")
	expect(t, "at first", w, 1)
	w.close()
	if err := os.Rename(d.dir, d.dir+"-hidden"); err != nil {
		t.Fatal(err)
	}
	expect(t, "hidden", w, math.NaN())
	if err := os.Rename(d.dir+"-hidden", d.dir); err != nil {
		t.Fatal(err)
	}
	expect(t, "back", w, 1)
}

// TestNumberIsUsedAgain keeps the file of an ended thread whose TID now belongs to another, which
// has waited longer by the next reading.
func TestNumberIsUsedAgain(t *testing.T) {
	ended := -1
	locked(1, func() {
		var err error
		if ended, err = syscall.Open("/proc/thread-self/schedstat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err != nil {
			t.Error(err)
		}
	})
	for try := 0; ; try++ { // the goroutine ends before its thread does
		if _, err := syscall.Pread(ended, make([]byte, 64), 0); err == syscall.ESRCH {
			break
		} else if try == 1000 {
			t.Fatalf("the file of an ended thread: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	d, w := watched(t)
	d.set(50, "9 1000000000 1\n")
	expect(t, "at first", w, 1)
	syscall.Close(w.list[0].fd)
	w.list[0].fd = ended
	d.set(50, "9 1500000000 1\n")
	expect(t, "another thread", w, 2.5)
}

// TestManyThreads needs more than one read of the directory, and more files than are kept open.
func TestManyThreads(t *testing.T) {
	d, w := watched(t)
	const n = 3 * maxKept
	for i := range n * 4 {
		d.set(1000000+i, "1 1000000000 1\n")
	}
	expect(t, "all", w, n*4)
	expect(t, "again", w, n*4)
	for i := range n * 3 {
		d.end(1000000 + i)
	}
	expect(t, "most ended", w, n*4)
	if w.kept > maxKept || len(w.list) != n {
		t.Errorf("%d threads listed, %d files kept", len(w.list), w.kept)
	}
	w.close()
	if fds, err := os.ReadDir("/proc/self/fd"); err != nil || len(fds) > maxKept/2 {
		t.Errorf("%d files open after close, %v", len(fds), err)
	}
}

// locked calls f on n threads of their own, and returns when all calls have. Each thread then
// ends.
func locked(n int, f func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			runtime.LockOSThread()
			if syscall.Gettid() == os.Getpid() { // the main thread never ends
				defer runtime.UnlockOSThread()
				locked(1, f)
				return
			}
			f() // and never unlocked: the thread ends with the goroutine
		}()
	}
	wg.Wait()
}

// TestKernelWait runs two threads on one CPU until one has used 200 ms of it, while the other
// waits.
func TestKernelWait(t *testing.T) {
	var mask [1024 / 64]uint64
	size, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		t.Fatal(errno)
	}
	one := false
	for i := range mask {
		for bit := uint64(1); bit != 0; bit <<= 1 {
			if one {
				mask[i] &^= bit
			}
			one = one || mask[i]&bit != 0
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	s := New()
	defer s.Close()
	from, _ := s.KernelWait()
	if math.IsNaN(from) {
		if _, err := os.Stat("/proc/self/schedstat"); err == nil {
			t.Fatal("there is a schedstat, and KernelWait is unknown")
		}
		t.Skip("this kernel has no schedstat")
	}
	begin := time.Now()
	var during float64
	var look sync.Once
	var ready atomic.Int32
	var over atomic.Bool
	used := func() time.Duration { // by this thread
		const thread = 1 // RUSAGE_THREAD
		var u syscall.Rusage
		if err := syscall.Getrusage(thread, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	locked(2, func() {
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, size, uintptr(unsafe.Pointer(&mask)))
		if errno != 0 {
			t.Error(errno)
		}
		for ready.Add(1); ready.Load() < 2; {
		}
		for from := used(); used()-from < 200*time.Millisecond && !over.Load(); {
		}
		over.Store(true)
		look.Do(func() { during, _ = s.KernelWait() })
	})
	wall := time.Since(begin).Seconds()
	if waited := during - from; waited < 0.15 || waited > 20*wall {
		t.Errorf("waited %.3f s in %.3f s, want about as long", waited, wall)
	}
	for i := range 20 {
		locked(4, func() {})
		if now, _ := s.KernelWait(); now < during {
			t.Fatalf("%v after %d threads ended, %v before", now, 4*i+6, during)
		} else {
			during = now
		}
	}
}

func benchmarkKernelWait(b *testing.B, n int) {
	stop, done := make(chan struct{}), make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(n)
	go func() {
		locked(n, func() { ready.Done(); <-stop })
		close(done)
	}()
	ready.Wait()
	s := New()
	s.KernelWait()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s.KernelWait()
	}
	b.StopTimer()
	b.ReportMetric(float64(len(s.waits.list)), "threads")
	s.Close()
	close(stop)
	<-done
}

func BenchmarkKernelWait10(b *testing.B)  { benchmarkKernelWait(b, 5) }
func BenchmarkKernelWait60(b *testing.B)  { benchmarkKernelWait(b, 55) }
func BenchmarkKernelWait200(b *testing.B) { benchmarkKernelWait(b, 195) }

// FuzzNumber: the result lies within the input, and equals strconv's.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"12 34 5\n", "7\x00", "..\x00", " ", "", "18446744073709551616 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, rest, ok := number(b)
		if !ok {
			return
		}
		digits := b[:len(b)-len(rest)-1]
		if want, err := strconv.ParseUint(string(digits), 10, 64); err != nil || n != want {
			t.Errorf("number(%q) = %d, want %d, %v", b, n, want, err)
		}
	})
}
