// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// DropIn is the name of the unit of which a file is a drop-in:
// cart.service.d/10-memory.conf is one of cart.service. "" = it is none.
func DropIn(path string) (unit string) {
	dir := filepath.Base(filepath.Dir(path))
	if unit = strings.TrimSuffix(dir, ".d"); unit != dir && filepath.Ext(unit) == ".service" && filepath.Ext(path) == ".conf" {
		return unit
	}
	return ""
}

// part is one of the files that a File is made of.
type part struct {
	name string
	line int // of its first line in all of them, from 1
}

// Where is the file and the line in it of a line.
func (f *File) Where(line int) (name string, in int) {
	name, in = f.Name, line
	for _, p := range f.parts {
		if p.line <= line {
			name, in = p.name, line-p.line+1
		}
	}
	return name, in
}

// Text is a file that has been read.
type Text struct {
	Name string
	Text []byte
}

// ParseUnit reads a service of systemd: its unit, or a drop-in, and the drop-ins
// that follow in their order. As in systemd a later assignment holds, and an
// empty one takes back what was said before.
func ParseUnit(files ...Text) *File {
	f := &File{Name: files[0].Name}
	var all []envfiles.Directive
	for _, t := range files {
		first := 1 + bytes.Count(f.Text, []byte("\n"))
		f.parts = append(f.parts, part{t.Name, first})
		for _, d := range envfiles.Directives(string(t.Text)) {
			if d.Section == "[Service]" {
				d.Line += first - 1
				all = append(all, d)
			}
		}
		f.Text = append(f.Text, t.Text...)
		if !bytes.HasSuffix(f.Text, []byte("\n")) {
			f.Text = append(f.Text, '\n')
		}
	}
	if len(all) == 0 {
		return f
	}
	u := unit{f: f, d: plainDocument(f), c: &Container{}}
	u.c.Resources.Limits = map[string]Field{}
	u.c.node = u.node(all[0].Line, "")
	for i := range all {
		u.directive(&all[i])
	}
	name := DropIn(f.Name)
	u.c.partial = name != ""
	if name == "" {
		name = filepath.Base(f.Name)
	}
	o := &Object{Form: Unit, Kind: "unit", Name: name, doc: u.d, node: u.c.node}
	p := &Pod{Object: o, Containers: []*Container{u.c}}
	u.c.Pod, o.Pods, f.Objects = p, []*Pod{p}, []*Object{o}
	return f
}

// ParseEnvFile reads a file of variables, lines of NAME=VALUE.
func ParseEnvFile(t Text) *File {
	f := &File{Name: t.Name, Text: t.Text}
	u := unit{f: f, d: plainDocument(f)}
	o := &Object{Form: EnvFile, Kind: "env file", Name: t.Name, doc: u.d, node: u.node(1, "")}
	for _, s := range envfiles.Parse(envfiles.Dotenv, string(t.Text)) {
		o.Data = append(o.Data, u.env(s))
	}
	f.Objects = []*Object{o}
	return f
}

// plainDocument is all of a file whose lines end with a line feed and nothing
// else.
func plainDocument(f *File) *document {
	d := &document{file: f, line: 1, text: f.Text, lines: []int{0}}
	for i, c := range f.Text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// unit is a unit that is being read.
type unit struct {
	f *File
	d *document
	c *Container
}

// node is a place: a line, and in it where a text begins.
func (u *unit) node(line int, at string) *yaml.Node {
	column := 1
	if text := u.f.Line(line); at != "" {
		if i := strings.Index(text, at); i > 0 {
			column += utf8.RuneCountInString(text[:i])
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: line, Column: column}
}

func (u *unit) env(s envfiles.Setting) Env {
	n := u.node(s.Line, s.Name)
	e := Env{Name: s.Name, Value: Field{Text: s.Value, String: true, node: n}, node: n, at: n}
	if s.Unknown {
		e.From, e.Value = Elsewhere, Field{}
	}
	return e
}

// unitLimits are the directives that bound a service, each with a value.
// MemoryLimit is what MemoryMax was called for cgroup v1.
var unitLimits = []string{"MemoryMax", "MemoryHigh", "MemoryLimit", "CPUQuota"}

// mostList bounds what assignments add up to: more than a thousand CPUs, one by
// one.
const mostList = 8 << 10

// unitLists are those that hold a list to which assignments add.
var unitLists = []string{"AllowedCPUs", "CPUAffinity"}

// directive reads one assignment in [Service]. Source: systemd.exec(5),
// systemd.resource-control(5), systemd.service(5).
func (u *unit) directive(d *envfiles.Directive) {
	value := strings.TrimSpace(d.Value)
	limits := u.c.Resources.Limits
	switch list := slices.Contains(unitLists, d.Name); {
	case d.Name == "Environment":
		if value == "" {
			u.c.Env = nil
		}
		for _, s := range d.Settings() {
			u.c.Env = append(u.c.Env, u.env(s))
		}
	case d.Name == "EnvironmentFile":
		if value == "" {
			u.c.EnvFrom = nil
			break
		}
		u.c.EnvFrom = append(u.c.EnvFrom, EnvFrom{File: u.envFile(d.Line, strings.TrimPrefix(value, "-"))})
	case d.Name == "ExecStart":
		u.c.Image = ""
		if words := strings.Fields(value); len(words) > 0 {
			u.c.Image = strings.TrimLeft(words[0], "@-:+!|")
			u.c.node = u.node(d.Line, d.Name)
		}
	case list || slices.Contains(unitLimits, d.Name):
		if value == "" {
			delete(limits, d.Name)
			break
		}
		if old := limits[d.Name]; list && old.Set() {
			value = old.Text + " " + value
		}
		if len(value) > mostList {
			value = "too long to be one"
		}
		limits[d.Name] = Field{Text: value, String: true, node: u.node(d.Line, d.Name)}
	}
}

// unitDir is where units are, behind the root of their system: on this machine,
// or in a tree that becomes one.
var unitDir = regexp.MustCompile(`^(.*?/)?(?:etc|run|lib|usr/lib|usr/local/lib)/systemd/system/`)

// SystemRoot is the root of the system in which a unit's file lies, "/" or that of
// a tree that becomes one; ok is false where the path does not tell.
func SystemRoot(path string) (root string, ok bool) {
	m := unitDir.FindStringSubmatch(filepath.ToSlash(path))
	if m == nil {
		return "", false
	}
	return filepath.FromSlash(m[1]), true
}

// envFile is the path of a file of variables on this machine: of units in a
// tree like that of a system.
func (u *unit) envFile(line int, path string) string {
	name, _ := u.f.Where(line)
	root, ok := SystemRoot(name)
	local := strings.TrimPrefix(path, "/")
	if !ok || local == path || !filepath.IsLocal(local) || strings.ContainsAny(path, "%*?[") {
		return ""
	}
	return filepath.Join(root, filepath.FromSlash(local))
}

// EnvFiles are the files of variables that services of a file take, as far as it
// is known where they are.
func (f *File) EnvFiles() []string {
	var all []string
	for _, o := range f.Objects {
		if o.Form == Kubernetes {
			continue
		}
		for _, p := range o.Pods {
			for _, from := range p.Containers[0].EnvFrom {
				if from.File != "" {
					all = append(all, from.File)
				}
			}
		}
	}
	return all
}
