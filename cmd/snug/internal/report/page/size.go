// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// sizeView returns the page of the container that a program needs.
func sizeView(d *finding.Size) *view {
	if d.Search != nil {
		return sizeSearchView(d)
	}
	verdict := content.SizeVerdict(d)
	v := &view{shell: shell{Kind: "size", Title: "snug size: " + verdict, Verdict: verdict, Lead: Sentence(content.Reason(&d.Memory.Why)), Next: d.Next}, File: "snug-size.json.gz"}
	v.Facts = []string{"watched for " + content.Whole(d.Seconds), units.Plural(d.Collections, "collection")}
	if d.Go != nil {
		v.Facts = append(v.Facts, message.Clean(*d.Go))
	}
	if patch, why := content.SizePatch(d); why == nil {
		v.Environ = []content.Form{{Name: "Kubernetes, in a container", Text: patch}}
	}
	needs := tableOf("The advice, each with its reason; has is as it is now", gridOf(content.SizeValuesHead, content.SizeValues(d)))
	last(&needs, "text why")
	v.Parts = []Part{{Title: "What it needs", Tables: []table{needs}}}
	memory := Part{Title: "Memory", Intro: "No curve: what collections would cost in other memory limits was not seen."}
	if f := chart.SizeCurve(d); f != nil {
		memory.Intro, memory.Figures = "", []figureView{{Figure: f}}
	}
	v.Parts = append(v.Parts, memory)
	if f := chart.SizeCPU(d); f != nil {
		v.Parts = append(v.Parts, Part{Title: "CPU", Figures: []figureView{{Figure: f}}})
	} else {
		v.Parts = append(v.Parts, Part{Title: "CPU", Intro: "The CPU used was not seen."})
	}
	if len(d.Curve) > 0 {
		curve := tableOf("Collections and their CPU are what the model expects", gridOf([]string{"memory limit", "GOMEMLIMIT", "heap goal", "collections/s", "GC CPU", "price", ""}, content.SizeCurve(d, math.MaxInt32)))
		last(&curve, "text")
		v.Parts = append(v.Parts, Part{Title: "Memory limits around the answer", Intro: "Price: " + content.SizePrice(d) + ".", Tables: []table{curve}})
	}
	for i := range d.Unseen {
		v.Notes = append(v.Notes, "Not seen: "+content.Reason(&d.Unseen[i])+".")
	}
	v.faults(nil, d.Unknown)
	for _, line := range content.SizeSeen(d) {
		name, text := "Memory", line
		switch {
		case strings.HasPrefix(line, "seen in "):
			name = "Watched"
		case strings.HasPrefix(line, "CPU: "):
			name, text = "CPU", line[len("CPU: "):]
		case d.Model.Known() && strings.HasSuffix(line, "collections"):
			name = "Model"
		}
		v.How = append(v.How, fact{name, Sentence(text)})
	}
	v.How = append(v.How, fact{"Least", "What was seen fits in no less. It is not advice: collections may take a quarter of the CPU limit there."})
	return v
}

// sizeSearchView returns the page of the container that an experiment found.
func sizeSearchView(d *finding.Size) *view {
	verdict := content.SizeVerdict(d)
	v := &view{shell: shell{Kind: "size", Title: "snug size: " + verdict, Verdict: verdict, Next: d.Next}, File: "snug-size.json.gz"}
	if d.Go != nil {
		v.Facts = append(v.Facts, message.Clean(*d.Go))
	}
	if patch, why := content.SizePatch(d); why == nil {
		v.Environ = []content.Form{{Name: "Kubernetes, in a container", Text: patch}}
	}
	if d.Search.Shown {
		var rows [][]string
		for _, r := range content.SizeValues(d) {
			rows = append(rows, []string{r[0], r[1], r[4]})
		}
		needs := tableOf("The answer, each value with its reason", gridOf([]string{"", "needs", "why"}, rows))
		last(&needs, "text why")
		v.Parts = []Part{{Title: "What it needs", Tables: []table{needs}}}
	}
	tried := tableOf("Runs that kept the objective, in the search and in the confirmation", gridOf(content.SizeTried(d)))
	last(&tried, "text")
	v.Parts = append(v.Parts, Part{Title: "What was tried", Intro: "Price: " + content.SizePrice(d) + ".", Tables: []table{tried}})
	for i := range d.Unseen {
		v.Notes = append(v.Notes, "Not shown: "+content.Reason(&d.Unseen[i])+".")
	}
	v.faults(nil, d.Unknown)
	v.How = []fact{{"Runs", Sentence(content.SizeRuns(d.Search))}}
	return v
}

// last gives the cells of the last column a class.
func last(t *table, class string) {
	for _, row := range append(t.Rows, t.Head) {
		if n := len(row); n > 0 {
			row[n-1].Class = class
		}
	}
}
