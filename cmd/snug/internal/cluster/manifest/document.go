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

// Bounds on input. An API server accepts objects below 3 MiB; a List of objects, as kubectl prints
// it, is larger.
const (
	MaxBytes    = 64 << 20
	maxDocument = 32 << 20
	maxNodes    = 2_000_000 // in one document, by an upper estimate
	maxVisits   = 4_000_000 // of nodes; a followed alias counts again
	maxDepth    = 60
	maxObjects  = 100_000  // in one file
	freeDense   = 270_000  // nodes, by the estimate; beyond, one for each 1.8 bytes
	freeNodes   = 20_000   // of aliases expanded; beyond, a document may grow to twice the estimate
	freeMade    = 12 << 20 // bytes of what is read of a document; beyond, 20 times its text
)

// ErrTooLarge is the error of a stream with more than MaxBytes.
var ErrTooLarge = errors.New("more than " + strconv.Itoa(MaxBytes>>20) + " MiB")

// document is one document of a file.
type document struct {
	file  *File
	start int // bytes
	line  int // from 1
	text  []byte
	nodes int           // an upper bound
	lines []int         // offsets of the lines, as YAML counts them; computed on demand
	marks map[int][]int // offsets in long lines, one per stride runes

	template *bool // it is the source of a template; computed on demand
}

// helmAction matches actions of helm templates, which arguments of programs hardly contain.
var helmAction = regexp.MustCompile(`\{\{-?[ \t]*(?:[$(]*\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|` +
	`include\b|template\b|toYaml\b|tpl\b|if\b|with\b|range\b|end\b)`)

// templated reports whether a document that parses as YAML is the source of a template.
func (d *document) templated() bool {
	if d.template == nil {
		is := bytes.Contains(d.text, []byte("{{")) && helmAction.Match(d.text)
		d.template = &is
	}
	return *d.template
}

// Parse parses a stream. It keeps text.
func Parse(name string, text []byte) *File { return new(Batch).parse(name, text) }

func (b *Batch) parse(name string, text []byte) *File {
	f := &File{Name: name, Text: text, batch: b}
	why := ""
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		why = "text in UTF-16, not UTF-8"
	case !utf8.Valid(text):
		why = "not text in UTF-8"
	case bytes.IndexByte(text, 0) >= 0: // as in UTF-16 without a mark
		why = "a NUL byte, so not text in UTF-8"
	}
	if why != "" {
		f.Problems = append(f.Problems, Problem{Line: 1, Why: why})
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

// nextDocument returns the end of the document at start: the next line that begins with "---". No line
// inside a document can begin so, in any style. A marker belongs to the document after it.
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

// parts returns the documents in JSON text, which may follow one another without a marker; else d
// itself.
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
			return []*document{d} // one document, or not JSON
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

// hasKnob reports whether a text names a variable of the Go runtime.
func hasKnob(text []byte) bool {
	return slices.ContainsFunc(knobNames, func(name string) bool { return bytes.Contains(text, []byte(name)) })
}

// interesting reports whether a document may affect a pod; if not, it counts it. Most documents of a
// chart do not, and are never parsed.
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
		yes = hasKnob(d.text) || anySize.Match(d.text)
	case "Namespace":
		yes = has("labels")
	case "Secret":
		yes = has("stringData") && hasKnob(d.text)
	default:
		list := kind == "" || strings.HasSuffix(kind, "List") // of any kind
		yes = has("ontainers") || !workloads[kind] && hasKnob(d.text) ||
			has("VerticalPodAutoscaler") || has("HorizontalPodAutoscaler") || has("LimitRange") ||
			list && (hasKnob(d.text) || has("Namespace") && has(podpatch.Prefix))
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
	if len(d.text) > maxDocument || n > maxNodes || n > freeDense+len(d.text)*10/18 {
		d.problem(0, "the document is too large")
		return
	}
	d.nodes = n
	defer d.file.batch.enter(n)()
	root, err := parseYAML(d.text)
	if err == errExpanded {
		d.problem(0, err.Error())
		return
	}
	if err != nil {
		d.refuse(err)
		return
	}
	if root == nil {
		return
	}
	before := len(d.file.Objects)
	w := &walker{doc: d, left: maxVisits, room: freeMade + 20*len(d.text)}
	if !w.compose(root) {
		w.object(root, 0)
	}
	if w.left <= 0 { // half of an object would lack its limits
		clear(d.file.Objects[before:])
		d.file.Objects = d.file.Objects[:before]
		d.problem(0, "the document is too large")
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

// parseYAML parses one document; nil if the text has none. It returns a panic of the parser as an
// error.
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
	limit := freeNodes + 2*nodes(text)
	if expanded(doc.Content[0], map[*yaml.Node]int{}, limit) >= limit {
		return nil, errExpanded
	}
	return doc.Content[0], nil
}

var errExpanded = errors.New("the document is too large with its aliases expanded")

// expanded counts a node and those below it, again for each alias, up to limit. sizes has those that aliases name.
func expanded(n *yaml.Node, sizes map[*yaml.Node]int, limit int) int {
	if n.Kind == yaml.AliasNode {
		size, known := sizes[n.Alias]
		if !known {
			sizes[n.Alias] = freeNodes / 3 // for an alias within what it names
			size = expanded(n.Alias, sizes, limit)
			sizes[n.Alias] = size
		}
		return size
	}
	size := 1
	for _, c := range n.Content {
		if size += expanded(c, sizes, limit); size >= limit {
			return limit
		}
	}
	return size
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// refuse records that a document is not YAML.
func (d *document) refuse(err error) {
	text := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	if bytes.Contains(d.text, []byte("{{")) {
		template := Problem{Line: d.fileLine(line), Why: "the source of a template", Template: true}
		d.file.Problems = append(d.file.Problems, template)
		return
	}
	d.problem(line, "invalid YAML: "+text)
}

// problem records that a document is skipped; line is in the document, from 1, 0 = its start.
func (d *document) problem(line int, why string) {
	d.file.Problems = append(d.file.Problems, Problem{Line: d.fileLine(line), Why: why})
}

// fileLine converts a line of the document, as YAML counts lines, to a line of the file.
func (d *document) fileLine(line int) int {
	if at := lineStarts(d.text); line > 1 && line <= len(at) {
		return d.file.pos(d.start + at[line-1]).Line
	}
	return d.line
}

// offset returns where a node begins in its file, in bytes.
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

// stride is the number of runes between stored offsets in a line: a manifest may be one line, and
// need the position of everything in it.
const stride = 256

// long returns the offsets in a line, one per stride runes; line is from 0.
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

// lineStarts returns the offsets of lines as YAML 1.1 separates them: at CR, LF, CR LF, NEL, LS and PS.
// Source: yaml.org/spec/1.1, 4.1.4.
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

// pos returns the line and column of an offset.
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

// Runes returns the column of a position in code points. It is fast for positions in order.
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

// Line returns the text of a line, from 1, without its end; "" if there is none.
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
