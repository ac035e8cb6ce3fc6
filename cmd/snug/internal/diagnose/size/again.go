// SPDX-License-Identifier: Apache-2.0

package size

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// Again decides once more from the facts of a saved answer, with another price. It returns nil for a document without
// them, of a version before Watched.
func Again(d *finding.Size, price Price) *finding.Size {
	w := d.Watched
	if w == nil {
		return nil
	}
	s := &Seen{SizeSeen: d.Seen, Seconds: d.Seconds, Collections: d.Collections,
		Age: w.Age, Mates: w.Mates, CPUs: w.CPUs, Minor: w.Minor, Aware: w.Aware}
	again := Decide(s, price)
	again.Target, again.Go, again.Unknown, again.Next = d.Target, d.Go, d.Unknown, d.Next
	return again
}

// Gaps returns the unknown figures of what was seen, as the document lists them.
func Gaps(s *finding.SizeSeen) []finding.Gap {
	return finding.Gaps(&struct {
		Seen *finding.SizeSeen `json:"seen"`
	}{s}, "")
}
