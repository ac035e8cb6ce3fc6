// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"sync"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestTracePage checks the page of one trace of this process, and of two beside each other.
func TestTracePage(t *testing.T) {
	gate.Need(t, "browser")
	exe, chromium, dir := build(t), open(t), t.TempDir()
	file := filepath.Join(dir, "busy.trace")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(out); err != nil {
		t.Fatal(err)
	}
	busy()
	trace.Stop()
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for name, traces := range map[string][]string{"trace": {file}, "traces": {file, file}} {
		page := filepath.Join(dir, name+".html")
		if out, err := exec.Command(exe, append([]string{"trace", "--html", page}, traces...)...).CombinedOutput(); err != nil {
			t.Fatalf("snug trace --html: %v\n%s", err, out)
		}
		for _, s := range screens {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				p := load(t, chromium, page, s)
				shot(t, p, name+"-"+s.name)
				for _, complaint := range ask[[]string](t, p, rules) {
					t.Error(complaint)
				}
				p.quiet(t, page)
				if n := ask[int](t, p, `document.querySelectorAll("svg.lanes path.program").length`); n < 2*len(traces) {
					t.Errorf("%d lanes of Ps, wide and narrow", n)
				}
			})
		}
		t.Run(name+"/everything is seen somewhere", func(t *testing.T) { seen(t, chromium, page) })
	}
}

// busy allocates in several goroutines that wait for each other.
func busy() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var keep [64][]byte
			for n := range 4000 {
				keep[n%len(keep)] = make([]byte, 16<<10)
			}
			runtime.KeepAlive(keep)
		})
	}
	all.Wait()
}
