// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// keyOfPlace returns the key of a container.
func keyOfPlace(at podid.Place) string { return at.PodUID + "/" + at.ContainerID }

// ownGroup returns the group that limits come from, of a /proc/PID/cgroup: that of v2, or of
// v1 those for memory and CPU, which are usually the same.
func ownGroup(text string) string {
	var memory, cpu, v2 string
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		for name := range strings.SplitSeq(controllers, ",") {
			switch name {
			case "memory":
				memory = group
			case "cpu":
				cpu = group
			case "":
				v2 = group
			}
		}
	}
	memory, cpu = cmp.Or(memory, v2, "/"), cmp.Or(cpu, v2, "/")
	switch {
	case memory == cpu, cpu == "/":
		return memory
	case memory == "/":
		return cpu
	}
	return memory + " " + cpu
}

// keyOfGroup returns the key of a /proc/PID/cgroup.
func keyOfGroup(text string) string {
	at := podid.Parse(text)
	if at.PodUID == "" && at.ContainerID == "" {
		return "~" + ownGroup(text)
	}
	return keyOfPlace(at)
}

// podOf returns the pod, container or cgroup of a /proc/PID/cgroup.
func podOf(group string) string {
	at := podid.Parse(group)
	return cmp.Or(at.PodUID, at.ContainerID, "~"+ownGroup(group))
}

// text returns nil for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return new(finding.UTF8(s))
}
