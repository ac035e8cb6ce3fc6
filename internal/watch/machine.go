// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"runtime"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/sense"
	"github.com/snug-go/snug/limits"
)

// A machine is all that a loop reads: this process, or a test's.
type machine interface {
	limits(*limits.Limits)
	heap(*adapt.Heap)
	mapped() int64
	cpu(*adapt.CPU)
	kernelWait() (seconds float64, threads int)
	collect()
	close()
}

type thisProcess struct {
	handle *limits.Handle
	sensor *sense.Sensor
}

// openMachine opens what this process can read about itself; nil where limits
// cannot be read at all.
func openMachine() machine {
	h, err := limits.Open(nil, 0, limits.Counters|limits.Unreclaimable)
	if err != nil {
		return nil
	}
	return &thisProcess{h, sense.New()}
}

func (p *thisProcess) limits(l *limits.Limits)    { *l, _ = p.handle.Read() } // its own process has not ended
func (p *thisProcess) heap(h *adapt.Heap)         { p.sensor.Heap(h) }
func (p *thisProcess) mapped() int64              { return p.sensor.Mapped() }
func (p *thisProcess) cpu(c *adapt.CPU)           { p.sensor.CPU(c) }
func (p *thisProcess) kernelWait() (float64, int) { return p.sensor.KernelWait() }
func (p *thisProcess) collect()                   { runtime.GC() }
func (p *thisProcess) close() {
	p.handle.Close()
	p.sensor.Close()
}
