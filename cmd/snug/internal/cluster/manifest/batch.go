// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// Batch reads files and bounds their memory. It does not keep the trees of documents, which are ten
// times as large as the part that rules use. Only an edit needs a tree, and parses the document
// again. The zero Batch is ready to use. Goroutines may read files concurrently, but only one may
// make edits.
type Batch struct {
	Frugal bool // the memory of this process is bound to what is read; see bound
	Light  bool // no edits are made of the largest documents: a tree would double the memory

	kept  atomic.Int64 // bytes, estimated
	read  atomic.Int64 // bytes
	long  sync.Mutex   // held while a long file is read
	large sync.Mutex   // held while a large document is parsed
	last  *tree        // of the last edit
}

const (
	maxKept    = 256 << 20 // bytes
	longText   = 1 << 20   // bytes; longer files are read one at a time
	largeNodes = 100_000   // larger documents are parsed one at a time
	lightNodes = 400_000   // of a document of which a light batch makes edits
)

// Read reads and parses a stream. size is the expected size in bytes, 0 = unknown. The error is from r,
// or ErrTooLarge.
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

// fill reads until text has size bytes, or r ends.
func fill(text []byte, r io.Reader, size int) ([]byte, error) {
	for len(text) < size {
		if len(text) == cap(text) {
			text = slices.Grow(text, bytes.MinRead)
		}
		n, err := r.Read(text[len(text):min(cap(text), size)])
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

// Parse parses one file of the batch. It does not keep the text of a file that does not affect a pod.
func (b *Batch) Parse(name string, text []byte) *File {
	size := int64(len(text))
	b.bound(10<<20 + 36*b.read.Add(size))
	if b.kept.Add(size) > maxKept {
		b.kept.Add(-size)
		return &File{Name: name, batch: b, Problems: []Problem{{Line: 1, Why: tooMuch}}}
	}
	f := b.parse(name, text)
	f.Unjudged = f.unjudged()
	if len(f.Objects) == 0 {
		b.kept.Add(-size)
		f.Text = nil
	}
	return f
}

// Lift lifts the bound on the memory of this process.
func (b *Batch) Lift() { b.bound(math.MaxInt64) }

// bound makes the collector keep the memory of this process below a multiple of what it has read, until Lift, and
// unless GOMEMLIMIT is set. A tree is up to 30 times as large as its text, and GOGC alone would double that.
func (b *Batch) bound(limit int64) {
	if b.Frugal && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// Release gives back the memory of the trees of large files, which are not needed any more.
func (b *Batch) Release() {
	b.last = nil
	if b.read.Load() > longText/4 {
		debug.FreeOSMemory()
	}
}

const tooMuch = "too much for one run; the rest is not looked at"

// enter waits until a document with that number of nodes may be parsed.
func (b *Batch) enter(nodes int) (leave func()) {
	if nodes <= largeNodes {
		return func() {}
	}
	b.large.Lock()
	return b.large.Unlock
}

// nodes returns an upper bound of the number of nodes of a text: every node but the first follows one
// of these characters. In block style a space follows the indicator; in JSON a colon follows a
// quote.
func nodes(text []byte) int {
	n := 1
	for i, c := range text {
		switch c {
		case ',', '[', '{':
			n++
		case ':', '-', '?':
			ends := i+1 == len(text) || strings.IndexByte(" \t\r\n,[]{}\"'", text[i+1]) >= 0 || text[i+1] >= 0x80
			if ends || i > 0 && strings.IndexByte("\"']}", text[i-1]) >= 0 {
				n++
			}
		}
	}
	return 2 * n
}

// Memory of the kept parts of an object, in bytes, measured and rounded up.
const (
	objectSize = 800 // with its pod
	partSize   = 400 // a container
	envSize    = 850
	refSize    = 400 // more for a variable that refers to a resource
	fieldSize  = 450
)

// keep drops the trees of objects and keeps positions. It reports whether there is room for them.
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

// forget keeps only the positions of an object's nodes, and the metadata that is used later. It returns
// the remaining size.
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

// spot returns a node without its children.
func spot(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind == yaml.ScalarNode {
		return n
	}
	return &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Line: n.Line, Column: n.Column}
}

// known returns a mapping with the keys that are used later: labels and snug's annotations in metadata,
// restartPolicy in a pod.
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

// scalars returns a mapping with only its scalar values.
func scalars(n *yaml.Node) *yaml.Node {
	less := spot(n)
	w := walker{left: len(n.Content)}
	for key, value := range w.members(n) {
		if value.Kind == yaml.ScalarNode {
			less.Content = append(less.Content, key, value)
		}
	}
	return less
}

// weigh estimates the memory of a tree, in bytes.
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
