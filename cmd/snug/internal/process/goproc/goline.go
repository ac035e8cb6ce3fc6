// SPDX-License-Identifier: Apache-2.0

package goproc

// markers lists settings that an older go line resets to their value before a release: two for
// each release since 1.21, the first in which go lines set GODEBUG defaults. Source:
// internal/godebugs/table.go of Go 1.21 to 1.27.
var markers = [...]struct {
	minor        int
	setting, old string
}{
	{21, "panicnil", "1"},
	{22, "httplaxcontentlength", "1"}, {22, "httpmuxgo121", "1"},
	{23, "winsymlink", "0"}, {23, "x509negativeserial", "1"},
	{24, "randseednop", "0"}, {24, "rsa1024min", "0"},
	{25, "tlssha1", "1"}, {25, "x509sha256skid", "0"},
	{26, "cryptocustomrand", "1"}, {26, "urlstrictcolons", "0"},
	{27, "tracebacklabels", "0"},
}

// GoLine returns the minor version of the main module's go line, derived from the GODEBUG
// defaults built into the program: 24 for 1.24. Below 1.21 it is 20. For a line newer than the
// last release known here, or as new as the toolchain, it is the older of these two. It reports
// false if the file has no such defaults.
func (e *Exe) GoLine() (minor int, ok bool) {
	if e.Minor < 21 || e.GODEBUG == nil && e.Main == "" {
		return 0, false
	}
	for _, m := range markers {
		if e.GODEBUG[m.setting] == m.old {
			return m.minor - 1, true
		}
	}
	return min(e.Minor, markers[len(markers)-1].minor), true
}
