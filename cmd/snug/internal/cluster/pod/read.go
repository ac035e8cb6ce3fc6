// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// Bounds of lists, above those of any real pod. A list keeps one element more, so that Sound
// sees that there were too many; further elements are skipped.
const (
	maxContainers = 1000
	maxResizings  = 64
	maxVars       = 64   // kept variables of one container
	maxPodVars    = 4000 // kept variables of a pod
)

// MirrorAnnotation is on the API object of a static pod, which is only a copy of what runs.
// Both annotations are the hash of its manifest.
// Source: k8s.io/kubernetes/pkg/kubelet/types, ConfigMirrorAnnotationKey and
// ConfigHashAnnotationKey; pkg/kubelet/pod, CreateMirrorPod.
const (
	MirrorAnnotation = "kubernetes.io/config.mirror"
	HashAnnotation   = "kubernetes.io/config.hash"
)

// ofInterest are the labels, annotations and node selectors to keep. There may be any number of
// others, also with the prefix of snug.
var ofInterest = func() map[string]string {
	all := map[string]string{}
	for _, key := range []string{
		policy.InjectLabel, policy.ProcsLabel, policy.RestartLabel, podid.HashLabel, podid.RolloutHashLabel, OSLabel,
		policy.AddedAnnotation, policy.ObservedAnnotation, policy.SkippedAnnotation, MirrorAnnotation, HashAnnotation,
	} {
		all[key] = key
	}
	return all
}()

// Texts are labels, annotations or a node selector.
type Texts struct {
	Given bool              // there is a map, possibly empty
	Of    map[string]string // those in ofInterest
	Size  int               // of all of them in JSON, in bytes
}

// UnmarshalJSONFrom decodes a map of texts.
func (t *Texts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*t = Texts{}
	return Each(d, '{', func() {
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

// Owner is the controller of a pod, the first owner with controller: true. The zero Owner is
// none.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// UnmarshalJSONFrom decodes a list of owners.
func (o *Owner) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*o = Owner{}
	type reference struct {
		owner
		Controller bool `json:"controller"`
	}
	var one reference
	return Each(d, '[', nil, func() error {
		one = reference{}
		err := json.UnmarshalDecode(d, &one)
		if one.Controller && o.Kind == "" {
			*o = Owner(one.owner)
		}
		return err
	})
}

type owner Owner // without UnmarshalJSONFrom

// Containers is a list of containers.
type Containers []Container

// UnmarshalJSONFrom decodes a list of containers. A null element is an error, because a patch
// could not add to it.
func (all *Containers) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*all = nil
	return Each(d, '[', nil, func() error {
		if len(*all) > maxContainers {
			return d.SkipValue()
		}
		if d.PeekKind() == 'n' {
			return errKind
		}
		*all = append(*all, Container{})
		return json.UnmarshalDecode(d, &(*all)[len(*all)-1])
	})
}

// Resizings is a resizePolicy.
type Resizings []Resizing

// UnmarshalJSONFrom decodes a resizePolicy.
func (all *Resizings) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*all = nil
	return Each(d, '[', nil, func() error {
		if len(*all) > maxResizings {
			return d.SkipValue()
		}
		*all = append(*all, Resizing{})
		return json.UnmarshalDecode(d, &(*all)[len(*all)-1])
	})
}

// Env is an env. It keeps only the variables that snug sets; the values of others may be
// secrets.
type Env struct {
	Given bool // there is a list, possibly empty
	Vars  []Var
}

// Var is a GOMAXPROCS or GOMEMLIMIT in an env.
type Var struct {
	At        int // index in the list
	Name      string
	Value     string
	Reference bool // it has a valueFrom, so a restart updates it
}

// UnmarshalJSONFrom decodes an env.
func (e *Env) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*e = Env{}
	type variable struct {
		Name      string `json:"name"`
		Value     string `json:"value"`
		ValueFrom given  `json:"valueFrom"`
	}
	var one variable
	n := 0
	return Each(d, '[', func() { e.Given = true }, func() error {
		one = variable{}
		err := json.UnmarshalDecode(d, &one)
		if (one.Name == Procs || one.Name == Memory) && len(e.Vars) <= maxVars {
			e.Vars = append(e.Vars, Var{n, one.Name, one.Value, bool(one.ValueFrom)})
		}
		n++
		return err
	})
}

// given reports whether there is a value other than null.
type given bool

// UnmarshalJSONFrom skips any value.
func (g *given) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*g = d.PeekKind() != 'n'
	return skip(d)
}

// whole is skipped: managedFields is half of a review and has thousands of small members.
type whole struct{}

// UnmarshalJSONFrom skips any value.
func (*whole) UnmarshalJSONFrom(d *jsontext.Decoder) error { return skip(d) }

// skip skips a value as a whole, which is faster than token by token.
func skip(d *jsontext.Decoder) error {
	_, err := d.ReadValue()
	return err
}

// Count is the number of elements of a list.
type Count int

// UnmarshalJSONFrom counts the elements of a list.
func (n *Count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*n = 0
	return Each(d, '[', nil, func() error { *n++; return skip(d) })
}

var errKind = errors.New("a value of the wrong kind")

// Each calls there and then read for each member of an object or element of a list. For null
// it calls neither; there may be nil.
func Each(d *jsontext.Decoder, kind jsontext.Kind, there func(), read func() error) error {
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
