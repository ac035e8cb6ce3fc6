// SPDX-License-Identifier: Apache-2.0

package finding

// Vet is what was found in source and in the files beside it.
type Vet struct {
	Head
	Patterns []string  `json:"patterns"` // of packages that were looked at, as the go command takes them
	Findings []Mistake `json:"findings"` // by file and line
	// Unknown are the files of settings that were not read, or not to their end.
	Unknown []Gap  `json:"unknown"`
	Next    string `json:"next"`
}

// Mistake is a finding at a place. Its target is "file:line", its title what the id
// stands for; it has no evidence but the text at that place.
type Mistake struct {
	Finding
	Message string `json:"message"` // what is wrong here, one sentence
	File    string `json:"file"`    // below the current directory when it is there, else whole
	Line    int    `json:"line"`    // from 1
	Column  *int   `json:"column"`  // from 1, in bytes; null = the whole line
	Fixable bool   `json:"fixable"` // --fix can apply the fix
	Fixed   bool   `json:"fixed"`   // and has
}

// Worst is the severity of the worst finding that is not fixed; "" when there is none.
func (v *Vet) Worst() Severity {
	var worst Severity
	for _, m := range v.Findings {
		if !m.Fixed && m.Severity.Level() > worst.Level() {
			worst = m.Severity
		}
	}
	return worst
}
