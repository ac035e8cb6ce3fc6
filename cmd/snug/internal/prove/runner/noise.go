// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/cgroup"
)

// userHz is the unit of /proc/stat in user space: 100 per second on every architecture
// that Go supports (USER_HZ, proc_stat(5)).
const userHz = 100

// machineTime holds counters of the whole machine since it booted.
type machineTime struct {
	at          time.Time
	busy, steal *float64 // CPU seconds
	pressure    *float64 // seconds in which any task waited for a CPU
}

func readMachine() machineTime {
	m := machineTime{at: time.Now()}
	m.busy, m.steal = parseStat(read("/proc/stat"))
	m.pressure = parsePressure(read("/proc/pressure/cpu"))
	return m
}

// parseStat parses the first line of /proc/stat (proc_stat(5)):
//
//	cpu  user nice system idle iowait irq softirq steal guest guest_nice
//
// User includes guest time. Steal is not busy: the machine did not have it.
func parseStat(text string) (busy, steal *float64) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return nil, nil
	}
	var v [8]float64
	for i := range v {
		n, err := strconv.ParseUint(f[i+1], 10, 64)
		if err != nil {
			return nil, nil
		}
		v[i] = float64(n) / userHz
	}
	b := v[0] + v[1] + v[2] + v[5] + v[6]
	return &b, &v[7]
}

// parsePressure returns how long some task has waited (Linux Documentation/accounting/psi.rst), in
// seconds; nil if it is unknown.
func parsePressure(text string) *float64 {
	some, _ := cgroup.Pressure([]byte(text))
	if !some.HasTotal {
		return nil
	}
	return new(float64(some.Total) / 1e6)
}

// noise returns what others did between two readings. own is the CPU time, in seconds, of
// the measured program and of the generator; nil is unknown.
func noise(a, b machineTime, own *float64) finding.Noise {
	var n finding.Noise
	wall := b.at.Sub(a.at).Seconds()
	if wall <= 0 {
		return n
	}
	if a.busy != nil && b.busy != nil && own != nil {
		// /proc/stat counts in ticks: short windows may come out a little below 0.
		n.OtherCPUs = new(max(0, (*b.busy-*a.busy-*own)/wall))
	}
	n.Steal = rate(a.steal, b.steal, wall)
	n.Pressure = rate(a.pressure, b.pressure, wall)
	return n
}

func rate(a, b *float64, wall float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new((*b - *a) / wall)
}

// Busy returns the machine's load average of the last minute, which includes programs
// that wait for disks (proc_loadavg(5)); false if it cannot be read.
func Busy() (float64, bool) {
	first, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	x, err := strconv.ParseFloat(first, 64)
	return x, err == nil
}

// Machine describes this machine for a document.
func Machine() finding.Machine {
	m := finding.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Kernel: strings.TrimSpace(read("/proc/sys/kernel/osrelease")),
	}
	for line := range strings.Lines(read("/proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPUModel = strings.TrimSpace(value)
			break
		}
	}
	m.Memory = meminfo("MemTotal:")
	return m
}

// meminfo returns a line of /proc/meminfo in bytes, 0 if it cannot be read.
func meminfo(key string) int64 { return kibibytes(read("/proc/meminfo"), key) }

func read(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}
