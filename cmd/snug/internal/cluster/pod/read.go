// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// The bounds of lists: more than any pod has. A list keeps one more, so that Sound sees that
// there were too many; the others are passed over.
const (
	mostContainers = 1000
	mostResizings  = 64
	mostVars       = 64   // of one container, those that are kept
	mostInAll      = 4000 // variables of a pod
)

// SkippedAnnotation says of a pod that is opted in and was given nothing why.
const SkippedAnnotation = "snug.dev/skipped"

// MirrorAnnotation is that of what the API shows of a static pod, which is not what runs;
// there both are the hash of its manifest.
// Source: k8s.io/kubernetes/pkg/kubelet/types, ConfigMirrorAnnotationKey and
// ConfigHashAnnotationKey; pkg/kubelet/pod, CreateMirrorPod.
const (
	MirrorAnnotation = "kubernetes.io/config.mirror"
	HashAnnotation   = "kubernetes.io/config.hash"
)

// ofInterest are the labels and annotations of interest. There may be any number of others, those
// with the prefix of snug among them.
var ofInterest = func() map[string]string {
	all := map[string]string{}
	for _, key := range []string{policy.InjectLabel, policy.ProcsLabel, policy.RestartLabel, podid.HashLabel, podid.RolloutHashLabel,
		policy.AddedAnnotation, policy.ObservedAnnotation, SkippedAnnotation, MirrorAnnotation, HashAnnotation} {
		all[key] = key
	}
	return all
}()

// Texts are labels or annotations.
type Texts struct {
	Given bool              // there is a map, though maybe an empty one
	Of    map[string]string // those of interest
	Size  int               // of all of them as they are written, in bytes
}

// UnmarshalJSONFrom reads a map of texts.
func (t *Texts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*t = Texts{}
	return each(d, '{', func() {
		t.Given = true
	}, func() error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		key := ofInterest[name]
		t.Size += len(name)
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		t.Size += len(text)
		if kind := text.Kind(); kind != '"' && kind != 'n' {
			return errKind
		}
		if key == "" {
			return nil
		}
		if t.Of == nil {
			t.Of = map[string]string{}
		}
		if text.Kind() == 'n' {
			t.Of[key] = ""
			return nil
		}
		value, err := jsontext.AppendUnquote(nil, text)
		t.Of[key] = string(value)
		return err
	})
}

// Owner is what controls a pod, the first of its owners that does. The zero Owner is none.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// UnmarshalJSONFrom reads a list of owners.
func (o *Owner) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*o = Owner{}
	type reference struct {
		owner
		Controller bool `json:"controller"`
	}
	var one reference
	return each(d, '[', nil, func() error {
		one = reference{}
		err := json.UnmarshalDecode(d, &one)
		if one.Controller && o.Kind == "" {
			*o = Owner(one.owner)
		}
		return err
	})
}

type owner Owner // is read as it is written

// Containers are a list of containers.
type Containers []Container

// UnmarshalJSONFrom reads a list of containers, of which none is null: to such a one nothing
// could be added.
func (all *Containers) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*all = nil
	return each(d, '[', nil, func() error {
		if len(*all) > mostContainers {
			return d.SkipValue()
		}
		if d.PeekKind() == 'n' {
			return errKind
		}
		*all = append(*all, Container{})
		return json.UnmarshalDecode(d, &(*all)[len(*all)-1])
	})
}

// Resizings are a resizePolicy.
type Resizings []Resizing

// UnmarshalJSONFrom reads a resizePolicy.
func (all *Resizings) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*all = nil
	return each(d, '[', nil, func() error {
		if len(*all) > mostResizings {
			return d.SkipValue()
		}
		*all = append(*all, Resizing{})
		return json.UnmarshalDecode(d, &(*all)[len(*all)-1])
	})
}

// Env is an env. Of variables only those are kept that a pod is given: the values of others
// are nobody's business.
type Env struct {
	Given bool // there is a list, though maybe an empty one
	Vars  []Var
}

// Var is a GOMAXPROCS or GOMEMLIMIT in an env.
type Var struct {
	At        int // in the list
	Name      string
	Value     string
	Reference bool // it has a valueFrom, so that a restart reads it anew
}

// UnmarshalJSONFrom reads an env.
func (e *Env) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*e = Env{}
	type variable struct {
		Name      string `json:"name"`
		Value     string `json:"value"`
		ValueFrom given  `json:"valueFrom"`
	}
	var one variable
	n := 0
	return each(d, '[', func() { e.Given = true }, func() error {
		one = variable{}
		err := json.UnmarshalDecode(d, &one)
		if (one.Name == Procs || one.Name == Memory) && len(e.Vars) <= mostVars {
			e.Vars = append(e.Vars, Var{n, one.Name, one.Value, bool(one.ValueFrom)})
		}
		n++
		return err
	})
}

// given tells whether there is something, whatever it is.
type given bool

// UnmarshalJSONFrom passes over any value.
func (g *given) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*g = d.PeekKind() != 'n'
	return skip(d)
}

// whole is passed over. It is half of a question, of thousands of small members.
type whole struct{}

// UnmarshalJSONFrom passes over any value.
func (*whole) UnmarshalJSONFrom(d *jsontext.Decoder) error { return skip(d) }

// skip passes over a value in one piece, which is faster than one token after another.
func skip(d *jsontext.Decoder) error {
	_, err := d.ReadValue()
	return err
}

// Count is how many elements a list has.
type Count int

// UnmarshalJSONFrom counts the elements of a list.
func (n *Count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*n = 0
	return each(d, '[', nil, func() error { *n++; return skip(d) })
}

var errKind = errors.New("a value of another kind than it should be")

// each calls read for each member or element of an object or a list, and first that there is
// one; there is none where it is null.
func each(d *jsontext.Decoder, kind jsontext.Kind, there func(), read func() error) error {
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case kind:
	default:
		return errors.Join(errKind, d.SkipValue())
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if there != nil {
		there()
	}
	for end := kind + 2; d.PeekKind() != end; { // { and }, [ and ], are two apart
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
