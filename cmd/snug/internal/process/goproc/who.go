// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// who sets who chose each setting. custom reports that GOMAXPROCS was set by hand; it is valid
// only if kept is true.
func (f *Facts) who(custom, kept bool) {
	f.GOMAXPROCSBy = f.whoProcs(custom, kept)
	f.GOGCBy = f.whoPercent()
	f.GOMEMLIMITBy = f.whoLimit()
}

// asStarted takes the settings from the environment, if they cannot be read from memory. They
// held when the program started.
func (f *Facts) asStarted() {
	source := fmt.Sprintf("/proc/%d/environ, when it started", f.Pid)
	if n, ok := parseInt32(f.Env["GOMAXPROCS"]); ok && n > 0 && n <= maxProcs {
		f.GOMAXPROCS.Know(n, source)
		f.GOMAXPROCSBy = Setter{By: ByEnvironment}
	}
	if n, ok := parseInt32(f.Env["GOGC"]); ok {
		f.GOGC.Know(max(n, -1), source)
		f.GOGCBy = Setter{By: ByEnvironment}
	} else if f.Env["GOGC"] == "off" {
		f.GOGC.Know(-1, source)
		f.GOGCBy = Setter{By: ByEnvironment}
	}
	if n, ok := plan.ParseGoBytes(f.Env["GOMEMLIMIT"]); ok && f.Exe.Minor != 18 {
		f.GOMEMLIMIT.Know(n, source)
		f.GOMEMLIMITBy = Setter{By: ByEnvironment}
	}
}

// whoProcs follows runtime/proc.go, schedinit: a valid variable wins, otherwise the runtime reads
// the CPUs and, since Go 1.25, the quota. Since Go 1.25 it also records whether the value was set
// by the variable or by runtime.GOMAXPROCS; runtime.SetDefaultGOMAXPROCS clears that record.
func (f *Facts) whoProcs(custom, kept bool) Setter {
	code := Setter{ByCode, f.linked(f.Exe.Automaxprocs, "go.uber.org/automaxprocs")}
	switch {
	case !f.GOMAXPROCS.Known():
		return Setter{Detail: f.GOMAXPROCS.Why}
	case f.Env == nil:
		return Setter{Detail: "environment cannot be read"}
	}
	asked, set := parseInt32(f.Env["GOMAXPROCS"])
	set = set && asked > 0
	switch {
	case kept && custom && set && asked == f.GOMAXPROCS.N:
		return Setter{By: ByEnvironment}
	case kept && custom:
		return code
	case kept && f.Exe.Aware(f.Env["GODEBUG"]):
		return Setter{By: ByRuntime}
	case kept:
		return Setter{By: ByHostCPUs}
	case f.Exe.Minor == 0 || f.Exe.Minor >= 25:
		// The runtime records it, but the offset is unknown.
		if set && asked == f.GOMAXPROCS.N {
			return Setter{By: ByEnvironment}
		}
		return Setter{Detail: "whether it was set by hand could not be read"}
	case set && asked == f.GOMAXPROCS.N:
		return Setter{By: ByEnvironment}
	case set:
		return code
	case f.CPUs == f.GOMAXPROCS.N:
		return Setter{By: ByHostCPUs}
	case code.Detail != "":
		return code
	}
	return Setter{Detail: fmt.Sprintf("the program's code, or the CPUs at its start (now %d); Go 1.%d keeps no record",
		f.CPUs, f.Exe.Minor)}
}

// MissedQuota reports whether the runtime reads quotas, and yet has a P for each CPU where the quota of
// the process's own group gives another number: Go 1.25 often looks for it elsewhere (cgroup.RuntimeDir).
// Where it looks cannot be known from outside. A program of Go 1.25 that is alive has also missed a quota
// that would crash it.
func (f *Facts) MissedQuota(c *limits.CPU) bool {
	n := plan.RuntimeProcs(c, plan.Go{Minor: plan.NewestKnown})
	return f.GOMAXPROCSBy.By == ByRuntime && f.GOMAXPROCS.N == f.CPUs && n != f.CPUs &&
		(n > 0 || n == plan.Crash && f.Exe.Minor == 25)
}

// whoPercent follows runtime/mgcpacer.go, readGOGC.
func (f *Facts) whoPercent() Setter {
	code := Setter{ByCode, f.linked("", "")}
	if !f.GOGC.Known() {
		return Setter{Detail: f.GOGC.Why}
	}
	if f.Env == nil {
		return Setter{Detail: "environment cannot be read"}
	}
	asked, set := parseInt32(f.Env["GOGC"])
	if f.Env["GOGC"] == "off" {
		asked, set = -1, true
	}
	return chooser(set, max(asked, -1) == f.GOGC.N, f.GOGC.N == 100, code)
}

// whoLimit follows runtime/mgcpacer.go, readGOMEMLIMIT.
func (f *Facts) whoLimit() Setter {
	code := Setter{ByCode, f.linked(f.Exe.Automemlimit, "github.com/KimMachineGun/automemlimit")}
	if !f.GOMEMLIMIT.Read() {
		return Setter{Detail: f.GOMEMLIMIT.Why}
	}
	if f.Exe.Minor == 18 {
		return Setter{By: ByDefault}
	}
	if f.Env == nil {
		return Setter{Detail: "environment cannot be read"}
	}
	text := f.Env["GOMEMLIMIT"]
	asked, set := plan.ParseGoBytes(text)
	if text == "off" {
		asked, set = math.MaxInt64, true
	}
	now, limited := f.GOMEMLIMIT.Get()
	if !limited {
		now = math.MaxInt64
	}
	return chooser(set, asked == now, !limited, code)
}

// chooser returns who chose a value: set reports whether the variable is set, asEnv whether the
// value is that of the variable, and asDefault whether it is the runtime's default.
func chooser(set, asEnv, asDefault bool, code Setter) Setter {
	switch {
	case set && asEnv:
		return Setter{By: ByEnvironment}
	case !set && asDefault:
		return Setter{By: ByDefault}
	}
	return code
}

// linked names the linked modules that may have set a value.
func (f *Facts) linked(version, path string) string {
	var list []string
	if version != "" {
		list = append(list, path+" "+version)
	}
	if f.Exe.Snug != "" {
		list = append(list, "github.com/snug-go/snug "+f.Exe.Snug)
	}
	return strings.Join(list, " or ")
}

// parseInt32 parses GOMAXPROCS and GOGC as the runtime does.
func parseInt32(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil
}
