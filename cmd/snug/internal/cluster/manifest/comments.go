// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"
	"strings"
)

// Comment is a comment in a file.
type Comment struct {
	At    Pos    // of the # or ;
	Text  string // after the # or ;
	Alone bool   // it is alone on its line
}

// Comments returns the comments of a file, in order. Text in a string is not a comment.
func (f *File) Comments() []Comment {
	if len(f.Objects) > 0 && (f.Objects[0].Form == Unit || f.Objects[0].Form == EnvFile) {
		return lineComments(string(f.Text))
	}
	var s commentScanner
	for i, line := range strings.Split(string(f.Text), "\n") {
		s.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	return s.found
}

// lineComments returns the lines that begin with # or ;. Source: systemd.syntax(7).
func lineComments(text string) []Comment {
	var all []Comment
	for i, line := range strings.Split(text, "\n") {
		blank := strings.TrimLeft(line, " \t")
		if blank != "" && (blank[0] == '#' || blank[0] == ';') {
			all = append(all, Comment{Pos{i + 1, len(line) - len(blank) + 1}, strings.TrimRight(blank[1:], "\r"), true})
		}
	}
	return all
}

// commentScanner scans lines of YAML, to tell comments from text in scalars. A plain scalar of several
// lines, one of which begins with a quote, misleads it.
type commentScanner struct {
	found []Comment
	depth int  // of [ and {
	quote byte // of a quoted scalar that continues on the line; 0 = none

	block         bool // the line may be part of a block scalar
	parent, inner int  // the indentation of its parent, -1 = top level; and its own, -1 = unknown yet
}

// blockHeader matches the start of a block scalar. Source: yaml.org/spec/1.1, 9.2.
var blockHeader = regexp.MustCompile(`^[|>][-+]?([1-9]?)[-+]?[ \t]*(?:[ \t]#|$)`)

func (s *commentScanner) line(n int, line string) {
	begin := 0
	if s.quote == 0 && strings.HasPrefix(line, "---") && (len(line) == 3 || line[3] == ' ' || line[3] == '\t') {
		*s = commentScanner{found: s.found}
		begin = 3
	} else if s.block && s.within(line) {
		return
	}
	for i := begin; i < len(line); {
		c := line[i]
		switch {
		case s.quote != 0:
			i = s.quoted(line, i)
		case c == '#' && (i == 0 || blank(line[i-1])):
			s.found = append(s.found, Comment{Pos{n, i + 1}, line[i+1:], strings.TrimSpace(line[:i]) == ""})
			return
		case c == '"' || c == '\'':
			s.quote = c
			i++
		case c == '[' || c == '{':
			s.depth++
			i++
		case c == ']' || c == '}':
			s.depth = max(0, s.depth-1)
			i++
		case (c == '|' || c == '>') && s.depth == 0 && blockHeader.MatchString(line[i:]):
			s.begin(line, i)
			i++
		case blank(c) || c == ',',
			strings.IndexByte("-?:", c) >= 0 && (i+1 == len(line) || blank(line[i+1]) || s.depth > 0):
			i++
		case c == '!' || c == '&' || c == '*':
			for i < len(line) && !blank(line[i]) && (s.depth == 0 || strings.IndexByte(",[]{}", line[i]) < 0) {
				i++
			}
		default:
			i = s.plain(line, i)
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// plain returns the end of a plain scalar.
func (s *commentScanner) plain(line string, i int) int {
	for i++; i < len(line); i++ {
		switch c := line[i]; {
		case c == '#' && blank(line[i-1]), c == ':' && (i+1 == len(line) || blank(line[i+1])),
			s.depth > 0 && strings.IndexByte(",[]{}", c) >= 0:
			return i
		}
	}
	return i
}

// quoted returns the end of a quoted scalar, or of the line.
func (s *commentScanner) quoted(line string, i int) int {
	for ; i < len(line); i++ {
		switch {
		case line[i] == '\\' && s.quote == '"':
			i++
		case line[i] != s.quote:
		case s.quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		default:
			s.quote = 0
			return i + 1
		}
	}
	return i
}

// begin begins the block scalar whose header is at i.
func (s *commentScanner) begin(line string, i int) {
	s.block, s.parent, s.inner = true, -1, -1
	at := 0
	for at < i && (line[at] == ' ' || line[at] == '-' && at+1 < i && blank(line[at+1])) {
		if line[at] == '-' {
			s.parent = at
		}
		at++
	}
	// The parent is the key or, without a key, the list.
	if key := strings.TrimRight(line[:i], " \t"); at < i && strings.Contains(key, ":") {
		s.parent = at
	}
	if m := blockHeader.FindStringSubmatch(line[i:]); m[1] != "" {
		s.inner = max(s.parent, 0) + int(m[1][0]-'0')
	}
}

// within reports whether a line is part of the block scalar above it.
func (s *commentScanner) within(line string) bool {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if indent == len(line) {
		return true
	}
	if s.inner < 0 && indent > s.parent {
		s.inner = indent
	}
	if s.inner >= 0 && indent >= s.inner {
		return true
	}
	s.block = false
	return false
}
