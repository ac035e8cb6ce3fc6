// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc, USER_HZ, which is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// Flags of a task: include/linux/sched.h.
const (
	forkNoExec = 0x40     // PF_FORKNOEXEC
	kernelTask = 0x200000 // PF_KTHREAD
)

// parseStat reads /proc/PID/stat:
//
//	1234 (na) me) S 1 ...
//	^pid ^comm    ^3: state, 4: parent, 9: flags, 14: user, 15: system time,
//	              20: threads, 22: start, 24: resident pages, 27: end of the
//	              code, 28: bottom of the stack
//
// The name may hold spaces and parentheses, so it ends with the last one.
// Source: proc_pid_stat(5).
func parseStat(text []byte, pageSize int64) (Stat, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, false
	}
	var field [28 - 3 + 1][]byte // field[0] is the third field of the file
	n := 0
	for rest := bytes.TrimSpace(text[end+1:]); n < len(field) && len(rest) > 0; n++ {
		field[n], rest, _ = bytes.Cut(rest, []byte{' '})
	}
	if n < 22 || len(field[0]) != 1 {
		return Stat{}, false
	}
	ok := true
	number := func(n int) uint64 {
		v, err := strconv.ParseUint(string(field[n-3]), 10, 64)
		ok = ok && err == nil
		return v
	}
	flags := number(9)
	s := Stat{
		Name:    string(text[open+1 : end]),
		State:   field[0][0],
		Parent:  int(number(4) & 0x7fffffff),
		Kernel:  flags&kernelTask != 0,
		Forked:  flags&forkNoExec != 0,
		Threads: int(number(20) & 0x7fffffff),
		CPU:     ticks(number(14)) + ticks(number(15)),
		start:   number(22),
	}
	if pages := number(24); pages < 1<<40 {
		s.RSSBytes = int64(pages) * pageSize
	}
	// When the kernel loads a program, it first sets the stack, then writes the auxiliary
	// vector entry by entry, and then sets the end of the code. Source: fs/binfmt_elf.c
	// load_elf_binary.
	if n == len(field) {
		s.loading = number(28) != 0 && number(27) == 0
	}
	if !ok {
		return Stat{}, false
	}
	return s, true
}

// places holds addresses in the memory of a process.
type places struct{ stack, env, envEnd uint64 }

// parsePlaces reads fields 28, 50 and 51 of /proc/PID/stat. They are 0 for those who may not trace the process. Source:
// proc_pid_stat(5), startstack, env_start, env_end.
func parsePlaces(text []byte) (places, bool) {
	field := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var at places
	for _, f := range []struct {
		n  int
		to *uint64
	}{{28, &at.stack}, {50, &at.env}, {51, &at.envEnd}} {
		if len(field) <= f.n-3 {
			return places{}, false
		}
		v, err := strconv.ParseUint(field[f.n-3], 10, 64)
		if err != nil || v == 0 {
			return places{}, false
		}
		*f.to = v
	}
	return at, at.env <= at.envEnd
}

const century = 100 * 365 * 24 * time.Hour

// ticks converts a count of [tick], capped at a century of CPU time.
func ticks(n uint64) time.Duration {
	if n > uint64(century/tick) {
		return century
	}
	return time.Duration(n) * tick
}

// parseStatus reads "Key:\tvalue" lines of /proc/PID/status:
//
//	Uid:	real effective saved filesystem
//	NSpid:	1234 17 1            one a nested pid namespace, the innermost last
//	VmHWM:	232456 kB            none for a kernel thread
//
// Source: proc_pid_status(5).
func parseStatus(text []byte) (s Status, ok bool) {
	s.UID = -1
	for line := range bytes.Lines(text) {
		key, value, found := strings.Cut(string(line), ":")
		if !found {
			continue
		}
		field := strings.Fields(value)
		switch key {
		case "Uid":
			if len(field) >= 2 {
				if uid, err := strconv.ParseUint(field[1], 10, 32); err == nil {
					s.UID, ok = int(uid), true
				}
			}
		case "NSpid":
			if len(field) > 0 {
				if pid, err := strconv.ParseUint(field[len(field)-1], 10, 31); err == nil {
					s.NSPid = int(pid)
				}
			}
		case "VmHWM":
			if len(field) > 0 {
				if n, err := strconv.ParseUint(field[0], 10, 43); err == nil {
					s.Peak = int64(n) << 10
				}
			}
		}
	}
	return s, ok
}

// parseSize returns the bytes of a line of /proc/PID/status, 0 = there is none:
//
//	RssFile:	   28652 kB      resident pages of files, since Linux 4.5
//	VmLib:	    2256 kB      mapped code without the executable's own
//
// Source: proc_pid_status(5); fs/proc/task_mmu.c, task_mem.
func parseSize(text []byte, key string) int64 {
	_, value, found := bytes.Cut(text, []byte("\n"+key+":"))
	value, _, ended := bytes.Cut(value, []byte(" kB\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 53)
	if !found || !ended || err != nil {
		return 0
	}
	return max(0, n) << 10
}

// parseIO reads /proc/PID/io, of which it needs four lines:
//
//	rchar: 323934931       bytes of read calls, from files, pipes and sockets
//	wchar: 323929600       and of write calls
//	syscr: 632687          number of read calls
//	syscw: 632675          and of write calls
//
// Source: proc_pid_io(5).
func parseIO(text []byte) (IO, bool) {
	var sum IO
	found := 0
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(string(line), ":")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
		switch {
		case err != nil:
		case key == "rchar" || key == "wchar":
			sum.Bytes += n
			found++
		case key == "syscr" || key == "syscw":
			sum.Calls += n
			found++
		}
	}
	return sum, found == 4
}

// parseIdle adds up the idle times of the selected CPUs in /proc/stat. A CPU's fourth and fifth
// number are idle and iowait:
//
//	cpu1 2010 0 401 9000 12 0 3 1 0 0
//
// Source: proc_stat(5).
func parseIdle(text []byte, selected func(cpu int) bool) (idle time.Duration, cpus []int) {
	for line := range bytes.Lines(text) {
		name, found := strings.CutPrefix(string(line), "cpu")
		if !found {
			break // the CPUs come first
		}
		field := strings.Fields(name)
		if len(field) < 6 || name[0] == ' ' { // the line with the sum of all CPUs
			continue
		}
		cpu, err := strconv.ParseUint(field[0], 10, 31)
		rest, err1 := strconv.ParseUint(field[4], 10, 64)
		disk, err2 := strconv.ParseUint(field[5], 10, 64)
		if err != nil || err1 != nil || err2 != nil || cpu >= maxCPUs || !selected(int(cpu)) {
			continue
		}
		idle = min(idle+ticks(rest), century)
		idle = min(idle+ticks(disk), century)
		cpus = append(cpus, int(cpu))
	}
	return idle, cpus
}

// maxCPUs is how many CPUs Linux supports.
const maxCPUs = 1 << 13

// parseSchedstat reads /proc/PID/task/TID/schedstat: time on a CPU in ns, time
// on a run queue in ns, number of times it got a CPU. Source:
// Documentation/scheduler/sched-stats.rst.
func parseSchedstat(text []byte) (delay, bool) {
	field := strings.Fields(string(text))
	if len(field) < 2 {
		return delay{}, false
	}
	run, err1 := strconv.ParseUint(field[0], 10, 64)
	wait, err2 := strconv.ParseUint(field[1], 10, 64)
	if err1 != nil || err2 != nil {
		return delay{}, false
	}
	return delay{run, wait}, true
}

// atEntry is AT_ENTRY of getauxval(3): the entry point of the program, not of its dynamic
// linker.
const atEntry = 9

// parseAuxv finds AT_ENTRY among the pairs of words that the kernel passed to a 64-bit
// program. Source: proc_pid_auxv(5).
func parseAuxv(text []byte) (entry uint64, ok bool) {
	for ; len(text) >= 16; text = text[16:] {
		key, value := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		switch key {
		case 0:
			return 0, false
		case atEntry:
			return value, value != 0
		}
	}
	return 0, false
}

// loading reports whether an auxiliary vector is that of a process whose program the kernel is
// just loading: it has memory, but nothing was written into the vector yet. Source: fs/exec.c
// begin_new_exec, fs/binfmt_elf.c create_elf_tables.
func loading(auxv []byte) bool {
	return len(auxv) >= 8 && binary.LittleEndian.Uint64(auxv) == 0
}

// parseMaps reads /proc/PID/maps and returns the files of which code may run, each once:
//
//	7f3c5c028000-7f3c5c17d000 r-xp 00028000 08:01 1311 /usr/lib/libc.so.6
//	addresses                 may  offset   device inode, path
//
// A newline in a path is written as \012. Source: proc_pid_maps(5).
func parseMaps(text []byte) []Object {
	var all []Object
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		field := strings.SplitN(strings.TrimSuffix(string(line), "\n"), " ", 6)
		if len(field) < 6 || len(field[1]) < 3 || field[1][2] != 'x' {
			continue
		}
		path := strings.TrimLeft(field[5], " ")
		from, to, _ := strings.Cut(field[0], "-")
		o := Object{ID: field[3] + " " + field[4], span: trimZeros(from) + "-" + trimZeros(to)}
		o.Path, o.Deleted = strings.CutSuffix(strings.ReplaceAll(path, `\012`, "\n"), deletedMark)
		if o.Path == "" || o.Path[0] != '/' || seen[o.ID] {
			continue // the stack, the vDSO, and the like
		}
		seen[o.ID] = true
		all = append(all, o)
	}
	return all
}

// parseCode reads /proc/PID/maps and returns the addresses at which files are mapped of which code may run, their
// data too.
func parseCode(text []byte) (spans [][2]uint64) {
	runs := map[string]bool{}
	for _, o := range parseMaps(text) {
		runs[o.ID] = true
	}
	for line := range bytes.Lines(text) {
		field := strings.SplitN(string(line), " ", 6)
		if len(field) < 6 || !runs[field[3]+" "+field[4]] {
			continue
		}
		from, to, _ := strings.Cut(field[0], "-")
		low, err1 := strconv.ParseUint(from, 16, 63)
		high, err2 := strconv.ParseUint(to, 16, 63)
		if err1 == nil && err2 == nil && low < high {
			spans = append(spans, [2]uint64{low, high})
		}
	}
	return spans
}

// trimZeros makes an address of maps one of map_files.
func trimZeros(address string) string { return strings.TrimLeft(address, "0") }

// public reports whether a variable may leave this package. The rest of an environment may
// hold secrets.
func public(name []byte) bool {
	switch string(name) {
	case "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG":
		return true
	}
	return false
}

// maxValue bounds the length of a value that is kept. No variable that snug reads needs a
// longer one.
const maxValue = 4096

// parseEnviron returns the variables in "NAME=value\0..." that set knobs. If several have the
// same name, the first counts, as in Go's runtime (runtime/env_posix.go, gogetenv).
func parseEnviron(text []byte) map[string]string {
	env := map[string]string{}
	for len(text) > 0 {
		var entry []byte
		entry, text, _ = bytes.Cut(text, []byte{0})
		name, value, ok := bytes.Cut(entry, []byte("="))
		if !ok || !public(name) || len(value) > maxValue {
			continue
		}
		if _, seen := env[string(name)]; !seen {
			env[string(name)] = string(value)
		}
	}
	return env
}

// parseEntries adds the entries of a block of getdents64(2) whose names are numbers:
//
//	8 bytes inode, 8 offset, 2 length of this entry, 1 type, name, 0
func parseEntries(block []byte, list []Entry) []Entry {
	const head = 19
	for len(block) > head {
		size := int(binary.LittleEndian.Uint16(block[16:]))
		if size <= head || size > len(block) {
			break
		}
		name, _, _ := bytes.Cut(block[head:size], []byte{0})
		if pid, ok := number(string(name)); ok {
			list = append(list, Entry{pid, binary.LittleEndian.Uint64(block)})
		}
		block = block[size:]
	}
	return list
}

// Entry is a process as listed in the directory /proc.
type Entry struct {
	Pid int
	// Mark is the entry's inode number. The same number means the same process, because the
	// kernel counts these numbers up. A different one means nothing.
	Mark uint64
}

// number parses a name that is a number of 1 or more.
func number(name string) (int, bool) {
	if name == "" || name[0] < '1' || name[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(name, 10, 31)
	return int(n), err == nil
}
