// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/sense"
	"github.com/snug-go/snug/limits"
)

// A machine is everything a loop reads: this process, or a test's.
type machine interface {
	limits(*limits.Limits)
	heap(*law.Heap)
	mapped() int64
	cpu(*law.CPU)
	kernelWait() (seconds float64, threads int)
	sealed() bool // see limits.Sealed
	close()
}

type thisProcess struct {
	handle *limits.Handle
	sensor *sense.Sensor
}

// openMachine opens the files this process can read about itself; it returns nil if limits cannot
// be read at all.
func openMachine() machine {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		return nil
	}
	p := &thisProcess{h, sense.New()}
	p.limits(new(limits.Limits)) // opens the files
	return p
}

func (p *thisProcess) limits(l *limits.Limits) {
	*l, _ = p.handle.Read(limits.Counters | limits.Unreclaimable) // the error means an ended process; this is our own
}
func (p *thisProcess) heap(h *law.Heap)           { p.sensor.Heap(h) }
func (p *thisProcess) mapped() int64              { return p.sensor.Mapped() }
func (p *thisProcess) cpu(c *law.CPU)             { p.sensor.CPU(c, limits.Sealed()) }
func (p *thisProcess) kernelWait() (float64, int) { return p.sensor.KernelWait() }
func (p *thisProcess) sealed() bool               { return limits.Sealed() }
func (p *thisProcess) close() {
	p.handle.Close()
	p.sensor.Close()
}
