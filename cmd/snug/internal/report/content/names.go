// SPDX-License-Identifier: Apache-2.0

package content

import (
	"path"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// ProgramName returns the name of what was measured: the file name of a program, the
// URL of a service, or else the workload.
func ProgramName(s *finding.Setup, workload string) string {
	switch {
	case workload == "command" && len(s.Command) > 1 && path.Base(s.Command[0]) == "go" && s.Command[1] == "test":
		return "go test"
	case workload == "command" && len(s.Command) > 0 && s.Command[0] != "":
		return path.Base(s.Command[0])
	case workload == "url" && s.URL != "":
		return "the service at " + s.URL
	}
	return workload
}

// Named returns copies of the cells with the workload replaced by ProgramName. The
// document is not changed.
func Named(s *finding.Setup, cells []finding.Cell) []finding.Cell {
	out := slices.Clone(cells)
	for i := range out {
		out[i].Workload = ProgramName(s, out[i].Workload)
	}
	return out
}

func NamedBench(d *finding.Bench) *finding.Bench {
	out := *d
	out.Cells = Named(&d.Setup, d.Cells)
	return &out
}

func NamedTune(d *finding.Tune) *finding.Tune {
	out := *d
	out.Cells = Named(&d.Setup, d.Cells)
	if d.Confirm != nil {
		c := *d.Confirm
		c.Winner.Workload = ProgramName(&d.Setup, c.Winner.Workload)
		c.Default.Workload = ProgramName(&d.Setup, c.Default.Workload)
		c.Without = Named(&d.Setup, c.Without)
		out.Confirm = &c
	}
	return &out
}

// WithConfirmation returns all cells of a search, including its confirmation.
func WithConfirmation(d *finding.Tune) []finding.Cell {
	if d.Confirm == nil {
		return d.Cells
	}
	return append(d.Cells[:len(d.Cells):len(d.Cells)], Confirmed(d.Confirm)...)
}

// Confirmed returns the cells that the comparisons of a confirmation index.
func Confirmed(c *finding.Confirm) []finding.Cell {
	return append([]finding.Cell{c.Winner, c.Default}, c.Without...)
}
