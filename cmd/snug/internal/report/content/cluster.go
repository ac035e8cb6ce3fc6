// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// NodeVerdict returns the verdict on a node in one sentence, and the number of containers
// with a warning or worse.
func NodeVerdict(d *finding.Node) (text string, wrong int) {
	containers := 0
	for i := range d.Containers {
		if d.Containers[i].Unit == nil {
			containers++
		}
	}
	wrong = finding.Warned(d.Containers, (*finding.Container).Worst)
	where := units.Plural(d.Scan.Go, "Go process") + " in " + containersOf(containers, len(d.Containers)-containers)
	denied, many := d.Denied()
	switch {
	case d.Scan.Go == 0 && many:
		return strconv.Itoa(d.Scan.Processes-denied.Count) + " of " + units.Plural(d.Scan.Processes, "process") +
			" could be inspected, no Go process among them; " + strconv.Itoa(denied.Count) + " denied", 0
	case d.Scan.Go == 0:
		text = "no Go process among " + units.Plural(d.Scan.Processes, "process")
	case wrong == 0:
		text = where + ", no warning at a glance"
	default:
		text = where + ", " + strconv.Itoa(wrong) + " with a warning or worse"
	}
	if many {
		text += "; " + strconv.Itoa(denied.Count) + " of " + units.Plural(d.Scan.Processes, "process") + " denied"
	}
	return text, wrong
}

// ContainerName returns a name for people: the container's names if they are known, else
// prefixes of its pod's UID and its id; for a cgroup of the node, its own name.
func ContainerName(c *finding.Container) string {
	switch {
	case c.Namespace != nil && c.Pod != nil && c.Name != nil:
		return *c.Namespace + "/" + *c.Pod + "/" + *c.Name
	case c.Namespace != nil && c.Pod != nil:
		return *c.Namespace + "/" + *c.Pod + "/" + begin(c.ID)
	case c.Unit != nil:
		return *c.Unit
	case c.PodUID != nil:
		return "pod " + begin(c.PodUID) + "/" + begin(c.ID)
	}
	return begin(c.ID)
}

// NotSeen says which processes are not read and which were left out, and why, a line each.
func NotSeen(d *finding.Node) (lines []string) {
	for i := range d.Unsupported {
		u := &d.Unsupported[i]
		text := u.String()
		if u.PodUID != nil || u.ID != nil {
			text += ", in " + ContainerName(&finding.Container{ContainerNames: u.ContainerNames, PodUID: u.PodUID, ID: u.ID})
		}
		lines = append(lines, message.Clean(text))
	}
	for _, s := range d.Skipped {
		text := "skipped: " + units.Plural(s.Count, "process") + ", " + message.Clean(s.Reason)
		text += units.If(s.Hint != "", " ("+metric.Readable(s.Hint)+")")
		lines = append(lines, text)
	}
	return lines
}

// begin returns the first 12 characters of an id, as container runtimes show it.
func begin(id *string) string {
	if id == nil {
		return "?"
	}
	return (*id)[:min(12, len(*id))]
}

// containersOf formats a number of containers and of other cgroups.
func containersOf(containers, groups int) string {
	switch {
	case containers == 0 && groups > 0:
		return units.Plural(groups, "group") + " outside of containers"
	case groups > 0:
		return units.Plural(containers, "container") + " and " + units.Plural(groups, "other group")
	}
	return units.Plural(containers, "container")
}

// WorkloadName returns the name of a workload's containers: "shop/Deployment/web/app".
func WorkloadName(parts ...*string) string {
	known := slices.DeleteFunc(slices.Clone(parts), func(s *string) bool { return s == nil })
	return cmp.Or(strings.Join(units.Texts(known, func(s *string) string { return *s }), "/"), "?")
}

// Span prints the figures of several containers: "2", "2 to 64", "-" if all are none.
func Span[T any](s finding.Span[T], print func(T) string) string {
	text := Figure(s.Least, print)
	if s.Most.Known() {
		if last := print(s.Most.N); last != text {
			text += " to " + last
		}
		text += units.If(s.None > 0, " or "+units.None)
	}
	return text
}

// FleetSizeHead is the head of the rows of FleetSizeRow.
var FleetSizeHead = []string{"WORKLOAD", "PODS", "SEEN", "MEMORY", "NEEDS", "CPU REQUEST", "NEEDS", "SAVES", ""}

// FleetSizeRow returns a workload with what it has, needs and saves.
func FleetSizeRow(w *finding.SizedWorkload) []string {
	notes := units.Texts(w.Risks, func(r finding.Why) string { return Reason(&r) })
	notes = append(notes, units.If(w.Days < 1, "seen for less than a day"),
		units.If(!w.Modeled && w.Memory.Value != nil, "all memory in use counts, garbage too"))
	return []string{
		WorkloadName(w.Namespace, w.Name, w.Container), strconv.Itoa(w.Containers), units.Days(w.Days),
		Span(w.HasMemory, inBytes), number(w.Memory.Value, inBytes), Span(w.HasRequest, units.Number),
		number(w.CPURequest.Value, units.Number),
		number(w.Saves, Money), units.Join("; ", notes...),
	}
}

// Money formats an amount in the unit of a price.
func Money(n float64) string { return units.Figures(n, 3) }

// FleetSizeValues returns the decided values of a workload as rows below their head.
func FleetSizeValues(w *finding.SizedWorkload) [][]string {
	return SizeValues(&finding.Size{Memory: w.Memory, GOMEMLIMIT: w.GOMEMLIMIT, CPURequest: w.CPURequest,
		CPULimit: w.CPULimit, Seen: w.Seen})[:5] // without GOMAXPROCS
}

// FleetSizeSeen returns what was seen of a workload, a line for each kind of figure.
func FleetSizeSeen(w *finding.SizedWorkload) []string {
	s := &w.Seen
	return []string{
		"seen: live heap " + Figure(s.Live, inBytes) + ", at most " + Figure(s.LiveMost, inBytes) + "; " +
			Figure(s.Allocated, inBytes) + " allocated a second; GC " + Figure(s.GCCores, TwoFigures) +
			" CPUs; memory in use at most " + Figure(s.Used, inBytes) + ", of it " + Figure(s.Other, inBytes) + " not Go's",
		"CPU: mean " + Figure(s.CPUMean, TwoFigures) + ", 95 % of the time at most " + Figure(s.CPUHigh, TwoFigures) +
			"; throttled " + Figure(s.Throttled, units.Share),
	}
}
