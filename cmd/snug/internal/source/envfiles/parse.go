// SPDX-License-Identifier: Apache-2.0

package envfiles

import (
	"slices"
	"strings"
)

// dockerfile reads ENV instructions:
//
//	ENV NAME=VALUE NAME="VALUE" \
//	    NAME='VALUE'
//	ENV NAME VALUE
//
// Source: docs.docker.com/reference/dockerfile. A value with a $ is unknown: it is expanded when
// the image is built.
func dockerfile(text string) []Setting {
	var found []Setting
	escape, stage := `\`, 0
	var stages []baseImage
	var ignores []string
	all := strings.Split(text, "\n")
	for i := 0; i < len(all); i++ {
		line := strings.TrimSpace(all[i])
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if strings.ReplaceAll(strings.ToLower(comment), " ", "") == "escape=`" && i == 0 {
				escape = "`"
			}
			ignores = ignored(comment)
			continue
		}
		if line == "" {
			continue
		}
		word, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		first := i
		var rest strings.Builder
		part := line[len(word):]
		for {
			body, more := strings.CutSuffix(part, escape)
			rest.WriteString(body + "\n") // line feeds keep the line numbers right
			if !more {
				break
			}
			// Comments and empty lines within an instruction are skipped.
			for i++; i < len(all); i++ {
				part = strings.TrimSpace(all[i])
				if part == "" || strings.HasPrefix(part, "#") {
					rest.WriteByte('\n')
					continue
				}
				break
			}
			if i == len(all) {
				break
			}
		}
		switch strings.ToUpper(word) {
		case "FROM":
			stage++
			stages = append(stages, baseOf(rest.String(), stages))
		case "ENV":
			for _, s := range envInstruction(rest.String(), escape[0]) {
				s.Line += first + 1
				s.Stage, s.Ignores = stage, ignores
				found = append(found, s)
			}
		}
		ignores = nil
	}
	// The image is made by the last stage and those that it is built from.
	for at := len(stages); at > 0; at = stages[at-1].stage {
		for i := range found {
			found[i].Final = found[i].Final || found[i].Stage == at
		}
	}
	return found
}

// baseImage is the base of a stage: an earlier stage, from 1; 0 = an image from elsewhere.
type baseImage struct {
	stage int
	name  string // of the stage itself, in lower case
}

// baseOf reads the text after FROM: [--platform=P] IMAGE [AS NAME].
func baseOf(text string, earlier []baseImage) (b baseImage) {
	words := slices.DeleteFunc(strings.Fields(strings.ToLower(text)),
		func(w string) bool { return strings.HasPrefix(w, "--") })
	if len(words) == 0 {
		return b
	}
	if len(words) > 2 && words[1] == "as" {
		b.name = words[2]
	}
	for i, e := range earlier {
		if e.name == words[0] && e.name != "" {
			b.stage = i + 1
		}
	}
	return b
}

// envInstruction reads the text after ENV, with its lines joined by line feeds. Line counts from
// 0.
func envInstruction(text string, escape byte) []Setting {
	trimmed := strings.TrimSpace(text)
	name, value, _ := strings.Cut(trimmed, " ")
	if !strings.Contains(name, "=") {
		// The old form: everything after the name is the value.
		if value = strings.TrimSpace(value); knob(name) {
			return []Setting{setting(name, strings.Trim(value, `"'`))}
		}
		return nil
	}
	return assignments(text, escape)
}

// assignments reads words of the form NAME=VALUE, separated by white space. Quotes and the escape
// character protect white space. Line counts the line feeds before a word.
func assignments(text string, escape byte) []Setting {
	var found []Setting
	line, at := 0, 0
	for at < len(text) {
		if c := text[at]; c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			if c == '\n' {
				line++
			}
			at++
			continue
		}
		word, next := unquote(text, at, escape)
		name, value, ok := strings.Cut(word, "=")
		if ok && knob(name) && !strings.Contains(value, "\n") { // otherwise a quote is not closed
			s := setting(name, value)
			s.Line = line
			found = append(found, s)
		}
		line += strings.Count(text[at:next], "\n")
		at = next
	}
	return found
}

// unquote returns the word at an offset, without its quotes, and the offset of its end.
func unquote(text string, at int, escape byte) (word string, end int) {
	var b strings.Builder
	var quote byte
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == escape && quote != '\'' && at+1 < len(text):
			at++
			b.WriteByte(text[at])
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			return b.String(), at
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), at
}

// setting returns a variable with its value. The value is kept only if it is plain.
func setting(name, value string) Setting {
	if !plain(value) {
		return Setting{Name: name, Unknown: true}
	}
	return Setting{Name: name, Value: value}
}

// plain reports whether no part of a value is filled in later, by a variable ($) or a systemd
// specifier (%).
func plain(value string) bool {
	return !strings.Contains(value, "$") && !strings.Contains(strings.TrimSuffix(value, "%"), "%") &&
		!strings.ContainsAny(value, "\n\r{}<>")
}

// Directive is an assignment in a section of a systemd unit.
type Directive struct {
	Section     string // "[Service]"
	Name, Value string // several lines of a value are joined by line feeds
	Line        int    // the first line, from 1
	ignores     []string
}

// Directives reads a systemd unit, or a drop-in of one:
//
//	[Section]
//	# a comment
//	Name=value \
//	    and the rest of it
//
// Source: systemd.syntax(7).
func Directives(text string) []Directive {
	var found []Directive
	var ignores []string
	section := ""
	all := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	for i := 0; i < len(all); i++ {
		line := strings.TrimSpace(all[i])
		if line == "" {
			continue
		}
		if line[0] == '#' || line[0] == ';' {
			ignores = ignored(line[1:])
			continue
		}
		if line[0] == '[' {
			section, ignores = line, nil
			continue
		}
		first := i
		var rest strings.Builder
		for {
			body, more := strings.CutSuffix(line, `\`)
			rest.WriteString(body + "\n")
			if !more || i+1 >= len(all) {
				break
			}
			i++
			if line = strings.TrimSpace(all[i]); strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
				line = `\`
			}
		}
		if name, value, ok := strings.Cut(rest.String(), "="); ok {
			found = append(found, Directive{section, strings.TrimSpace(name), value, first + 1, ignores})
		}
		ignores = nil
	}
	return found
}

// Settings returns the variables of an Environment=:
//
//	Environment=NAME=VALUE "NAME=VALUE" \
//	    NAME=VALUE
//
// Source: systemd.exec(5).
func (d *Directive) Settings() []Setting {
	all := assignments(d.Value, '\\')
	for i := range all {
		all[i].Line += d.Line
		all[i].Stage, all[i].Ignores = 1, d.ignores
	}
	return all
}

// unit reads the variables of a systemd unit. An empty Environment= clears the ones before it.
func unit(text string) []Setting {
	var found []Setting
	for _, d := range Directives(text) {
		if d.Section != "[Service]" || d.Name != "Environment" {
			continue
		}
		if strings.TrimSpace(d.Value) == "" {
			found = nil
		}
		found = append(found, d.Settings()...)
	}
	return found
}

// lines visits the lines of a file that are not comments, trimmed, with the ids that a comment
// above silences. Lines are numbered from 1.
func lines(text string, visit func(number int, line string, ignores []string)) {
	var ignores []string
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			ignores = ignored(comment)
			continue
		}
		visit(number, line, ignores)
		ignores = nil
	}
}

// dotenv reads lines of these forms:
//
//	# a comment
//	NAME=VALUE # and another
//	export NAME="VALUE"
func dotenv(text string) []Setting {
	var found []Setting
	lines(text, func(number int, line string, ignores []string) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); ok && knob(name) {
			s := setting(name, scalar(value))
			s.Line, s.Stage, s.Ignores = number, 1, ignores
			found = append(found, s)
		}
	})
	return found
}

// compose reads lines of a compose file that set a variable, in a mapping or a list:
//
//	GOGC: "200"
//	- GOGC=200
//
// Each environment: begins a new stage. A variable without a value has the shell's value.
func compose(text string) []Setting {
	var found []Setting
	stage := 0
	lines(text, func(number int, line string, ignores []string) {
		if strings.HasPrefix(line, "environment:") {
			stage++
		}
		item, list := strings.CutPrefix(line, "- ")
		var name, value string
		ok := list
		if list {
			name, value, _ = strings.Cut(scalar(item), "=")
		} else if name, value, ok = strings.Cut(line, ":"); ok {
			value = scalar(value)
		}
		if name = strings.Trim(strings.TrimSpace(name), `"'`); ok && knob(name) {
			s := setting(name, value)
			s.Unknown = s.Unknown || value == ""
			s.Line, s.Stage, s.Ignores = number, stage, ignores
			found = append(found, s)
		}
	})
	return found
}

// scalar returns a value without its quotes and without a comment after it.
func scalar(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : 1+end]
		}
		return value
	}
	if i := strings.Index(value, " #"); i >= 0 {
		value = value[:i]
	}
	return strings.TrimSpace(value)
}
