// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// maxMachine bounds /proc/stat, in bytes: enough for more than a thousand CPUs and the
// interrupt counts.
const maxMachine = 1 << 20

// Idle returns how long the CPUs that the process may run on have been idle since the machine
// started, in steps of 10 ms. It counts the whole machine, unless something such as lxcfs
// replaces /proc/stat; see proc_stat(5).
func (p *Process) Idle() (Idle, error) {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(p.pid, set); err != nil {
		return Idle{}, p.why("sched_getaffinity", err)
	}
	file := p.root + "/stat"
	at := time.Now()
	text, err := readFile(file, maxMachine)
	if err != nil {
		return Idle{}, err
	}
	idle, cpus := parseIdle(text, set.IsSet)
	if len(cpus) == 0 {
		return Idle{}, fmt.Errorf("%s: %w", file, ErrNone)
	}
	return Idle{at, idle, cpus}, nil
}
