// SPDX-License-Identifier: Apache-2.0

package cgroup

// A Stall is one line of a pressure file.
type Stall struct {
	Avg10    float64 // share of the last 10 s, 0 to 1
	Total    int64   // microseconds since the group was created
	HasAvg10 bool
	HasTotal bool
}

// Pressure parses a PSI file (kernel doc: accounting/psi.rst):
//
//	some avg10=0.12 avg60=0.00 avg300=0.00 total=1234
//	full avg10=0.00 avg60=0.00 avg300=0.00 total=567
//
// Averages are percentages, totals microseconds.
func Pressure(b []byte) (some, full Stall) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = Cut(b, '\n')
		kind, rest, _ := Cut(line, ' ')
		to := &some
		switch string(kind) {
		case "some":
		case "full":
			to = &full
		default:
			continue
		}
		for len(rest) > 0 {
			var word []byte
			word, rest, _ = Cut(rest, ' ')
			key, text, _ := Cut(word, '=')
			switch string(key) {
			case "avg10":
				to.Avg10, to.HasAvg10 = percent(text)
			case "total":
				to.Total, to.HasTotal = Count(text)
			}
		}
	}
	return some, full
}

// percent parses "12.34" as 0.1234.
func percent(b []byte) (float64, bool) {
	whole, frac, _ := Cut(b, '.')
	n, ok := Count(whole)
	if !ok {
		return 0, false
	}
	v, scale := float64(n), 1.0
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, false
		}
		scale /= 10
		v += float64(c-'0') * scale
	}
	return v / 100, true
}
