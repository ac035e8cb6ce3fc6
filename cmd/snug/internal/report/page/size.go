// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// sizeView returns the page of the container that a program needs: by what was seen of it, or by an
// experiment.
func sizeView(d *finding.Size) *view {
	verdict, price := content.SizeVerdict(d), "Price: "+content.SizePrice(&d.Price)+"."
	v := &view{shell: shell{Kind: "size", Title: "snug size: " + verdict, Verdict: verdict, Next: d.Next},
		File: "snug-size.json.gz"}
	if d.Go != nil {
		v.Facts = append(v.Facts, message.Clean(*d.Go))
	}
	if patch, why := content.SizePatch(d); why == nil {
		v.Environ = []content.Form{{Name: "Kubernetes, in a container", Text: patch}}
	}
	if d.Search == nil || d.Search.Shown {
		values := content.SizeValues(d)
		v.Parts = append(v.Parts, Part{Title: "What it needs", Tables: []table{worded("The answer, each value with its "+
			"reason; has is as it is now", values[0], values[1:])}})
	}
	if d.Search != nil {
		tried := content.SizeTried(d)
		v.Parts = append(v.Parts, Part{Title: "What was tried", Intro: price,
			Tables: []table{worded("Runs that kept the objective, in the search and in the confirmation", tried[0], tried[1:])}})
		v.How = []fact{{"Runs", Sentence(content.SizeRuns(d.Search))}}
	} else {
		v.seen(d, price)
	}
	for _, line := range content.SizeUnseen(d.Unseen, d.Search) {
		v.Notes = append(v.Notes, Sentence(line)+".")
	}
	v.faults(nil, d.Unknown)
	return v
}

// seen adds what a watch saw.
func (v *view) seen(d *finding.Size, price string) {
	v.Lead = Sentence(content.Reason(&d.Memory.Why))
	v.Facts = append(v.Facts, "watched for "+content.Whole(d.Seconds), units.Plural(d.Collections, "collection"))
	memory := Part{Title: "Memory"}
	if memory.draw(chart.SizeCurve(d)); memory.Figures == nil {
		memory.Intro = "No curve: what collections would cost in other memory limits was not seen."
	}
	v.Parts = append(v.Parts, memory)
	if len(d.Curve) > 0 {
		v.Parts = append(v.Parts, Part{Title: "Memory limits around the answer", Intro: price,
			Tables: []table{worded("Collections and their CPU are what the model expects",
				[]string{"memory limit", "GOMEMLIMIT", "heap goal", "collections/s", "GC CPU", "price", ""},
				content.SizeCurve(d, math.MaxInt32))}})
	}
	for _, line := range content.SizeSeen(d) {
		v.How = append(v.How, fact{"Watched", Sentence(line)})
	}
	v.How = append(v.How, fact{"Least", "What was seen fits in no less. It is not advice: collections may take a " +
		"quarter of the CPU limit there."})
}

// worded returns a table whose last column has words.
func worded(caption string, head []string, rows [][]string) table {
	t := tableOf(caption, gridOf(head, rows))
	for _, row := range append(t.Rows, t.Head) {
		if n := len(row); n > 0 {
			row[n-1].Class = "text why"
		}
	}
	return t
}
