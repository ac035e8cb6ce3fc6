// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
)

// tailBytes is how much of a program's output is kept to explain its end.
const tailBytes = 8 << 10

// output drains a program's stdout or stderr: it never makes the program wait,
// keeps the end of what was said, and reads the GC trace in between.
type output struct {
	r, w *os.File // w is nil once the program has it
	done chan struct{}

	mu   sync.Mutex
	tail []byte
	all  *os.File          // gets all of it; nil: nobody does
	err  error             // of writing there
	gc   *workload.GCTrace // nil: not looked for
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
	o.drain()
}

func (o *output) drain() {
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
	if o.all != nil && o.err == nil {
		_, o.err = o.all.Write(b)
	}
	o.tail = append(o.tail, b...)
	if len(o.tail) > 2*tailBytes {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-tailBytes:]...)
	}
}

// trace takes what the GC trace said since it was last asked; nil when it was
// not looked for.
func (o *output) trace() *workload.Traced {
	if o.gc == nil {
		return nil
	}
	t := o.gc.Take()
	return &t
}

// lastLine is the last line that is not a GC trace, to explain a failure.
// A Go panic is explained by its first line.
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

// isTrace recognises a line of gctrace.
func isTrace(s string) bool {
	return strings.HasPrefix(s, "gc ") && strings.Contains(s, " ms clock")
}

// wait gives a program that has ended a moment for its last words to arrive:
// until the end of the output, unless a grandchild still holds it open. The error
// is that of keeping it.
func (o *output) wait() error {
	select {
	case <-o.done:
	case <-time.After(100 * time.Millisecond):
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// reported are the numbers of the last whole line that is a JSON object, nil if
// there is none.
func (o *output) reported() map[string]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := bytes.Split(o.tail, []byte("\n"))
	for _, line := range slices.Backward(lines[:len(lines)-1]) {
		var all map[string]any
		if json.Unmarshal(line, &all) != nil || all == nil {
			continue
		}
		var numbers map[string]float64
		for name, v := range all {
			if x, ok := v.(float64); ok {
				if numbers == nil {
					numbers = map[string]float64{}
				}
				numbers[name] = x
			}
		}
		return numbers
	}
	return nil
}

// close ends the draining. A grandchild may still hold the write end: the read
// end is closed under it.
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
