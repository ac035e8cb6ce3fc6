// SPDX-License-Identifier: Apache-2.0

// Package finding defines snug's documents and their JSON. A command fills in one document. The
// renderers of package report read nothing else, so a saved document can be rendered again.
//
// Field names carry their units. A figure that could not be read is null, and is listed in the
// "unknown" beside it. "none" is a figure that does not exist, such as a limit that is not set, or
// does not apply. In Go these are the three states of a figure.Of; Decode takes the reasons of the
// unknown ones from the list. Fields that are no figures are null without a value.
package finding

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Version is the value of the first field of every document. Within a version,
// fields may be added, but never change their meaning.
const Version = "v1"

// Head holds the first fields of every document.
type Head struct {
	Snug string `json:"snug"` // version of all documents, "v1"
	Kind string `json:"kind"` // name of this shape
}

// NewHead returns the head of a document of this version.
func NewHead(kind string) Head { return Head{Version, kind} }

func (h Head) head() Head { return h }

// Encode returns a document as one line of JSON.
func Encode(d Document) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode parses the output of Encode.
func Decode(data []byte) (Document, error) {
	var h Head
	if err := json.Unmarshal(data, &h); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return nil, errors.New("not a JSON document: " + Wrong(err))
		}
		return nil, errors.New("not a document of snug " + Version + ": " + Wrong(err))
	}
	if h.Snug != Version {
		return nil, fmt.Errorf("not a document of snug %s, \"snug\":%q", Version, h.Snug)
	}
	t := types[h.Kind]
	if t == nil {
		return nil, fmt.Errorf("%q: unknown kind of document", h.Kind)
	}
	if needs := parts[h.Kind]; needs != nil {
		var has map[string]present
		if err := json.Unmarshal(data, &has); err != nil {
			return nil, fmt.Errorf("damaged document of kind %s: %s", h.Kind, Wrong(err))
		}
		for _, part := range needs {
			if !has[part] {
				return nil, fmt.Errorf("damaged document of kind %s: %s is missing", h.Kind, part)
			}
		}
	}
	d := reflect.New(t).Interface().(Document)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("damaged document of kind %s: %s", h.Kind, Wrong(err))
	}
	settleAll(reflect.ValueOf(d))
	return d, nil
}

// Wrong says without Go's types why encoding/json does not read a text: "cells is an object, not a list". It returns
// the text of any other error.
func Wrong(err error) string {
	var of *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var moment *time.ParseError
	switch {
	case errors.As(err, &syntax) && strings.HasPrefix(err.Error(), "unexpected end"):
		return "it ends too early"
	case errors.As(err, &syntax):
		return fmt.Sprintf("%v, byte %d", err, syntax.Offset)
	case errors.As(err, &moment), strings.HasPrefix(err.Error(), "Time."):
		return "a time is not one as 2026-11-27T12:00:00Z"
	case !errors.As(err, &of):
		return err.Error()
	}
	// What a type is in JSON; other kinds are whole numbers.
	words := map[reflect.Kind]string{
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "a list", reflect.Array: "a list",
		reflect.Bool: "true or false", reflect.String: "a string", reflect.Float64: "a number",
	}
	k := of.Type.Kind()
	want := cmp.Or(words[k], "a whole number")
	switch of.Type {
	case reflect.TypeFor[Amount]():
		want = `a whole number or "off"`
	case reflect.TypeFor[knob]():
		want = "a number or a string"
	}
	values := map[string]string{"array": "a list", "bool": "true or false", "object": "an object"}
	is := cmp.Or(values[of.Value], "a "+of.Value)
	if number, ok := strings.CutPrefix(of.Value, "number "); ok { // too large, or with a fraction
		if is = number; k == reflect.Int || k == reflect.Int64 || k == reflect.Float64 {
			want += " of 64 bits"
		}
	}
	embedded := func(s string) bool { return s != strings.ToLower(s) }
	names := slices.DeleteFunc(strings.Split(of.Field, "."), embedded)
	return cmp.Or(strings.Join(names, "."), "it") + " is " + is + ", not " + want
}

// DecodeLine parses the first of several documents, one per line, as commands that
// watch write them. It returns the remaining lines.
func DecodeLine(data []byte) (d Document, rest []byte, err error) {
	line, rest, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	d, err = Decode(line)
	return d, rest, err
}

// Error is the document of a command with --json that has no answer. The same lines are on
// standard error.
type Error struct {
	Head
	Command string `json:"command"`   // such as "snug ps"; "snug" if there is no such command
	Error   string `json:"error"`     // what is wrong, and where
	Hint    string `json:"hint"`      // what to do about it; "" = nothing is known
	Code    int    `json:"exit_code"` // 1 = failed, 2 = wrong usage, 130 = interrupted
}

// Target says what a document is about.
type Target struct {
	Root *string `json:"root"` // the tree that was read; null = this machine
	PID  *int    `json:"pid"`  // the process; null = snug itself, or proc/self of the tree
}

// Source is the origin of a number: a file as snug sees it, the cgroup it belongs to, and its
// text. For an environment variable, file is its name and raw its value.
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

// Mounts are mounts that should show the process's cgroups and cannot be read. Another mount shows
// the same, so no figure is missing.
type Mounts struct {
	Count int   `json:"count"`
	First []Gap `json:"first"` // at most 3
}

// Warning is a caveat about the figures.
type Warning struct {
	Code   string `json:"code"` // stable; see `snug explain`
	Text   string `json:"text"`
	Source Source `json:"source"`
}

// Amount is a number or "off".
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
	return typed(json.Unmarshal(data, &a.N), *a)
}

// typed makes an error of encoding/json one of the type of v.
func typed(err error, v any) error {
	if of := (*json.UnmarshalTypeError)(nil); errors.As(err, &of) {
		of.Type = reflect.TypeOf(v)
	}
	return err
}

// Verdict is the short answer: the limits, the plan, and the one command to try next.
type Verdict struct {
	Head
	Limits *Limits `json:"limits"`
	Plan   *Plan   `json:"plan"`
	// Worst lists up to three Go processes, worst findings first; empty = there are
	// none, or none could be inspected.
	Worst []Process `json:"worst_processes"`
	All   int       `json:"processes"` // number of Go processes
	Next  string    `json:"next"`
}

// Explanation explains one id.
type Explanation struct {
	Head
	Entry
}

// Entry is one id or word, and what it means.
type Entry struct {
	ID    string `json:"id"`
	Topic string `json:"topic"` // id of the group that it belongs to
	Class string `json:"class"` // "reason", "warning", "rule", "lint", "vet", "alert", "term", "metric" or "document"
	Title string `json:"title"`
	Text  string `json:"text"` // paragraphs of plain text
}

// Topic is a group of entries.
type Topic struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"` // "" = nothing to add
}

// Index lists ids and words by topic.
type Index struct {
	Head
	Topics  []Topic `json:"topics"`
	Entries []Entry `json:"entries"` // in the order of the topics
	Next    string  `json:"next"`
}

// Build identifies this build of snug.
type Build struct {
	Head
	Version string  `json:"version"`
	Commit  *string `json:"commit"`  // null = built outside a checkout
	Changed bool    `json:"changed"` // the checkout had uncommitted changes
	Go      string  `json:"go"`
	OS      string  `json:"os"`
	Arch    string  `json:"arch"`
}

// NewBuild returns what the Go toolchain recorded in this binary.
func NewBuild() *Build {
	d := &Build{
		Head:    NewHead(KindVersion),
		Version: "devel",
		Go:      runtime.Version(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		d.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Commit = &s.Value
		case "vcs.modified":
			d.Changed = s.Value == "true"
		}
	}
	return d
}
