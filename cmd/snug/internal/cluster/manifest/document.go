// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// The limits of what is read: what an API server takes is below 3 MiB an
// object; a List of them, as kubectl prints it, is larger.
const (
	MaxBytes    = 64 << 20
	maxDocument = 32 << 20
	maxNodes    = 2_000_000 // in one document, by an estimate from above
	maxVisits   = 4_000_000 // of nodes, an alias followed counts again
	maxDepth    = 60
	maxObjects  = 100_000 // in one file
)

// ErrTooLarge is the error of a stream with more than MaxBytes.
var ErrTooLarge = errors.New("more than " + strconv.Itoa(MaxBytes>>20) + " MiB")

// document is one document of a file.
type document struct {
	file  *File
	start int // bytes
	line  int // from 1
	text  []byte
	lines []int         // where each line begins, as YAML counts them; made when asked for
	marks map[int][]int // of long lines, where each stride of runes ends

	template *bool // whether it is the source of one; made when asked for
}

// helmAction is what helm's templates have in them, and arguments of programs
// hardly.
var helmAction = regexp.MustCompile(`\{\{-?[ \t]*(?:[$(]*\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|include\b|template\b|toYaml\b|tpl\b|if\b|with\b|range\b|end\b)`)

// templated tells whether a document that is YAML is the source of a template
// all the same.
func (d *document) templated() bool {
	if d.template == nil {
		is := bytes.Contains(d.text, []byte("{{")) && helmAction.Match(d.text)
		d.template = &is
	}
	return *d.template
}

// Parse reads a stream that is in memory, which it keeps.
func Parse(name string, text []byte) *File { return new(Batch).parse(name, text) }

func (b *Batch) parse(name string, text []byte) *File {
	f := &File{Name: name, Text: text, batch: b}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		f.Problems = append(f.Problems, Problem{Line: 1, Why: "text in UTF-16, not UTF-8"})
		return f
	}
	if !utf8.Valid(text) {
		f.Problems = append(f.Problems, Problem{Line: 1, Why: "not text in UTF-8"})
		return f
	}
	if bytes.IndexByte(text, 0) >= 0 { // as in UTF-16 without a mark
		f.Problems = append(f.Problems, Problem{Line: 1, Why: "a NUL byte, so it is no text in UTF-8"})
		return f
	}
	start := 0
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		start = 3
	}
	line := 1
	for start < len(text) {
		end := nextDocument(text, start)
		d := &document{file: f, start: start, line: line, text: text[start:end]}
		for _, part := range d.parts() {
			part.read()
		}
		line += bytes.Count(d.text, []byte("\n"))
		start = end
	}
	return f
}

// nextDocument is where the document that begins at start ends: before the next
// line that begins with "---". Inside of a document no line can, whatever its
// style. A marker belongs to the document behind it.
func nextDocument(text []byte, start int) int {
	for at := start; ; {
		i := bytes.Index(text[at:], []byte("\n---"))
		if i < 0 {
			return len(text)
		}
		at += i + 1
		if end := at + 3; end == len(text) || strings.IndexByte(" \t\r\n", text[end]) >= 0 {
			return at
		}
	}
}

// parts are the documents in a document of JSON, where they may follow one
// another without a marker; else itself.
func (d *document) parts() []*document {
	text := bytes.TrimPrefix(d.text, []byte("---"))
	if body := bytes.TrimLeft(text, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return []*document{d}
	}
	begin := len(d.text) - len(text)
	dec := json.NewDecoder(bytes.NewReader(text))
	var all []*document
	line := d.line + bytes.Count(d.text[:begin], []byte("\n"))
	for last := 0; ; {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			if err == io.EOF && len(all) > 1 {
				return all
			}
			return []*document{d} // one document, or no JSON
		}
		end := int(dec.InputOffset())
		part := text[last:end]
		all = append(all, &document{file: d.file, start: d.start + begin + last, text: part, line: line})
		line += bytes.Count(part, []byte("\n"))
		last = end
	}
}

var (
	topKind    = regexp.MustCompile(`(?m)^kind:[ \t]*["']?([A-Za-z0-9]+)`)
	topService = regexp.MustCompile(`(?m)^[{ \t]*["']?services["']?[ \t]*:`)
	anyKind    = regexp.MustCompile(`"kind"\s*:`)
	sourceOf   = regexp.MustCompile(`(?m)^# Source: ([^\r\n]+)`)
	size       = regexp.MustCompile(`^[0-9]{1,12}(?:\.[0-9]+)?(?:[KMGT]i?B?|B)$`)
	anySize    = regexp.MustCompile(`:[ \t]*["']?[0-9]{1,12}(?:\.[0-9]+)?(?:[KMGT]i?B?|B)["']?[ \t]*(?:[,}\r\n]|$)`)
	knobNames  = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG"}
)

// interesting tells whether a document may say something of a pod, and counts
// it. What is not is not parsed, which is most of what a chart renders.
func (d *document) interesting() bool {
	kind := ""
	if m := topKind.FindSubmatch(d.text); m != nil {
		kind = string(m[1])
	} else if topService.Match(d.text) {
		return true
	} else if !anyKind.Match(d.text) && !bytes.Contains(d.text, []byte("kind")) {
		return false
	}
	has := func(word string) bool { return bytes.Contains(d.text, []byte(word)) }
	yes := false
	switch kind {
	case "CustomResourceDefinition":
	case "ConfigMap":
		yes = slices.ContainsFunc(knobNames, has) || anySize.Match(d.text)
	case "Namespace":
		yes = has("labels")
	default:
		list := kind == "" || strings.HasSuffix(kind, "List") // of whatever
		yes = has("ontainers") || has("VerticalPodAutoscaler") || has("LimitRange") ||
			list && (slices.ContainsFunc(knobNames, has) || has("Namespace") && has(podpatch.Prefix))
	}
	if !yes {
		d.file.Found++
	}
	return yes
}

func (d *document) read() {
	if !d.interesting() || d.file.full {
		return
	}
	n := nodes(d.text)
	if len(d.text) > maxDocument || n > maxNodes {
		d.problem(0, "a document that is too large")
		return
	}
	defer d.file.batch.enter(n)()
	root, err := parseYAML(d.text)
	if err != nil {
		d.refuse(err)
		return
	}
	if root == nil {
		return
	}
	before := len(d.file.Objects)
	w := &walker{doc: d, left: maxVisits}
	if !w.compose(root) {
		w.object(root, 0)
	}
	if w.left <= 0 {
		d.problem(0, "a document that unfolds to too much")
	}
	if w.full {
		d.file.full = true
		d.problem(0, "more than "+strconv.Itoa(maxObjects)+" objects in one file; the rest is not looked at")
	}
	made := d.file.Objects[before:]
	if len(made) == 0 {
		return
	}
	if m := sourceOf.FindSubmatch(d.text); m != nil {
		for _, o := range made {
			o.Source = string(m[1])
		}
	}
	if !d.file.batch.keep(made) {
		clear(made)
		d.file.Objects, d.file.full = d.file.Objects[:before], true
		d.problem(0, tooMuch)
	}
}

// parseYAML reads one document; nil when there is none in the text. A panic of
// the parser, which is not ours, is an error as well.
func parseYAML(text []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// refuse notes that a document is no YAML.
func (d *document) refuse(err error) {
	text := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	if bytes.Contains(d.text, []byte("{{")) {
		d.file.Problems = append(d.file.Problems, Problem{Line: d.fileLine(line), Why: "the source of a template", Template: true})
		return
	}
	d.problem(line, "no YAML: "+text)
}

// problem notes that a document is not looked at; line is from 1 in it, 0 = its
// beginning.
func (d *document) problem(line int, why string) {
	d.file.Problems = append(d.file.Problems, Problem{Line: d.fileLine(line), Why: why})
}

// fileLine is the line in the file of a line of the document as YAML counts them.
func (d *document) fileLine(line int) int {
	if at := lineStarts(d.text); line > 1 && line <= len(at) {
		return d.file.pos(d.start + at[line-1]).Line
	}
	return d.line
}

// offset is where a node begins in its file, in bytes.
func (d *document) offset(n *yaml.Node) (int, bool) {
	if d.lines == nil {
		d.lines = lineStarts(d.text)
	}
	if n.Line < 1 || n.Line > len(d.lines) || n.Column < 1 {
		return 0, false
	}
	at, runes := d.lines[n.Line-1], n.Column-1
	if runes >= stride {
		marks := d.long(n.Line - 1)
		if runes/stride > len(marks) {
			return 0, false
		}
		at, runes = marks[runes/stride-1], runes%stride
	}
	for range runes {
		_, size := utf8.DecodeRune(d.text[at:])
		if size == 0 {
			return 0, false
		}
		at += size
	}
	return d.start + at, true
}

// stride is after how many runes of a line their place is noted: a manifest may
// be one line, and the place of all that is in it be asked for.
const stride = 256

// long is where each stride of runes of a line ends; line is from 0.
func (d *document) long(line int) []int {
	if marks, ok := d.marks[line]; ok {
		return marks
	}
	end := len(d.text)
	if line+1 < len(d.lines) {
		end = d.lines[line+1]
	}
	var marks []int
	runes := 0
	for at := d.lines[line]; at < end; {
		_, size := utf8.DecodeRune(d.text[at:end])
		at += size
		if runes++; runes%stride == 0 {
			marks = append(marks, at)
		}
	}
	if d.marks == nil {
		d.marks = map[int][]int{}
	}
	d.marks[line] = marks
	return marks
}

// lineStarts is where the lines of a text begin, as YAML 1.1 parts them: at CR,
// LF, CR LF, NEL, LS and PS. Source: yaml.org/spec/1.1, 4.1.4.
func lineStarts(text []byte) []int {
	all := []int{0}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case c == '\n' || c == '\r':
			all = append(all, i+1)
		case c == 0xc2 && i+1 < len(text) && text[i+1] == 0x85:
			all = append(all, i+2)
		case c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && (text[i+2] == 0xa8 || text[i+2] == 0xa9):
			all = append(all, i+3)
		}
	}
	return all
}

// pos is the line and column of an offset.
func (f *File) pos(at int) Pos {
	if f.lines == nil {
		f.lines = []int{0}
		for i, c := range f.Text {
			if c == '\n' {
				f.lines = append(f.lines, i+1)
			}
		}
	}
	i, ok := slices.BinarySearch(f.lines, at)
	if !ok {
		i--
	}
	return Pos{i + 1, at - f.lines[i] + 1}
}

// Runes is the column of a place in code points. It is quick for places that follow
// one another.
func (f *File) Runes(at Pos) int {
	f.pos(0)
	if at.Line < 1 || at.Line > len(f.lines) || at.Column < 1 {
		return at.Column
	}
	c := &f.counted
	if c.at.Line != at.Line || c.at.Column > at.Column {
		c.at, c.runes = Pos{at.Line, 1}, 1
	}
	begin := f.lines[at.Line-1] - 1
	c.runes += utf8.RuneCount(f.Text[min(begin+c.at.Column, len(f.Text)):min(begin+at.Column, len(f.Text))])
	c.at = at
	return c.runes
}

// Line is the text of a line, from 1, without its end; "" where there is none.
func (f *File) Line(n int) string {
	f.pos(0)
	if n < 1 || n > len(f.lines) {
		return ""
	}
	rest := f.Text[f.lines[n-1]:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimRight(string(rest), "\r")
}
