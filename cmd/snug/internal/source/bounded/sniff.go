// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"unicode/utf8"
)

// Kind is the kind of content, judged by its beginning.
type Kind uint8

const (
	Unknown    Kind = iota
	Profile         // pprof's format, profile.proto
	RuntimeLog      // a log with lines of gctrace or schedtrace
	Metrics         // Prometheus text or OpenMetrics
	Trace           // a Go execution trace
	Vars            // JSON of package expvar
	HeapText        // /debug/pprof/heap?debug=1
	Goroutines      // printed by the runtime
	Document        // a JSON document of snug, or several, one per line
	ELF             // a program or a library
	Text            // other text; gctrace lines may come later
)

func (k Kind) String() string {
	names := [...]string{"unknown", "CPU or other profile", "log with gctrace or schedtrace", "Prometheus metrics",
		"execution trace", "expvar variables", "heap profile as text", "printed goroutines", "snug document", "ELF file",
		"text"}
	if int(k) >= len(names) {
		return names[Unknown]
	}
	return names[k]
}

var (
	execution = regexp.MustCompile(`^go 1\.[0-9]{1,3} trace\x00`)
	// The start of a line that golog recognises.
	runtimeLog = regexp.MustCompile(`gc [0-9]{1,10} @[0-9]{1,10}\.[0-9]{1,9}s [0-9]{1,3}%|` +
		`SCHED [0-9]{1,13}ms: gomaxprocs=[0-9]`)
	// expvar writes each variable on a line, and always has cmdline and memstats.
	vars     = regexp.MustCompile(`^\s*\{\s*([^\x00]*\n\s*)?"(cmdline": ?\[|memstats": ?\{)`)
	document = regexp.MustCompile(`^\s*\{\s*"snug"\s*:\s*"v[0-9]`)
	comment  = regexp.MustCompile(`(?m)^# (TYPE [a-zA-Z_:][a-zA-Z0-9_:.]* ` +
		`(counter|gauge|histogram|gaugehistogram|summary|untyped|unknown|info|stateset)|` +
		`HELP [a-zA-Z_:][a-zA-Z0-9_:.]* .+)\r?$`)
	metric = regexp.MustCompile(`(?m)^(go|process|snug)_[a-z0-9_]+(\{[^\n]*\})? [-+0-9.eE]+( [0-9.]+)?\r?$`)
	// A goroutine's state and its first call.
	goroutines = regexp.MustCompile(`(?m)^goroutine [0-9]+ [^\n]*\[[^\[\]\n]+\][^\n]*:\r?\n[^\s()][^\n]*\)\r?\n\t`)
	heapText   = regexp.MustCompile(`^heap profile: [0-9]+: [0-9]+ \[[0-9]+: [0-9]+\] @ heap/`)
)

// Sniff returns the kind of content that begins with head, which should be some KiB long: the
// Head of a Source. It does not unpack.
func Sniff(head []byte) Kind {
	head = head[:min(len(head), headSize)]
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return ELF
	case execution.Match(head):
		return Trace
	case isProfile(head):
		return Profile
	case document.Match(head):
		return Document
	case heapText.Match(head):
		return HeapText
	case runtimeLog.Match(head):
		return RuntimeLog
	case vars.Match(head):
		return Vars
	case comment.Match(head) || metric.Match(head):
		return Metrics
	case goroutines.Match(head):
		return Goroutines
	case isText(head):
		return Text
	}
	return Unknown
}

// profileFields holds the wire type of each field of a Profile in profile.proto: 0 = number, 2 =
// length-delimited, -1 = either.
var profileFields = [...]int8{1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 0, 8: 0, 9: 0, 10: 0, 11: 2, 12: 0, 13: -1, 14: 0,
	15: 0}

// isProfile reports whether head consists of fields of a Profile, including a sample_type.
// Writers begin with different fields; Go begins with the time or the period.
func isProfile(head []byte) bool {
	const sampleType = 1
	found, fields := false, 0
	for ; len(head) > 0; fields++ {
		field, wire := head[0]>>3, int8(head[0]&7)
		if head[0] >= 0x80 || field == 0 || int(field) >= len(profileFields) || wire != 0 && wire != 2 ||
			profileFields[field] >= 0 && profileFields[field] != wire {
			return false
		}
		n, size := binary.Uvarint(head[1:])
		if size == 0 {
			break // the head ends here
		}
		if size < 0 {
			return false
		}
		head = head[1+size:]
		if wire != 2 {
			continue
		}
		if field == sampleType {
			if n > uint64(len(head)) || !isValueType(head[:n]) {
				return false
			}
			found = true
		}
		head = head[min(n, uint64(len(head))):]
	}
	return found && fields > 1 // a profile has several fields
}

// isValueType reports whether b is a ValueType: two small numbers. A number that is 0 may be
// missing.
func isValueType(b []byte) bool {
	for i := range 2 {
		if len(b) == 0 {
			return i > 0
		}
		n, size := binary.Uvarint(b[1:])
		if b[0] != 1<<3 && b[0] != 2<<3 || size <= 0 || n >= 1<<31 {
			return false
		}
		b = b[1+size:]
	}
	return len(b) == 0
}

// isText reports whether head has only characters that occur in logs. The last one may be cut.
func isText(head []byte) bool {
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 {
			return i > 0 && !utf8.FullRune(head[i:])
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\x1b' && r != '\f' && r != '\b' {
			return false
		}
		i += n
	}
	return len(head) > 0
}
