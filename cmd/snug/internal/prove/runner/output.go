// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/profile/gobench"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
)

// tailBytes is how much of a program's output is kept to explain why it ended.
const tailBytes = 8 << 10

// loadBytes is how much is kept of the output of a load command: its last line may have a
// histogram.
const loadBytes = 1 << 20

// output drains a program's stdout or stderr so that the program never waits. It keeps
// the end of the output and parses the GC trace in it.
type output struct {
	r, w *os.File // w is nil once the program has started
	done chan struct{}

	keep int // bytes of tail; twice as many at most, and tailBytes at least

	mu   sync.Mutex
	tail []byte
	gc   *workload.GCTrace // nil is not parsed

	benchmarks *gobench.Reader // nil is not parsed
}

func newOutput(trace bool) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{r: r, w: w, done: make(chan struct{})}
	if trace {
		o.gc = new(workload.GCTrace)
	}
	return o, nil
}

// started closes this process's copy of the write end and starts to drain.
func (o *output) started() {
	o.w.Close()
	o.w = nil
	go func() {
		defer close(o.done)
		buf := make([]byte, 32<<10)
		for {
			n, err := o.r.Read(buf)
			o.take(buf[:n])
			if err != nil {
				return
			}
		}
	}()
}

func (o *output) take(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gc != nil {
		o.gc.Write(b)
	}
	if o.benchmarks != nil {
		o.benchmarks.Write(b)
	}
	o.tail = append(o.tail, b...)
	if keep := max(o.keep, tailBytes); len(o.tail) > 2*keep {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-keep:]...)
	}
}

// trace returns and resets what the GC trace reported since the last call; nil if it is
// not parsed.
func (o *output) trace() *workload.Traced {
	if o.gc == nil {
		return nil
	}
	return new(o.gc.Take())
}

// lastLine returns the last line that is not a GC trace, to explain a failure. For a Go
// panic it returns the panic's first line.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := ""
	for line := range bytes.Lines(o.tail) {
		s := strings.TrimSpace(string(line))
		if strings.HasPrefix(s, "panic:") || strings.HasPrefix(s, "fatal error:") {
			return s
		}
		if s != "" && !isTrace(s) {
			last = s
		}
	}
	return last
}

// isTrace reports whether a line is from gctrace.
func isTrace(s string) bool {
	return strings.HasPrefix(s, "gc ") && strings.Contains(s, " ms clock")
}

// wait waits for the last output of a program that has ended: until the end of the
// output, or for 100 ms if a grandchild still holds it open.
func (o *output) wait() {
	select {
	case <-o.done:
	case <-time.After(100 * time.Millisecond):
	}
}

// reported returns the numbers of the last complete line that is a JSON object, nil if
// there is none.
func (o *output) reported() map[string]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := bytes.Split(o.tail, []byte("\n"))
	_, all := lastObject(lines[:len(lines)-1])
	return numbers(all)
}

// lastObject returns the last line that is a JSON object, and what it says; nil if there is
// none.
func lastObject(lines [][]byte) ([]byte, map[string]any) {
	for _, line := range slices.Backward(lines) {
		var all map[string]any
		if json.Unmarshal(line, &all) == nil && all != nil {
			return line, all
		}
	}
	return nil, nil
}

// numbers returns the numbers of a JSON object, nil if it has none.
func numbers(all map[string]any) map[string]float64 {
	var out map[string]float64
	for name, v := range all {
		if x, ok := v.(float64); ok {
			if out == nil {
				out = map[string]float64{}
			}
			out[name] = x
		}
	}
	return out
}

// results returns what the benchmarks printed. procs is the GOMAXPROCS that was set, 0 if
// none was.
func (o *output) results(procs int) gobench.Results {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.benchmarks.Results(procs, runtime.NumCPU())
}

// failed returns the first line about a benchmark or test that failed, with the line that
// follows it, which has the reason; "" if there is none.
func (o *output) failed() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := ""
	for line := range strings.Lines(string(o.tail)) {
		line = strings.TrimSpace(line)
		if first != "" {
			return first + ", " + line
		}
		if strings.HasPrefix(line, "--- FAIL: ") {
			first = line
		}
	}
	return first
}

// close stops the draining. It closes the read end even if a grandchild holds the write
// end.
func (o *output) close() {
	if o == nil {
		return
	}
	if o.w != nil {
		o.w.Close()
		close(o.done)
	}
	o.r.Close()
	<-o.done
}
