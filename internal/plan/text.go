// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"strconv"

	"github.com/snug-go/snug/limits"
)

// Text returns a reason as one sentence without a full stop. value is the resulting number, 0
// if there is none.
func Text(r Reason, value int64) string {
	cores := plural(r.Number, "core")
	size := Bytes(int64(r.Number))
	less := ", less " + Bytes(int64(r.Number)-value) + " headroom"
	if value == 0 {
		less = ""
	}
	rounded := func(how string) string {
		if r.Number == math.Trunc(r.Number) {
			return "the quota is " + cores
		}
		return "the quota is " + cores + ", rounded " + how
	}
	switch r.Code {
	case QuotaCeil:
		return rounded("up")
	case QuotaFloor:
		return rounded("down")
	case QuotaNearest:
		return rounded("to the nearest")
	case QuotaMin:
		return "the limit or request is " + cores + ", raised to the minimum"
	case Affinity:
		if r.Number <= float64(value) {
			return "the process may run on " + plural(r.Number, "CPU")
		}
		return "the limit of " + cores + " is more than the CPUs it may run on"
	case CPULimitHint:
		return "a hint says the limit is " + cores
	case CPURequest:
		if value == 2 && r.Number*DefaultRequestFactor <= 1 {
			cores += ", at least 2"
		}
		return "no limit, so Ps for the request of " + cores + "; idle CPUs beyond them stay unused"
	case RequestUnused:
		return "the request of " + cores + " counts only where there is no limit"
	case MaxProcs:
		return "the limit is " + cores + ", lowered to the requested maximum"
	case ReserveCPUs:
		return "the limit is " + cores + ", less those reserved for others"
	case MemoryMax:
		return "the memory limit is " + size + less
	case MemoryHigh:
		return "memory is throttled above " + size + less
	case LxcfsMemory:
		return "the container's memory, as lxcfs shows it, is " + size + less
	case AddressSpace:
		return "the address space has room for " + size + less
	case HostMemory:
		return "the machine has " + size + ", less than the limit" + less
	case MemoryHint:
		return "a hint says the memory limit is " + size + less
	case Workers:
		return "each worker's share of the limit is " + size + less
	case HintUnused:
		return "the hint is not below the visible limit"
	case TooSmall:
		return "a limit of " + size + " is too small for a useful GOMEMLIMIT"
	case LiveHeap:
		return "the live heap is already " + size + ": a GOMEMLIMIT below it would keep the garbage collector running"
	case Explicit:
		return "asked for"
	case NoLimit:
		return "no limit is visible"
	case Unknown:
		return "the limit could not be read"
	case EnvSet:
		return "the operator set " + r.Source.File + "=" + clip(r.Source.Raw)
	case ProgramSet:
		if r.Number > maxProcs {
			return "the program itself set it to " + size
		}
		return "the program itself set it to " + number(r.Number)
	case NotManaged:
		return "no limit says what it should be"
	case NotSupported:
		return "this system or Go version does not support it"
	case Disabled:
		return "SNUG=off"
	case OptionInvalid:
		return "an option of the program is invalid: " + r.Source.File + " is " + r.Source.Raw
	}
	return r.Code
}

// WarningText returns a warning as one sentence without a full stop.
func WarningText(w limits.Warning) string {
	what := w.File + " (" + clip(w.Raw) + ")"
	switch w.Code {
	case limits.WarnQuotaCrashesGo:
		return what + ": plain programs of Go 1.25 to 1.27 that find this quota crash before main"
	case limits.WarnCgroupDeleted:
		return "the process's own cgroup " + w.Level + " was removed"
	case limits.WarnCgroupUnreachable:
		return "the process's own cgroup " + w.Level + " cannot be seen from here"
	case limits.WarnMemoryLimitZero:
		return w.File + " is 0: nothing can be sized by it"
	case limits.WarnQuotaTorn:
		return what + " changed each time it was read"
	case EnvInvalid:
		return w.File + "=" + clip(w.Raw) + " is invalid and is ignored" + wantHint(w.File)
	case EnvUnknown:
		if near := NearestName(w.File); near != "" {
			return w.File + " is not a variable of snug and is ignored: " + near + " is"
		}
		return w.File + " is not a variable of snug and is ignored"
	case MemoryShared:
		if w.Level == "" {
			return "the memory limit sits on a level above the process's own cgroup that cannot be seen: others may use the " +
				"same memory"
		}
		return "the memory limit sits on " + w.Level + ", above the process's own cgroup: others may use the same memory"
	case MemorySeveral:
		return w.Raw + " Go processes share the memory limit, more than this GOMEMLIMIT leaves room for: SNUG_WORKERS=" +
			w.Raw + " gives each its share, " + w.File
	case NotMeasured:
		return "GOMEMLIMIT and GOGC do not follow measurements: with a hint or SNUG_WORKERS other processes may use the " +
			"cgroup's memory too"
	case LiveHeap:
		if w.File == "GOMEMLIMIT" {
			return "GOMEMLIMIT=" + w.Raw + " is below the live heap of " + Bytes(int64(w.Number)) +
				", so the garbage collector runs without end"
		}
		return "the live heap of " + Bytes(int64(w.Number)) + " does not fit the GOMEMLIMIT that " + what + " allows"
	case ExplicitAbove:
		limit, file := clip(w.Raw), w.File
		if n, err := strconv.ParseInt(w.Raw, 10, 64); err == nil {
			limit = Bytes(n)
		}
		if file == memoryHint {
			file = "--memory-limit or " + file
		}
		return "a GOMEMLIMIT of " + Bytes(int64(w.Number)) + " is above the memory limit of " + limit + " (" + file +
			"), so the kernel kills the program before Go collects harder"
	case ProcsAbove:
		return "GOMAXPROCS=" + w.Raw + " is too much for a CPU limit of " + plural(w.Number, "core") +
			", unless goroutines wait in system calls: snug doctor PID judges it while the program works"
	case ProcsBelow:
		return "GOMAXPROCS=" + w.Raw + " leaves most of a CPU limit of " + plural(w.Number, "core") +
			" to other processes and C code: Go code cannot use it"
	}
	return w.Code + ": " + what
}

func wantHint(name string) string {
	if w := Want(name); w != "" {
		return ": write " + w
	}
	return ""
}

// clip quotes at most 40 bytes of foreign text.
func clip(s string) string { return strconv.Quote(s[:min(len(s), 40)]) }

func plural(n float64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return number(n) + " " + word + "s"
}

// number formats cores with at most three decimals.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
}

// Bytes formats a number of bytes for people: 512 MiB, 1.5 GiB.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(n), 0
	for math.Abs(x) >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) + " " + units[i]
}
