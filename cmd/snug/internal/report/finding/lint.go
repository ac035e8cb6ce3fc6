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
	// "Deployment shop/cart", "service cart" (compose), "unit cart.service"; null in Dockerfiles and env files
	Object    *string `json:"object"`
	Container *string `json:"container"`      // null = the whole object
	Role      *string `json:"container_role"` // main, init, sidecar or ephemeral
	Template  *string `json:"template"`       // source template named in Helm's output; null = not named
}

// Worst returns the highest severity among the findings that are not fixed; "" without any.
func (l *Lint) Worst() Severity {
	return worst(l.Findings, func(m *LintMistake) Severity { return m.left() })
}

// Vet holds the findings in source and in the files beside it.
type Vet struct {
	Head
	Patterns []string  `json:"patterns"` // package patterns, as for the go command
	Findings []Mistake `json:"findings"` // an old go line first, then by file and line
	// Unknown lists files of settings that were not read, or only in part.
	Unknown []Gap  `json:"unknown"`
	Next    string `json:"next"`
}

// Mistake is a finding at a line. Its target is "file:line", its title that of the id,
// and its only evidence is the text at that line.
type Mistake struct {
	Finding
	Message string `json:"message"` // what is wrong here, one sentence
	File    string `json:"file"`    // relative if below the current directory
	Line    int    `json:"line"`    // from 1
	Column  *int   `json:"column"`  // from 1, in bytes; null = the whole line
	Fixable bool   `json:"fixable"` // --fix can apply it
	Fixed   bool   `json:"fixed"`   // --fix has applied it
}

// Worst returns the highest severity among the findings that are not fixed; "" without any.
func (v *Vet) Worst() Severity { return worst(v.Findings, (*Mistake).left) }

// left returns the severity; "" = it is fixed.
func (m *Mistake) left() Severity {
	if m.Fixed {
		return ""
	}
	return m.Severity
}

// Policy is a set of admission policies.
type Policy struct {
	Head
	YAML    string `json:"yaml"` // the documents
	Objects []any  `json:"objects"`
}

// Given lists what admission would add to pods.
type Given struct {
	Head
	Inputs     []string         `json:"inputs"`     // your arguments
	Inject     string           `json:"inject"`     // "labelled", or "all": pods without a label are opted in
	Mode       string           `json:"mode"`       // "enforce", or "observe": only annotate pods
	Containers []GivenContainer `json:"containers"` // in the order of the files
	Unknown    []Gap            `json:"unknown"`    // also entries with the field opted_in
	Next       string           `json:"next"`       // "" = none
}

// GapOptedIn is the Gap.Field for namespaces in which it is unknown whether pods are opted in.
const GapOptedIn = "opted_in"

// GivenContainer is one container and what would be added to it.
type GivenContainer struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Object    string `json:"object"` // "Deployment shop/cart"
	Container string `json:"container"`
	Role      string `json:"container_role"` // main, init or sidecar
	OptedIn   *bool  `json:"opted_in"`       // null = depends on the namespace's labels, which are unknown
	// to add, or to put in the place of those of the same name; if opted_in is null: provided the labels opt it in or,
	// with inject "all", do not opt it out
	Env       []GivenEnv `json:"env"`
	RestartOn []string   `json:"restart_on"` // resources whose resize would then restart the container
	Reasons   []GivenWhy `json:"reasons"`
}

// GivenEnv is a variable to set.
type GivenEnv struct {
	Name     string  `json:"name"`
	Value    *string `json:"value"`    // null = a reference
	Resource *string `json:"resource"` // the resource it refers to, with divisor 1; null = a plain value
}

// GivenWhy says why a variable gets its value, or is left unchanged.
type GivenWhy struct {
	Knob   string `json:"knob"`
	Reason string `json:"reason"` // id for `snug explain`
	Text   string `json:"text"`
}
