// SPDX-License-Identifier: Apache-2.0

package finding

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
func (v *Vet) Worst() Severity {
	var worst Severity
	for _, m := range v.Findings {
		if !m.Fixed && m.Severity.Level() > worst.Level() {
			worst = m.Severity
		}
	}
	return worst
}
