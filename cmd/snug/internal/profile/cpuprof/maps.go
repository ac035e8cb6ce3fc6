// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	maxMapsBytes = 16 << 20
	maxMappings  = 1 << 14
)

// readMappings returns the ranges with code in /proc/PID/maps (man 5 proc_pid_maps),
// up to the first read error:
//
//	00400000-00452000 r-xp 00000000 08:02 173521   /usr/bin/dbus-daemon
//	start   -limit    mode offset   dev   inode    file
func readMappings(r io.Reader) []Mapping {
	var all []Mapping
	lines := bufio.NewScanner(io.LimitReader(r, maxMapsBytes))
	lines.Buffer(nil, 64<<10) // a path has at most 4 KiB, and quoting takes up to 4 bytes for each
	for lines.Scan() && len(all) < maxMappings {
		if m, ok := parseMapping(lines.Text()); ok {
			all = append(all, m)
		}
	}
	return all
}

// parseMapping parses one line; it returns false for a range without code or an invalid line.
func parseMapping(line string) (Mapping, bool) {
	addresses, rest, _ := strings.Cut(line, " ")
	mode, rest, _ := strings.Cut(rest, " ")
	offset, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, " ") // device
	_, file, _ := strings.Cut(rest, " ")
	if len(mode) < 3 || mode[2] != 'x' {
		return Mapping{}, false
	}
	start, limit, ok := strings.Cut(addresses, "-")
	if !ok {
		return Mapping{}, false
	}
	var m Mapping
	for _, n := range []struct {
		to   *uint64
		text string
	}{{&m.Start, start}, {&m.Limit, limit}, {&m.Offset, offset}} {
		v, err := strconv.ParseUint(n.text, 16, 64)
		if err != nil {
			return Mapping{}, false
		}
		*n.to = v
	}
	if m.Start >= m.Limit {
		return Mapping{}, false
	}
	m.File = strings.TrimSuffix(strings.TrimLeft(file, " "), " (deleted)")
	return m, true
}

// mergeMappings adds the mappings in later that do not overlap old, because programs
// load libraries while they run. The result is sorted by address.
func mergeMappings(old, later []Mapping) []Mapping {
	all := slices.Clone(old)
	for _, m := range later {
		if !slices.ContainsFunc(old, func(o Mapping) bool { return m.Start < o.Limit && o.Start < m.Limit }) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Mapping) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	return all
}
