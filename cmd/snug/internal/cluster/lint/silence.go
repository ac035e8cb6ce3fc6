// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// IgnoreAnnotation silences findings in a pod, or in a whole object: "ID reason", several
// separated by semicolons or line feeds. Without a reason it silences nothing.
const IgnoreAnnotation = podpatch.Prefix + "ignore"

// maxLines bounds how far above a finding its comment may be.
const maxLines = 50

// silenced reports whether an annotation or a comment silences a finding. The comment is on
// the line of the finding, on lines of its own above it, or above the variable:
//
//	# snug:ignore ID reason
func (in *input) silenced(f *Found) bool {
	if f.ID == "ignore-without-reason" {
		return false
	}
	for _, o := range in.annotated(f) {
		if o.reason && o.id == f.ID {
			return true
		}
	}
	file := f.Object.File()
	comments := in.comments(file)
	if len(comments) == 0 {
		return false
	}
	lines := []int{f.At.Line}
	if item := in.item(f); item > 0 && item != f.At.Line {
		lines = append(lines, item)
	}
	for _, line := range lines {
		if comments[line].silences(f.ID) {
			return true
		}
		for n := line - 1; n > line-maxLines; n-- {
			c := comments[n]
			if c.alone && c.silences(f.ID) {
				return true
			}
			// In a unit, the comment is above the first line of an assignment.
			if !c.alone && (f.Object.Form != manifest.Unit || !strings.HasSuffix(strings.TrimSpace(file.Line(n)), `\`)) {
				break
			}
		}
	}
	return false
}

// silence caches annotations and comments, because a long line may have many findings.
type silence struct {
	annotated map[any][]order                    // by pod, or object
	comments  map[*manifest.File]map[int]comment // by line
	items     map[*manifest.Container]map[manifest.Pos]int
}

type comment struct {
	order
	at    manifest.Pos
	is    bool // for snug
	alone bool // on its line
}

func (c comment) silences(id string) bool { return c.is && c.reason && c.id == id }

type order struct {
	id     string
	reason bool
}

// annotated returns the orders of annotations that apply to a finding.
func (in *input) annotated(f *Found) []order {
	var of any = f.Object
	if f.pod != nil {
		of = f.pod
	}
	all, ok := in.silence.annotated[of]
	if ok {
		return all
	}
	fields := f.Object.Annotations(IgnoreAnnotation)
	if f.pod != nil {
		fields = f.pod.Annotations(IgnoreAnnotation)
	}
	for _, field := range fields {
		all = append(all, orders(field.Text)...)
	}
	if in.silence.annotated == nil {
		in.silence.annotated = map[any][]order{}
	}
	in.silence.annotated[of] = all
	return all
}

// comments returns the comments of a file, by line; nil = none is for snug.
func (in *input) comments(f *manifest.File) map[int]comment {
	all, ok := in.silence.comments[f]
	if ok {
		return all
	}
	if bytes.Contains(f.Text, []byte("snug:ignore")) {
		all = map[int]comment{}
		for _, c := range f.Comments() {
			parsed := comment{at: c.At, alone: c.Alone}
			parsed.id, parsed.reason, parsed.is = vet.Ignore(strings.TrimSpace(c.Text))
			all[c.At.Line] = parsed
		}
	}
	if in.silence.comments == nil {
		in.silence.comments = map[*manifest.File]map[int]comment{}
	}
	in.silence.comments[f] = all
	return all
}

// item returns the first line of the variable of a finding; 0 = the finding is not of a
// variable.
func (in *input) item(f *Found) int {
	c, ok := f.what.(*manifest.Container)
	if !ok {
		return 0
	}
	all, ok := in.silence.items[c]
	if !ok {
		all = map[manifest.Pos]int{}
		for i := range c.Env {
			e := &c.Env[i]
			line := f.Object.NameAt(e).Line
			all[f.Object.EnvAt(e)] = line
			for _, field := range []manifest.Field{e.Resource, e.Divisor, e.Container} {
				if field.Set() {
					all[f.Object.FieldAt(field)] = line
				}
			}
		}
		if in.silence.items == nil {
			in.silence.items = map[*manifest.Container]map[manifest.Pos]int{}
		}
		in.silence.items[c] = all
	}
	return all[f.At]
}

// orderID matches the start of an order, which hardly occurs in a reason.
var orderID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+[:,]?`)

// orders parses an annotation. A semicolon or a line feed ends an order only if another order
// follows, because reasons are sentences.
func orders(text string) []order {
	var all []order
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(part)
		switch {
		case len(words) == 0:
		case len(all) == 0 || orderID.MatchString(words[0]):
			all = append(all, order{words[0], len(words) > 1})
		default:
			all[len(all)-1].reason = true
		}
	}
	return all
}

// badIgnore finds annotations that silence nothing.
func badIgnore(s *subject) {
	fields := s.o.Annotations(IgnoreAnnotation)
	if s.p != nil {
		fields = s.p.Annotations(IgnoreAnnotation)
	}
	for _, field := range fields {
		for _, o := range orders(field.Text) {
			what, ids := o.wrong()
			if what == "" {
				continue
			}
			s.report("ignore-without-reason", finding.SeverityWarning, s.o.FieldAt(field),
				"the annotation "+IgnoreAnnotation+" "+what, IgnoreAnnotation+`: "`+strings.Join(ids, " reason; ")+` reason"`)
		}
	}
}

// badComments finds comments that silence nothing, and reports them for the object that they
// are in or above.
func (in *input) badComments(f *manifest.File) {
	if len(f.Objects) == 0 {
		return
	}
	comments := in.comments(f)
	at := 0
	for _, line := range slices.Sorted(maps.Keys(comments)) {
		c := comments[line]
		if !c.is {
			continue
		}
		what, ids := c.wrong()
		if what == "" {
			continue
		}
		for at+1 < len(f.Objects) && f.Objects[at+1].At().Line <= line {
			at++
		}
		s := subject{in: in, o: f.Objects[at]}
		s.report("ignore-without-reason", finding.SeverityWarning, c.at, "the comment snug:ignore "+what,
			"# snug:ignore "+strings.Join(ids, " reason, and # snug:ignore ")+" reason")
	}
}

// wrong returns why an order silences nothing, "" = it is right, and the ids that it likely
// means.
func (o order) wrong() (what string, likely []string) {
	switch {
	case o.id == "":
		return "names no finding", []string{"ID"}
	case !slices.Contains(ids(), o.id):
		likely = strings.FieldsFunc(o.id, func(r rune) bool { return r == ',' || r == ':' })
		if len(likely) == 0 || slices.ContainsFunc(likely, func(id string) bool { return !slices.Contains(ids(), id) }) {
			likely = []string{"ID"}
		}
		return "names " + o.id + ", which is not a finding of snug lint", likely
	case !o.reason:
		return "gives no reason for " + o.id + ", so it silences nothing", []string{o.id}
	}
	return "", nil
}
