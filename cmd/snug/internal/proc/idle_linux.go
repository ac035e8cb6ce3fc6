// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxMachine bytes hold /proc/stat of more than a thousand CPUs, and its counts of interrupts.
const maxMachine = 1 << 20

// Idle is how long the CPUs that the process may run on have had nothing to do, all
// together since the machine started, in steps of 10 ms; and their number. Waiting for
// a disk is nothing to do, and what a hypervisor took is not. It is of the whole
// machine, unless something such as lxcfs stands in for /proc/stat; see
// proc_stat(5).
func (p *Process) Idle() (time.Duration, int, error) {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(p.pid, set); err != nil {
		return 0, 0, p.why("sched_getaffinity", err)
	}
	file := p.root + "/stat"
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMachine))
	if err != nil {
		return 0, 0, err
	}
	idle, n := parseIdle(text, set.IsSet)
	if n == 0 {
		return 0, 0, fmt.Errorf("%w, %s", ErrNone, file)
	}
	return idle, n, nil
}
