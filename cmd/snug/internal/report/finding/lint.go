// SPDX-License-Identifier: Apache-2.0

package finding

// Lint is what was found in manifests, and in compose files and units beside
// them.
type Lint struct {
	Head
	Inputs   []string      `json:"inputs"`   // as they were named: files, directories, "-"
	Files    int           `json:"files"`    // that were read
	Objects  int           `json:"objects"`  // of Kubernetes in them
	Pods     int           `json:"pods"`     // and templates of pods among those
	Services int           `json:"services"` // of compose files and systemd
	Foreign  int           `json:"foreign"`  // files in which there is nothing that snug knows
	Findings []LintMistake `json:"findings"` // by file and line
	Ignored  int           `json:"ignored"`  // findings that an annotation or a comment silences
	Unknown  []Gap         `json:"unknown"`  // what could not be read
	Next     string        `json:"next"`
}

// The fields of gaps: what could not be read, and sources of templates, that are
// not looked at and no failure.
const (
	GapFindings  = "findings"
	GapTemplates = "templates"
)

// LintMistake is a mistake in a manifest, a compose file or a unit.
type LintMistake struct {
	Mistake
	Object    *string `json:"object"`         // "Deployment shop/cart", "service cart" of a compose file, "unit cart.service"; null in Dockerfiles and files of variables
	Container *string `json:"container"`      // null = the object as a whole
	Role      *string `json:"container_role"` // main, init, sidecar or ephemeral
	Template  *string `json:"template"`       // from which helm says to have made the object; null = it does not say
}

// Worst is the severity of the worst finding that is not fixed; "" when there is
// none.
func (l *Lint) Worst() Severity {
	var worst Severity
	for i := range l.Findings {
		if m := &l.Findings[i]; !m.Fixed && m.Severity.Level() > worst.Level() {
			worst = m.Severity
		}
	}
	return worst
}
