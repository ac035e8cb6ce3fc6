// SPDX-License-Identifier: Apache-2.0

// Package text writes documents as text for a terminal.
package text

import (
	"fmt"
	"io"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Write writes a document for people: the verdict, a small table, the reasons and
// one next command.
func Write(w io.Writer, d finding.Document) error {
	var p Page
	switch d := d.(type) {
	case *finding.Limits:
		p.limits(d)
	case *finding.Plan:
		p.plan(d)
	case *finding.Error:
		p.line("%s: error: %s", d.Command, d.Error)
		if d.Hint != "" {
			p.line("hint: %s", d.Hint)
		}
	case *finding.Verdict:
		p.verdict(d)
	case *finding.Explanation:
		p.explanation(d)
	case *finding.Index:
		p.index(d)
	case *finding.Build:
		p.build(d)
	case *finding.Bench:
		p.bench(d)
	case *finding.Tune:
		p.tune(d)
	case *finding.PS:
		p.ps(d)
	case *finding.Node:
		p.node(d)
	case *finding.Fleet:
		p.fleet(d)
	case *finding.FleetDoctor:
		p.fleetDoctor(d)
	case *finding.FleetSize:
		p.fleetSize(d)
	case *finding.Size:
		p.size(d)
	case *finding.Doctor:
		p.doctor(d)
	case *finding.Profile:
		p.profile(d)
	case *finding.Heap:
		p.heap(d)
	case *finding.Goroutines:
		p.goroutines(d)
	case *finding.ProfileDiff:
		p.profileDiff(d)
	case *finding.DoctorDiff:
		p.doctorDiff(d)
	case *finding.Vet:
		p.vet(d)
	case *finding.Trace:
		p.trace(d)
	case *finding.Lint:
		p.mistakes(d, "lint", "")
	case *finding.Check:
		p.mistakes(&d.Lint, "check", units.Plural(d.Packages, "Go package")+", ")
	case *finding.Policy:
		p.WriteString(d.YAML)
	case *finding.Given:
		p.given(d)
	default:
		return fmt.Errorf("no text for a document of kind %s", finding.KindOf(d))
	}
	_, err := io.WriteString(w, message.CleanLines(p.String()))
	return err
}
