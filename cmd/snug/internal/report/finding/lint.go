// SPDX-License-Identifier: Apache-2.0

package finding

// Lint holds the findings in manifests, compose files and systemd units.
type Lint struct {
	Head
	Inputs   []string      `json:"inputs"`   // your arguments: files, directories, "-"
	Files    int           `json:"files"`    // files read
	Objects  int           `json:"objects"`  // Kubernetes objects in them
	Pods     int           `json:"pods"`     // pods and pod templates among those objects
	Services int           `json:"services"` // of compose files and systemd
	Foreign  int           `json:"foreign"`  // files with nothing that snug recognises
	Findings []LintMistake `json:"findings"` // an old go line first, then by file and line
	Ignored  int           `json:"ignored"`  // findings that an annotation or a comment silences
	Unknown  []Gap         `json:"unknown"`  // what could not be read
	Next     string        `json:"next"`
}

// Check holds the findings in all files of a tree: those of json:lint, and those in Go source.
type Check struct {
	Lint
	Packages int `json:"packages"` // Go packages that were analyzed
}

// Values of Gap.Field: input that could not be read; and lines that set a variable of the Go runtime in a form that was
// not judged, template sources, and Go files without a module, which are no error.
const (
	GapFindings  = "findings"
	GapKnobs     = "knobs"
	GapTemplates = "templates"
	GapSource    = "source"
)

// LintMistake is a finding in a manifest, a compose file or a systemd unit.
type LintMistake struct {
	Mistake
	Object    *string `json:"object"`         // "Deployment shop/cart", "service cart" (compose), "unit cart.service"; null in Dockerfiles and env files
	Container *string `json:"container"`      // null = the whole object
	Role      *string `json:"container_role"` // main, init, sidecar or ephemeral
	Template  *string `json:"template"`       // source template named in Helm's output; null = not named
}

// Worst returns the highest severity among the findings that are not fixed; "" without any.
func (l *Lint) Worst() Severity {
	var worst Severity
	for i := range l.Findings {
		if m := &l.Findings[i]; !m.Fixed && m.Severity.Level() > worst.Level() {
			worst = m.Severity
		}
	}
	return worst
}
