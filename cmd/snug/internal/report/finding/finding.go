// SPDX-License-Identifier: Apache-2.0

// Package finding holds the nouns that every answer of snug is made of, and
// their JSON. A command fills in one document; the renderers of package report
// know nothing else, so that a saved document can be rendered again.
//
// Field names carry their units. null is none or not applicable; what could not
// be read is null as well and is listed in the document's "unknown".
package finding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the first field of every document. A field never changes its
// meaning within a version; new ones may come.
const Version = "v1"

// Head is how every document begins.
type Head struct {
	Snug string `json:"snug"` // Version
	Kind string `json:"kind"`
}

// NewHead begins a document of this version.
func NewHead(kind string) Head { return Head{Version, kind} }

func (h Head) head() Head { return h }

// Document is one whole answer: *Limits, *Plan, *Verdict, *Explanation,
// *Index, *Build, *Bench, *Tune, *PS, *Doctor, *Profile, *Vet, *Trace, *Lint,
// *Policy, *Given, *Node or *Watch.
type Document interface{ head() Head }

// The kinds of documents.
const (
	KindLimits  = "limits"
	KindPlan    = "plan"
	KindVerdict = "verdict"
	KindExplain = "explain"
	KindIndex   = "index"
	KindVersion = "version"
	KindBench   = "bench"
	KindTune    = "tune"
	KindPS      = "ps"
	KindDoctor  = "doctor"
	KindProfile = "profile"
	KindVet     = "vet"
	KindTrace   = "trace"
	KindLint    = "lint"
	KindPolicy  = "policy"
	KindGiven   = "given"
)

// Encode writes a document as one line of JSON.
func Encode(d Document) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Document, error) {
	var h Head
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, fmt.Errorf("not a JSON document: %w", err)
	}
	if h.Snug != Version {
		return nil, fmt.Errorf("not a document of snug %s, \"snug\":%q", Version, h.Snug)
	}
	kinds := map[string]Document{
		KindLimits: &Limits{}, KindPlan: &Plan{}, KindVerdict: &Verdict{},
		KindExplain: &Explanation{}, KindIndex: &Index{}, KindVersion: &Build{},
		KindBench: &Bench{}, KindTune: &Tune{}, KindPS: &PS{}, KindDoctor: &Doctor{}, KindProfile: &Profile{}, KindVet: &Vet{},
		KindTrace: &Trace{}, KindTop: &Watch{}, KindAgent: &Node{}, KindLint: &Lint{},
		KindPolicy: &Policy{}, KindGiven: &Given{},
	}
	d, ok := kinds[h.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind of document, %q", h.Kind)
	}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("damaged document of kind %s: %w", h.Kind, err)
	}
	return d, nil
}

// DecodeLine reads the first of several documents, one a line, as commands that watch
// write them, and returns the lines after it.
func DecodeLine(data []byte) (d Document, rest []byte, err error) {
	line, rest, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	d, err = Decode(line)
	return d, rest, err
}

// Target is what a document speaks of.
type Target struct {
	Root *string `json:"root"` // the tree that was read; null = this machine
	PID  *int    `json:"pid"`  // the process; null = the one that read, or the tree's proc/self
}

// Source is where a number came from: a file as the reader sees it, the cgroup
// it belongs to, its text. For an environment variable file is its name and
// raw its value.
type Source struct {
	File  string `json:"file"`
	Level string `json:"level"`
	Raw   string `json:"raw"`
}

// Gap is a figure that could not be read.
type Gap struct {
	Field string `json:"field"`
	File  string `json:"file"`
	Why   string `json:"why"`
}

// Warning is something that whoever reads the figures should know.
type Warning struct {
	Code   string `json:"code"` // stable; see `snug explain`
	Text   string `json:"text"`
	Source Source `json:"source"`
}

// Amount is a number, or the word off.
type Amount struct {
	N   int64
	Off bool
}

func (a Amount) MarshalJSON() ([]byte, error) {
	if a.Off {
		return []byte(`"off"`), nil
	}
	return json.Marshal(a.N)
}

func (a *Amount) UnmarshalJSON(data []byte) error {
	if string(data) == `"off"` {
		*a = Amount{Off: true}
		return nil
	}
	a.Off = false
	if err := json.Unmarshal(data, &a.N); err != nil {
		return errors.New(`neither a number nor "off"`)
	}
	return nil
}

// Verdict is the short answer: what there is, what to do about it, and the one
// command to try next.
type Verdict struct {
	Head
	Limits *Limits `json:"limits"`
	Plan   *Plan   `json:"plan"`
	// Worst are up to three Go processes here, those with the worst findings
	// first; empty where there is none, or none may be looked at.
	Worst []Process `json:"worst_processes"`
	All   int       `json:"processes"` // how many Go processes there are here
	Next  string    `json:"next"`
}

// Explanation is the long text behind one id.
type Explanation struct {
	Head
	Entry
	Text string `json:"text"`
}

// Entry is one id and what it stands for, in a few words.
type Entry struct {
	ID    string `json:"id"`
	Class string `json:"class"` // "reason", "warning", "rule" or "term"
	Title string `json:"title"`
}

// Index lists every id.
type Index struct {
	Head
	Entries []Entry `json:"entries"`
	Next    string  `json:"next"`
}

// Build says which snug this is.
type Build struct {
	Head
	Version string  `json:"version"`
	Commit  *string `json:"commit"` // null when it was built outside of a checkout
	Changed bool    `json:"changed"`
	Go      string  `json:"go"`
	OS      string  `json:"os"`
	Arch    string  `json:"arch"`
}
