// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"

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
		if d.Containers[i].Worst().Level() >= finding.SeverityWarning.Level() {
			wrong++
		}
		if d.Containers[i].Unit == nil {
			containers++
		}
	}
	where := Processes(d.Scan.Go, "Go process") + " in " + containersOf(containers, len(d.Containers)-containers)
	denied, many := d.Denied()
	switch {
	case d.Scan.Go == 0 && many:
		return strconv.Itoa(d.Scan.Processes-denied.Count) + " of " + Processes(d.Scan.Processes, "process") +
			" could be inspected, no Go process among them; " + strconv.Itoa(denied.Count) + " denied", 0
	case d.Scan.Go == 0:
		text = "no Go process among " + Processes(d.Scan.Processes, "process")
	case wrong == 0:
		text = where + ", no warning at a glance"
	default:
		text = where + ", " + strconv.Itoa(wrong) + " with a warning or worse"
	}
	if many {
		text += "; " + strconv.Itoa(denied.Count) + " of " + Processes(d.Scan.Processes, "process") + " denied"
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

// Unsupported says that a process has a Go runtime that is not read, and in which container.
func Unsupported(u *finding.UnsupportedHere) string {
	text := message.Clean(u.String())
	if u.PodUID == nil && u.ID == nil {
		return text
	}
	return text + ", in " + message.Clean(ContainerName(&finding.Container{ContainerNames: u.ContainerNames,
		PodUID: u.PodUID, ID: u.ID}))
}

// Skipped says how many processes were left out, and why.
func Skipped(s *finding.Left) string {
	text := "skipped: " + Processes(s.Count, "process") + ", " + message.Clean(s.Reason)
	if s.Hint != "" {
		text += " (" + metric.Readable(s.Hint) + ")"
	}
	return text
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
