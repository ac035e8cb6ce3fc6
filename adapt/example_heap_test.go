// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/snug-go/snug/adapt"
)

// heapWriter writes who holds the memory before the memory limit is reached. In a container,
// choose a directory that outlives it.
type heapWriter struct {
	dir  string
	last time.Time
}

// pressure is for Options.OnPressure. It writes a profile at most once a minute, however often
// the level changes. The profile replaces the one before, which is whole even if the process is
// killed meanwhile.
func (w *heapWriter) pressure(p adapt.Pressure) {
	if p.Level < adapt.PressureTight || time.Since(w.last) < time.Minute {
		return
	}
	w.last = time.Now()
	if err := w.write(); err != nil {
		log.Print("heap profile: ", err)
	}
}

func (w *heapWriter) write() error {
	f, err := os.CreateTemp(w.dir, "heap-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	// The heap as of the last collection: this starts none.
	err = pprof.Lookup("heap").WriteTo(f, 0)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(w.dir, "heap.pprof"))
	}
	return err
}

// Write a heap profile when the memory limit begins to press, so that it is there after an OOM
// kill: go tool pprof heap.pprof.
func ExampleOptions_heapProfile() {
	dir, err := os.MkdirTemp("", "heap")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	profiles := &heapWriter{dir: dir}
	w, err := adapt.Watch(context.Background(), adapt.Options{Memory: true, OnPressure: profiles.pressure})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Undo()

	// Watch calls it so when the heap may grow by less than 20 %.
	profiles.pressure(adapt.Pressure{Level: adapt.PressureTight})
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	fmt.Println(len(files), filepath.Base(files[0]), err)
	// Output: 1 heap.pprof <nil>
}
