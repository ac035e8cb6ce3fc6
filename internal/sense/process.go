// SPDX-License-Identifier: Apache-2.0

package sense

import "github.com/snug-go/snug/limits"

// A Process is this process: its limits, and all that a Sensor reads. It is not safe for concurrent use.
type Process struct {
	*Sensor
	handle *limits.Handle
}

// Open opens the files that this process can read about its limits. It fails where limits cannot be read
// at all.
func Open() (*Process, error) {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		return nil, err
	}
	p := &Process{New(), h}
	p.Limits(new(limits.Limits)) // opens the files
	return p, nil
}

// Limits reads the limits, with counters and the memory that cannot be reclaimed.
func (p *Process) Limits(l *limits.Limits) {
	*l, _ = p.handle.Read(limits.Counters | limits.Unreclaimable) // the error means an ended process; this is our own
}

// Sealed is limits.Sealed.
func (p *Process) Sealed() bool { return limits.Sealed() }

// Close closes all files.
func (p *Process) Close() {
	p.handle.Close()
	p.Sensor.Close()
}
