// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// check returns an error if the current setting is worse than another, with the lines to paste, or
// if nothing was compared. It adds the better setting to the document.
func (b *Bench) check(d *experiment.Design, doc *finding.Bench) error {
	worse, v := experiment.Worse(d, doc.Cells, b.objective, doc.Machine.CPUs)
	if !worse {
		return checkable(doc)
	}
	all := content.ToPaste(&v, doc.Cells, b.Cmd)
	if len(all) == 1 {
		doc.Environment = all[0].Environment
	}
	return found(content.WorseThan(&v, doc.Cells), all)
}

// found returns the failure of a check.
func found(what string, paste []content.Pasted) error {
	var lines []string
	for _, p := range paste {
		line := strings.ReplaceAll(strings.TrimSpace(p.Shell), "\n", "; ")
		if len(paste) > 1 && p.Where != "" {
			line = p.Where + ": " + line
		}
		lines = append(lines, line)
	}
	return &message.Failure{Code: message.ExitFinding, What: what, Hint: "paste: " + strings.Join(lines, ", and ")}
}

// checkable returns an error if --check has nothing to compare: missing figures must not
// pass.
func checkable(d *finding.Bench) error {
	label := experiment.LabelDefault
	if slices.ContainsFunc(d.Cells,
		func(c finding.Cell) bool { return slices.Contains(c.Labels, experiment.LabelCurrent) }) {
		label = experiment.LabelCurrent
	}
	lives, killed := false, false
	for _, c := range d.Cells {
		out := c.OOMKills != nil && *c.OOMKills > 0
		killed = killed || out && slices.Contains(c.Labels, label)
		lives = lives || !out
	}
	if killed && !lives {
		return message.Failed("--check: nothing to check: every setting runs out of memory", "give it more: --memory SIZE")
	}
	if killed {
		return &message.Failure{Code: message.ExitFinding,
			What: "--check: the setting checked runs out of memory, and no other is shown to be spared",
			Hint: "give it more memory, or more --rounds"}
	}
	metric, one := experiment.MetricOf(d.Objective)
	if !slices.ContainsFunc(d.Comparisons, func(c finding.Comparison) bool { return c.Metric == metric || !one }) {
		return message.Failed("--check: nothing to check: no settings were compared in "+d.Objective,
			"see the runs of --json for what is missing, or name other settings or another --objective")
	}
	return nil
}
