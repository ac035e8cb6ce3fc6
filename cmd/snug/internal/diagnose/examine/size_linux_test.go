// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
)

// sizing allocates steadily over a live heap of 40 MiB. The collections of its start are over when it says so.
const sizing = `package main

import (
	"fmt"
	"os"
	"time"
)

var live, short [][]byte

func main() {
	for range 40 {
		live = append(live, make([]byte, 1<<20))
	}
	fmt.Println("ready")
	go func() {
		for range time.Tick(time.Millisecond) {
			short = append(short[:0:0], make([]byte, 1<<18))
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
`

func TestSize(t *testing.T) {
	name, _ := goprogram.Launched(t, "sizing", sizing)
	pid, err := strconv.Atoi(name)
	if err != nil {
		t.Fatal(err)
	}
	files := goproc.NewCache("")
	for watch := 5 * time.Second; ; watch *= 2 {
		d, err := Size(t.Context(), pid, watch, size.Fargate, files)
		if err != nil {
			t.Fatal(err)
		}
		if d.Collections < 10 || !d.Seen.GCCores.Known() || !d.Seen.CPUMost.Known() {
			continue // the machine is busy
		}
		s := &d.Seen
		if live := s.LiveMost.N / (1 << 20); !(live >= 40) {
			t.Errorf("live heap %v MiB", live)
		}
		if d.Memory.Value == nil || float64(*d.Memory.Value) < s.Used.N || len(d.Curve) == 0 || !d.Model.Known() {
			t.Errorf("%+v", d)
		}
		if d.CPULimit.Value == nil || d.CPURequest.Value == nil || *d.CPULimit.Value < *d.CPURequest.Value || d.GOMAXPROCS.Value == nil {
			t.Errorf("%+v, %+v, %+v", d.CPURequest, d.CPULimit, d.GOMAXPROCS)
		}
		break
	}
}

// TestSizeRefuses: what is not there, or ends, has no size.
func TestSizeRefuses(t *testing.T) {
	if d, err := Size(t.Context(), 99999999, time.Second, size.Fargate, goproc.NewCache("")); err == nil {
		t.Errorf("%+v", d)
	}
	name, _ := goprogram.Launched(t, "sizing", sizing)
	pid, err := strconv.Atoi(name)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Size(t.Context(), pid, time.Minute, size.Fargate, goproc.NewCache(""))
		done <- err
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // before it is watched, or while it is
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("an answer about a process that was killed")
	}
}
