// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// Batch is files that are looked at together, and bounds the memory that this
// takes. Trees of documents are not kept, which are ten times as large as what
// rules want of them: only an edit needs one, and reads the document once more.
// The zero Batch is ready. Files may be read into it at the same time; to make
// edits is for one goroutine.
type Batch struct {
	kept  atomic.Int64 // bytes, by an estimate
	long  sync.Mutex   // held while a long file is read
	large sync.Mutex   // held while a large document is, in it or not
	last  *tree        // that an edit was made of
}

const (
	maxKept    = 256 << 20 // bytes
	longText   = 1 << 20   // bytes; such files are read one after another
	largeNodes = 100_000   // and such documents
)

// Read reads a stream, of which size bytes are expected, 0 = not known. The error
// is one of reading, or ErrTooLarge.
func (b *Batch) Read(name string, r io.Reader, size int64) (*File, error) {
	text := make([]byte, 0, max(min(size+1, longText), bytes.MinRead))
	text, err := fill(text, r, longText)
	if err == nil && len(text) == longText {
		b.long.Lock()
		defer b.long.Unlock()
		text, err = fill(slices.Grow(text, int(max(0, min(size, MaxBytes)+1-longText))), r, MaxBytes+1)
	}
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	return b.Parse(name, text), nil
}

// fill reads until there are so many bytes, or no more.
func fill(text []byte, r io.Reader, most int) ([]byte, error) {
	for len(text) < most {
		if len(text) == cap(text) {
			text = slices.Grow(text, bytes.MinRead)
		}
		n, err := r.Read(text[len(text):min(cap(text), most)])
		text = text[:len(text)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Parse is Parse of one file of many: its text is not kept where it says nothing
// of a pod.
func (b *Batch) Parse(name string, text []byte) *File {
	size := int64(len(text))
	if b.kept.Add(size) > maxKept {
		b.kept.Add(-size)
		return &File{Name: name, batch: b, Problems: []Problem{{Line: 1, Why: tooMuch}}}
	}
	f := b.parse(name, text)
	if len(f.Objects) == 0 {
		b.kept.Add(-size)
		f.Text = nil
	}
	return f
}

const tooMuch = "too much for one run; the rest is not looked at"

// enter waits until a document of so many nodes may be read.
func (b *Batch) enter(nodes int) (leave func()) {
	if nodes <= largeNodes {
		return func() {}
	}
	b.large.Lock()
	return b.large.Unlock
}

// nodes is not less than the number of nodes that a text can have: all but the
// first are behind one of these. In a block a mark is followed by blank space;
// in JSON a colon follows a quote.
func nodes(text []byte) int {
	n := 1
	for i, c := range text {
		switch c {
		case ',', '[', '{':
			n++
		case ':', '-', '?':
			if i+1 == len(text) || strings.IndexByte(" \t\r\n,[]{}\"'", text[i+1]) >= 0 || text[i+1] >= 0x80 || i > 0 && strings.IndexByte("\"']}", text[i-1]) >= 0 {
				n++
			}
		}
	}
	return 2 * n
}

// What is kept of an object takes, in bytes, measured and rounded up.
const (
	objectSize = 800 // with its pod
	partSize   = 400 // a container
	envSize    = 850
	refSize    = 400 // of a variable that refers to a resource, beside
	fieldSize  = 450
)

// keep takes from objects the trees that they are of, and leaves places. It is
// false when there is no room for more.
func (b *Batch) keep(objects []*Object) bool {
	size := int64(0)
	for _, o := range objects {
		size += int64(o.forget())
	}
	if b.kept.Add(size) <= maxKept {
		return true
	}
	b.kept.Add(-size)
	return false
}

// forget leaves of the nodes of an object their places, and of its metadata what
// is asked for later. It returns the size of what is left.
func (o *Object) forget() (size int) {
	size = objectSize + len(o.Source) + fieldSize*len(o.Ranges)
	meta := o.meta
	o.node, o.meta = spot(o.node), known(o.meta, 0)
	variables := func(all []Env) {
		for i := range all {
			e := &all[i]
			e.node, e.at, e.ref = spot(e.node), spot(e.at), spot(e.ref)
			size += envSize + len(e.Name) + len(e.Value.Text)
			if e.From == Resource {
				size += refSize
			}
		}
	}
	variables(o.Data)
	for _, p := range o.Pods {
		if p.meta == meta {
			p.meta = o.meta
		} else {
			p.meta = known(p.meta, 0)
		}
		if p.spec = known(p.spec, 0); p.Resources == nil && p.spec != nil && len(p.spec.Content) == 0 {
			p.spec = nil
		}
		if p.Resources != nil {
			p.Resources.node = spot(p.Resources.node)
		}
		for _, c := range p.Containers {
			c.node, c.env, c.Resources.node = spot(c.node), spot(c.env), nil
			size += partSize + fieldSize*(len(c.Resources.Limits)+len(c.Resources.Requests)+len(c.Resize)+len(c.EnvFrom))
			variables(c.Env)
		}
	}
	return size + weigh(o.meta)
}

// spot is a node without what is below it.
func spot(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind == yaml.ScalarNode {
		return n
	}
	return &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Line: n.Line, Column: n.Column}
}

// known is a mapping with those of its keys that are asked for later: of metadata
// the labels, and annotations of snug; of a pod when it is started again.
func known(n *yaml.Node, depth int) *yaml.Node {
	if n = follow(n); n == nil || depth > 6 {
		return nil
	}
	less := spot(n)
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item = known(item, depth+1); item != nil {
				less.Content = append(less.Content, item)
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := follow(n.Content[i]), follow(n.Content[i+1])
			if key == nil || value == nil || key.Kind != yaml.ScalarNode {
				continue
			}
			switch {
			case key.Value == "restartPolicy" || strings.HasPrefix(key.Value, podpatch.Prefix):
				value = spot(value)
			case key.Value == "annotations" || n.Content[i].Tag == "!!merge":
				value = known(value, depth+1)
			case key.Value == "labels":
				value = scalars(value)
			default:
				continue
			}
			if value != nil {
				less.Content = append(less.Content, key, value)
			}
		}
	}
	return less
}

// scalars is a mapping with those of its values that are scalars.
func scalars(n *yaml.Node) *yaml.Node {
	less := spot(n)
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key, value := follow(n.Content[i]), follow(n.Content[i+1]); key.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode {
				less.Content = append(less.Content, key, value)
			}
		}
	}
	return less
}

// weigh is about how much memory a tree takes, in bytes.
func weigh(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	size := 200 + len(n.Value)
	for _, c := range n.Content {
		size += weigh(c)
	}
	return size
}
