// SPDX-License-Identifier: Apache-2.0

// Package promtext reads the figures that a Go process serves over HTTP: /metrics in the
// Prometheus text format or OpenMetrics, /debug/vars, and the end of /debug/pprof/heap?debug=1.
//
// Formats: "Exposition formats" in Prometheus' documentation, and the OpenMetrics
// specification. The package reads sample lines and skips lines that begin with #.
package promtext

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sample is one line with a value.
type Sample struct {
	Name   string
	Labels []Label // sorted by name, without duplicates; nil = none
	Value  float64 // may be NaN or infinite
}

// Label is an unescaped name and value.
type Label struct{ Name, Value string }

// Scrape holds the samples kept from a page of metrics.
type Scrape struct {
	// Samples are the samples whose name begins with one of the prefixes, in page order.
	Samples []Sample
	// Lines is the number of sample lines, including Samples.
	Lines int
	// Bad is the number of lines that are invalid or too long. If Lines is 0
	// and Bad is not, the page is something else.
	Bad int
	// Dropped is the number of samples beyond the bounds of 10000 samples and 4 MiB of text.
	Dropped int
}

const (
	maxLine    = 64 << 10
	maxSamples = 10_000
	maxText    = 4 << 20
	maxLabels  = 64
)

// Read reads a page to its end and keeps the samples whose name begins with one of the
// prefixes. Every error is one of r; the Scrape then covers everything read before it.
func Read(r io.Reader, prefixes ...string) (Scrape, error) {
	var s Scrape
	kept := 0
	err := lines(r, func(line []byte, whole bool) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			return
		}
		if !whole {
			s.Bad++
			return
		}
		l := lexer{b: line}
		name, quoted, ok := l.name()
		if !ok {
			s.Bad++
			return
		}
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(string(name), p) }) {
			s.Lines++ // even if its value is invalid
			return
		}
		sample, ok := l.sample(string(name), quoted)
		if !ok {
			s.Bad++
			return
		}
		s.Lines++
		if kept += len(line); len(s.Samples) == maxSamples || kept > maxText {
			s.Dropped++
			return
		}
		s.Samples = append(s.Samples, sample)
	})
	return s, err
}

// lines calls f with each line of r. For a line longer than maxLine it passes only the
// beginning, and whole is false. The error is one of r.
func lines(r io.Reader, f func(line []byte, whole bool)) error {
	b := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		f(line, err != bufio.ErrBufferFull)
		for err == bufio.ErrBufferFull {
			_, err = b.ReadSlice('\n')
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lexer reads a sample line from left to right:
//
//	go_info{version="go1.26.8"} 1 1395066363000
//	(1)     (2)      (3)        (4) (5)
//	{"go.info",version="go1.26.8"} 1 # {trace_id="a"} 0.5
//	 (1)                             (6)
//
// (1) name, in quotes and braces if it has characters other than letters, digits, _
// and :; (2) (3) labels; (4) value; (5) time, in milliseconds, or seconds in
// OpenMetrics; (6) exemplar of OpenMetrics.
type lexer struct {
	b  []byte
	at int
}

func (l *lexer) space() {
	for l.at < len(l.b) && (l.b[l.at] == ' ' || l.b[l.at] == '\t') {
		l.at++
	}
}

func (l *lexer) is(c byte) bool {
	if l.at < len(l.b) && l.b[l.at] == c {
		l.at++
		return true
	}
	return false
}

// word reads an unquoted name.
func (l *lexer) word(colon bool) ([]byte, bool) {
	from := l.at
	for l.at < len(l.b) {
		c := l.b[l.at]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':' && colon || '0' <= c && c <= '9' &&
			l.at > from) {
			break
		}
		l.at++
	}
	return l.b[from:l.at], l.at > from
}

// name reads (1). After a quoted name it leaves the labels open.
func (l *lexer) name() (name []byte, quoted, ok bool) {
	if !l.is('{') {
		name, ok = l.word(true)
		// A brace or a space follows a name.
		ok = ok && l.at < len(l.b) && strings.IndexByte("{ \t", l.b[l.at]) >= 0
		return name, false, ok
	}
	l.space()
	text, ok := l.text()
	return []byte(text), true, ok && text != ""
}

// text reads a quoted text.
func (l *lexer) text() (string, bool) {
	if !l.is('"') {
		return "", false
	}
	from, escapes := l.at, false
	for l.at < len(l.b) && l.b[l.at] != '"' {
		if l.b[l.at] == '\\' {
			escapes = true
			l.at++
		}
		l.at++
	}
	if l.at >= len(l.b) {
		return "", false
	}
	s := string(l.b[from:l.at])
	l.at++
	if escapes {
		// Each backslash is read once, left to right; an unknown escape stands for itself.
		s = unescape.Replace(s)
	}
	return s, utf8.ValidString(s)
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

// sample reads the rest of the line after the name.
func (l *lexer) sample(name string, quoted bool) (Sample, bool) {
	s := Sample{Name: name}
	l.space()
	if quoted {
		l.space()
		if !l.is('}') {
			if !l.is(',') || !l.labels(&s) {
				return s, false
			}
		}
	} else if l.is('{') && !l.labels(&s) {
		return s, false
	}
	slices.SortStableFunc(s.Labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(s.Labels); i++ {
		if s.Labels[i].Name == s.Labels[i-1].Name {
			return s, false
		}
	}
	rest := string(l.b[l.at:])
	rest, _, _ = strings.Cut(rest, "#") // value and time contain no #
	fields := strings.Fields(rest)
	if len(fields) < 1 || len(fields) > 2 {
		return s, false
	}
	var ok bool
	if s.Value, ok = number(fields[0]); ok && len(fields) == 2 {
		_, ok = number(fields[1])
	}
	return s, ok
}

// labels reads up to the closing brace, which a comma may precede.
func (l *lexer) labels(s *Sample) bool {
	for {
		l.space()
		if l.is('}') {
			return true
		}
		var name string
		if l.at < len(l.b) && l.b[l.at] == '"' {
			var ok bool
			if name, ok = l.text(); !ok || name == "" {
				return false
			}
		} else {
			word, ok := l.word(false)
			if !ok {
				return false
			}
			name = string(word)
		}
		l.space()
		if !l.is('=') {
			return false
		}
		l.space()
		value, ok := l.text()
		if !ok || len(s.Labels) == maxLabels {
			return false
		}
		s.Labels = append(s.Labels, Label{name, value})
		l.space()
		if !l.is(',') {
			return l.is('}')
		}
	}
}

// number parses a value in Go's syntax, except hexadecimal and underscores.
func number(s string) (float64, bool) {
	if strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
