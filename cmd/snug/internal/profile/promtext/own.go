// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Self adds the customary metrics of the process that serves the page: snug_build_info with the
// version of snug, go_info, go_goroutines, and from /proc/self/stat process_cpu_seconds_total and
// process_resident_memory_bytes, which are absent if that file cannot be read.
func (p *Page) Self(version string) {
	p.Family("snug_build_info", "The version of snug.", Gauge)
	p.Sample(1, Text(Label{"version", version}))
	p.Family("go_info", "The Go that this program is built by.", Gauge)
	p.Sample(1, Text(Label{"version", runtime.Version()}))
	p.Family("go_goroutines", "Goroutines of this program.", Gauge)
	p.Sample(float64(runtime.NumGoroutine()), "")
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	cpu, resident, ok := statFigures(string(text))
	if !ok {
		return
	}
	p.Family("process_cpu_seconds_total", "CPU time of this program.", Counter)
	p.Sample(cpu, "")
	p.Family("process_resident_memory_bytes", "Resident memory of this program.", Gauge)
	p.Sample(resident*float64(os.Getpagesize()), "")
}

// statFigures parses utime and stime, in ticks of 10 ms, and rss, in pages. Source:
// proc_pid_stat(5); the name, the second field, may hold any characters.
func statFigures(text string) (cpu, pages float64, ok bool) {
	i := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[i+1:])
	if i < 0 || len(fields) < 22 {
		return 0, 0, false
	}
	user, err1 := strconv.ParseUint(fields[11], 10, 63)
	system, err2 := strconv.ParseUint(fields[12], 10, 63)
	rss, err3 := strconv.ParseUint(fields[21], 10, 63)
	return float64(user+system) / 100, float64(rss), err1 == nil && err2 == nil && err3 == nil
}
