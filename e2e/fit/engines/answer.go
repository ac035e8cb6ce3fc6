// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/e2e/fit/engines/wire"
)

// The kinds of answers about a limit. A reader that could not read a limit and continues without
// one answers none, because its program then runs without a limit.
const (
	limited = "limit"
	none    = "none"
	unknown = "unknown"
)

// figure is a reader's answer about one limit, or the kernel's behaviour.
type figure struct {
	Says  string  `json:"says"` // limited, none or unknown; "" = no answer about this limit
	Value float64 `json:"value,omitempty"`
	Note  string  `json:"note,omitempty"` // the reader's own text
}

// reading is a reader's answers about a container: cores and MiB.
type reading struct {
	CPU    figure `json:"cpu"`
	Memory figure `json:"memory"`
}

// plan is the part of `snug plan --json` that is compared.
type plan struct {
	GOMAXPROCS, GOMEMLIMIT struct {
		Reason, Text string
		Cores        *float64 `json:"basis_cores"`
		Bytes        *int64   `json:"basis_bytes"`
		Source       *struct{ File, Raw string }
	}
	Unknown []struct{ Field, File, Why string }
	Runtime struct{ Text string }
}

// fromPlan parses the output of `snug plan --json`.
func fromPlan(r wire.Run) (reading, error) {
	var p plan
	if err := json.Unmarshal([]byte(r.Stdout), &p); err != nil || r.Error != "" {
		return reading{}, fmt.Errorf("snug plan: %v, %s: %s%s", err, r.Error, r.Stdout, r.Stderr)
	}
	gap := func(field string) string {
		for _, u := range p.Unknown {
			if u.Field == field {
				return u.File + ": " + u.Why
			}
		}
		return ""
	}
	var a reading
	cpu, memory := p.GOMAXPROCS, p.GOMEMLIMIT
	switch why := gap("cpu.quota_cores"); {
	case cpu.Source != nil && cpu.Cores != nil && strings.Contains(cpu.Source.File, "cpu."):
		a.CPU = figure{limited, *cpu.Cores, cpu.Text}
	case why != "" || cpu.Reason == "unknown":
		a.CPU = figure{unknown, 0, why}
	default:
		a.CPU = figure{none, 0, cpu.Text}
	}
	switch why := gap("memory.hard_bytes"); {
	case memory.Bytes != nil && memory.Source != nil:
		a.Memory = figure{limited, float64(*memory.Bytes) / (1 << 20), memory.Text}
	case why != "" || memory.Reason == "unknown":
		a.Memory = figure{unknown, 0, why}
	default:
		a.Memory = figure{none, 0, memory.Text}
	}
	return a, nil
}

// fromRuntime parses inmate's output about its runtime.
func fromRuntime(r wire.Run) (reading, error) {
	var w wire.Runtime
	if err := json.Unmarshal([]byte(r.Stdout), &w); err != nil || r.Error != "" {
		return reading{}, fmt.Errorf("inmate runtime: %v, %s: %s", err, r.Error, r.Stderr)
	}
	a := reading{CPU: figure{none, 0, fmt.Sprintf("GOMAXPROCS=%d", w.GOMAXPROCS)}}
	text := map[string]string{} // by base name
	for _, f := range w.Files {
		text[f.Name[strings.LastIndexByte(f.Name, '/')+1:]] = f.Text
	}
	fields := strings.Fields(text["cpu.max"]) // "quota period"
	if len(fields) == 0 {
		fields = []string{text["cpu.cfs_quota_us"], text["cpu.cfs_period_us"]}
	}
	if cores, ok := divide(fields[0], fields[1]); ok {
		a.CPU.Says, a.CPU.Value = limited, cores
	}
	return a, nil
}

// divide returns quota / period in cores; ok is false without a quota.
func divide(quota, period string) (float64, bool) {
	q, err := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	return q / p, err == nil && err2 == nil && q > 0 && p > 0
}

// size is the output of sizers.
type size struct {
	GOMAXPROCS int
	GOMEMLIMIT int64
	Error      string
}

func fromSizers(r wire.Run) (s size, err error) {
	if err = json.Unmarshal([]byte(r.Stdout), &s); err != nil || r.Error != "" {
		return s, fmt.Errorf("sizers: %v, %s: %s", err, r.Error, r.Stderr)
	}
	return s, nil
}

// logged returns the last line of a program's log, without the time.
func logged(r wire.Run, s size) string {
	lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
	last := regexp.MustCompile(`^[0-9/]+ [0-9:]+ `).ReplaceAllString(lines[len(lines)-1], "")
	if s.Error != "" {
		return s.Error
	}
	return last
}

// fromAutomaxprocs uses GOMAXPROCS, the only trace of a quota: automaxprocs rounds down, and a
// quota below two cores gives 1.
func fromAutomaxprocs(r wire.Run) (reading, error) {
	s, err := fromSizers(r)
	a := reading{CPU: figure{none, 0, logged(r, s)}}
	if s.GOMAXPROCS == 1 {
		a.CPU.Says, a.CPU.Value = limited, 1
	}
	return a, err
}

// fromAutomemlimit divides GOMEMLIMIT by 0.9, because automemlimit sets nine tenths of the limit.
func fromAutomemlimit(r wire.Run) (reading, error) {
	s, err := fromSizers(r)
	a := reading{Memory: figure{none, 0, logged(r, s)}}
	if s.GOMEMLIMIT < 1<<62 {
		a.Memory.Says, a.Memory.Value = limited, float64(s.GOMEMLIMIT)/0.9/(1<<20)
	}
	return a, err
}

var (
	javaCPU    = regexp.MustCompile(`CPU Quota is: (-?[0-9]+)`)
	javaPeriod = regexp.MustCompile(`CPU Period is: ([0-9]+)`)
	javaMemory = regexp.MustCompile(`Memory Limit is: (-?[0-9]+)`)
	javaNote   = regexp.MustCompile(`(?m)\]\s+(.*(?:[Uu]nlimited|not found|not supported|[Ff]ailed|can't|-2).*)$`)
)

// fromJava parses the output of -Xlog:os+container=trace. There -1 means none, and -2 a file that
// could not be read (osContainer_linux.hpp of JDK 17, OSCONTAINER_ERROR), after which the program
// continues as if there were no limit.
func fromJava(r wire.Run) (reading, error) {
	if r.Error != "" || !strings.Contains(r.Stdout, "os,container") {
		return reading{}, fmt.Errorf("java: %s: %s%s", r.Error, r.Stdout, r.Stderr)
	}
	var notes []string
	for _, m := range javaNote.FindAllStringSubmatch(r.Stdout, -1) {
		if !slices.Contains(notes, m[1]) {
			notes = append(notes, m[1])
		}
	}
	note := strings.Join(notes[:min(len(notes), 3)], "; ")
	a := reading{figure{none, 0, note}, figure{none, 0, note}}
	quota, period := javaCPU.FindStringSubmatch(r.Stdout), javaPeriod.FindStringSubmatch(r.Stdout)
	if quota != nil && period != nil {
		if cores, ok := divide(quota[1], period[1]); ok {
			a.CPU = figure{limited, cores, ""}
		}
	}
	for _, m := range javaMemory.FindAllStringSubmatch(r.Stdout, -1) {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil && n > 0 && n < 1<<60 {
			a.Memory = figure{limited, n / (1 << 20), ""}
		}
	}
	return a, nil
}
