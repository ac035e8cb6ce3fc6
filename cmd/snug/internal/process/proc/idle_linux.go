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

// Idle is how long the CPUs that the process may run on have had nothing to do since the
// machine started, in steps of 10 ms. It is of the whole machine, unless something such
// as lxcfs stands in for /proc/stat; see proc_stat(5).
func (p *Process) Idle() (Idle, error) {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(p.pid, set); err != nil {
		return Idle{}, p.why("sched_getaffinity", err)
	}
	file := p.root + "/stat"
	f, err := os.Open(file)
	if err != nil {
		return Idle{}, err
	}
	defer f.Close()
	at := time.Now()
	text, err := io.ReadAll(io.LimitReader(f, maxMachine))
	if err != nil {
		return Idle{}, err
	}
	idle, cpus := parseIdle(text, set.IsSet)
	if len(cpus) == 0 {
		return Idle{}, fmt.Errorf("%w, %s", ErrNone, file)
	}
	return Idle{at, idle, cpus}, nil
}
