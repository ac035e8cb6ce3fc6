// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// SizeBroke says what was reached in a container that did not keep its bound on a metric, "" = it did.
func SizeBroke(t *finding.SizeTrial, bounded string) string {
	if t.Broken == nil {
		return ""
	}
	switch t.Broken.Code {
	case finding.BrokeBound:
		m := metric.MetricOf(bounded)
		if m == nil || t.Worst == nil {
			return message.Clean(t.Broken.Bound) + " was not measured"
		}
		return m.Words + " " + m.Print([]*float64{t.Worst})[0]
	case finding.BrokeErrors:
		for i := range t.Runs {
			if r := &t.Runs[i]; r.Errors > 0 {
				return strconv.FormatInt(r.Errors, 10) + " of " + units.Plural(int(r.Ops+r.Errors), "request") + " failed: " + message.Clean(r.Error)
			}
		}
	case finding.BrokeLoad:
		for i := range t.Runs {
			if r := &t.Runs[i]; r.RPS != nil && r.Invalid == "" {
				return "served " + units.Rate(*r.RPS) + "/s"
			}
		}
	case finding.BrokeNothing:
		for i := range t.Runs {
			if r := &t.Runs[i]; r.Error != "" {
				return message.Clean(r.Error)
			}
		}
	}
	return brokenText(t.Broken)
}
