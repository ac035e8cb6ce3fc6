// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// verify compares the proof with the Spec. The parts of a scope are known only from the
// proof; verify sets them.
func (s starter) verify(c *Child) error {
	p, w := c.Confinement, c.group.want
	bad := func(format string, args ...any) error { return &ProofError{fmt.Sprintf(format, args...)} }

	switch s.way {
	case WaySystemd:
		if err := s.verifyScope(c); err != nil {
			return err
		}
	case WayContainer, WayNone:
		return s.verifyWithoutGroup(c)
	}
	for _, check := range []struct {
		controller, group string
		asked             bool
	}{{"cpu", p.CPUGroup, w.cpu()}, {"memory", p.MemoryGroup, w.memory > 0}} {
		if check.asked && !slices.ContainsFunc(c.group.parts, func(part part) bool {
			return part.has(check.controller) && part.group == check.group
		}) {
			return bad("the child is in the wrong group, %s", check.group)
		}
	}
	if w.quota > 0 {
		// systemd rounds; without systemd the values must be exactly those written.
		got, asked := float64(p.QuotaMicros)/float64(max(p.PeriodMicros, 1)), float64(w.quota)/float64(w.period)
		exact := p.QuotaMicros == w.quota && p.PeriodMicros == w.period
		if !exact && (s.way != WaySystemd || got < asked*0.98-0.01 || got > asked*1.02+0.01 || p.QuotaMicros == 0) {
			return bad("quota %d of %d µs, %s", p.QuotaMicros, p.PeriodMicros, p.CPUGroup)
		}
		if p.CPUs == 0 || p.CPUs > got {
			return bad("effective CPU limit %g, %s", p.CPUs, p.CPUGroup)
		}
	}
	if w.cpu() && !bound(p.Policy) {
		return bad("the CPU limit does not hold a thread with %s", p.Policy)
	}
	if w.memory > 0 &&
		(p.LimitBytes == 0 || !rounded(p.LimitBytes, w.memory) || p.MemoryBytes == 0 || p.MemoryBytes > p.LimitBytes) {
		return bad("memory limit %d bytes, %s", p.LimitBytes, p.MemoryGroup)
	}
	return nil
}

// verifyScope checks that every limit of the caller also holds in systemd's scope, and
// records its directories.
func (s starter) verifyScope(c *Child) error {
	text, err := readText(s.machine.fsys, "/proc/self/cgroup")
	if err != nil {
		return err
	}
	mounts, err := readText(s.machine.fsys, "/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, want := range []struct{ controller, group string }{{"cpu", c.Confinement.CPUGroup},
		{"memory", c.Confinement.MemoryGroup}} {
		if want.group == "" {
			continue
		}
		h, err := findHierarchy(s.machine.fsys, text, mounts, want.controller)
		if err != nil {
			return err
		}
		if !ownName(strings.TrimSuffix(path.Base(want.group), ".scope")) {
			return &ProofError{fmt.Sprintf("%s: systemd has not put the child into its group for %s", want.group,
				want.controller)}
		}
		if file := shed(s.machine.fsys, h, want.group); file != "" {
			return &shedError{file}
		}
		in := hierarchy{mount: h.mount, root: h.root, path: want.group}
		if w := c.group.want.weight; w > 0 && want.controller == "cpu" {
			if err := checkWeight(s.machine.fsys, in.dir(), w, h.v1); err != nil {
				return err
			}
		}
		controllers := h.controllers
		if !h.v1 {
			controllers = []string{"cpu", "memory"}
		}
		c.group.parts = append(c.group.parts, part{v1: h.v1, controllers: controllers, dir: in.dir(), group: want.group})
	}
	return nil
}
