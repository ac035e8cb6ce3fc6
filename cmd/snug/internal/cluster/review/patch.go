// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"strings"
)

// patch is the text of a JSON Patch (RFC 6902) without the closing bracket.
type patch []byte

// add begins an add operation, which replaces an existing member. The caller appends the value
// and calls done.
func (p *patch) add(path ...string) {
	p.begin("add", path)
	*p = append(*p, `,"value":`...)
}

// replace begins a replace operation. The caller appends the value and calls done.
func (p *patch) replace(path ...string) {
	p.begin("replace", path)
	*p = append(*p, `,"value":`...)
}

// remove appends a remove operation.
func (p *patch) remove(path ...string) {
	p.begin("remove", path)
	p.done()
}

func (p *patch) begin(op string, path []string) {
	b := append(*p, ',')
	if len(*p) == 0 {
		b[0] = '['
	}
	b = append(append(append(b, `{"op":"`...), op...), `","path":"`...)
	for _, part := range path {
		b = append(b, part...) // not from the review
	}
	*p = append(b, '"')
}

// extend adds n elements to a list of a container: one operation per element, or one for all if
// the list is missing. write writes the i-th.
func (p *patch) extend(there bool, at, number, list string, n int, write func(i int)) {
	if there {
		for i := range n {
			p.add(at, number, list, "/-")
			write(i)
			p.done()
		}
		return
	}
	if n == 0 {
		return
	}
	p.add(at, number, list)
	p.raw("[")
	for i := range n {
		if i > 0 {
			p.raw(",")
		}
		write(i)
	}
	p.raw("]")
	p.done()
}

// join appends the operations of another patch.
func (p *patch) join(more patch) {
	if len(more) > 0 && len(*p) > 0 {
		more[0] = ','
	}
	*p = append(*p, more...)
}

func (p *patch) done() { *p = append(*p, '}') }

// raw appends JSON.
func (p *patch) raw(text string) { *p = append(*p, text...) }

// text appends a JSON string.
func (p *patch) text(text string) { *p = quote(*p, text) }

// quote appends a text as a JSON string.
func quote(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // never fails for a string
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// pointer escapes a name for a JSON Pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
