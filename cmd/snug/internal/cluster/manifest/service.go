// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// serviceKnobs are the variables of services to keep. Others may be secrets.
var serviceKnobs = append(slices.Clone(knobNames), "AUTOMEMLIMIT")

// serviceLimits are the keys of a service with limits.
var serviceLimits = []string{"mem_limit", "cpus", "cpu_quota", "cpu_period", "cpuset"}

// compose reads a compose file. It returns false for other files: a compose file has services, and at
// least one has a key that only services of compose files have.
//
//	services:
//	  NAME:
//	    image: IMAGE
//	    environment: {NAME: VALUE} or [NAME=VALUE]
//	    env_file: PATH or [PATH] or [{path: PATH}]
//	    mem_limit: 512m
//	    deploy: {resources: {limits: {cpus: "0.5", memory: 512m}}}
//
// Source: docs.docker.com/reference/compose-file. Values from extends, several files or variables are
// unknown; docker compose config resolves them.
func (w *walker) compose(root *yaml.Node) bool {
	services := w.get(root, "services")
	if services == nil || services.Kind != yaml.MappingNode || w.get(root, "kind") != nil {
		return false
	}
	known := []string{"image", "build", "environment", "env_file", "extends", "deploy"}
	var names, nodes []*yaml.Node
	is := false
	for i := 0; i+1 < len(services.Content) && w.left > 0 && len(names) < maxObjects; i += 2 {
		name, n := follow(services.Content[i]), follow(services.Content[i+1])
		w.left--
		if name == nil || name.Kind != yaml.ScalarNode || n == nil || n.Kind != yaml.MappingNode {
			continue
		}
		names, nodes = append(names, name), append(nodes, n)
		is = is || slices.ContainsFunc(known, func(key string) bool { return w.get(n, key) != nil })
	}
	if !is {
		return false
	}
	w.full = len(names) == maxObjects
	for i, n := range nodes {
		if w.left <= 0 {
			break
		}
		w.service(names[i], n)
	}
	return true
}

func (w *walker) service(name, n *yaml.Node) {
	o := &Object{Form: Compose, Kind: "service", Name: name.Value, doc: w.doc, node: n}
	c := &Container{Image: text(w.get(n, "image")), node: name}
	w.makes(objectSize + partSize)
	c.partial = c.Image == "" && w.get(n, "build") == nil || w.get(n, "extends") != nil
	c.Resources.Limits = map[string]Field{}
	limit := func(in *yaml.Node, key, as string) {
		if f := field(w.get(in, key)); f.Set() {
			c.Resources.Limits[as] = f
		}
	}
	for _, key := range serviceLimits {
		limit(n, key, key)
	}
	deploy := w.get(n, "deploy")
	limits := w.get(w.get(deploy, "resources"), "limits")
	limit(limits, "memory", "deploy.resources.limits.memory")
	limit(limits, "cpus", "deploy.resources.limits.cpus")
	for _, replicas := range []*yaml.Node{w.get(n, "scale"), w.get(deploy, "replicas")} {
		if count, err := strconv.Atoi(text(replicas)); err == nil {
			o.Replicas = count
		}
	}
	c.Env = w.serviceEnv(w.get(n, "environment"))
	c.EnvFrom = w.envFiles(w.get(n, "env_file"))
	if w.get(n, "extends") != nil {
		c.EnvFrom = append(c.EnvFrom, EnvFrom{})
	}
	p := &Pod{Object: o, Containers: []*Container{c}}
	c.Pod, o.Pods = p, []*Pod{p}
	w.doc.file.Objects = append(w.doc.file.Objects, o)
}

// serviceEnv reads environment, a mapping or a list. A variable without a value has that of the shell,
// and a $ begins a substitution; both are unknown.
func (w *walker) serviceEnv(n *yaml.Node) []Env {
	var all []Env
	add := func(name string, f Field, at *yaml.Node) {
		w.makes(envSize)
		e := Env{Name: name, Value: f, node: at, at: at}
		if !f.Set() || strings.Contains(f.Text, "$") {
			e.Value, e.From = Field{}, Elsewhere
		}
		all = append(all, e)
	}
	for _, name := range serviceKnobs {
		if value := w.find(n, name, 4); value != nil {
			add(name, field(value), value)
		}
	}
	for _, item := range w.items(n) {
		f := field(item)
		name, value, has := strings.Cut(f.Text, "=")
		if !slices.Contains(serviceKnobs, name) {
			continue
		}
		f.Text, f.String, f.prefix = value, true, name+"="
		if !has {
			f = Field{}
		}
		add(name, f, follow(item))
	}
	return all
}

// envFiles reads env_file. A file outside the directory of the compose file is unknown.
func (w *walker) envFiles(n *yaml.Node) []EnvFrom {
	var all []EnvFrom
	add := func(n *yaml.Node) {
		from := EnvFrom{}
		name := filepath.FromSlash(text(n))
		if filepath.IsLocal(name) && !strings.Contains(name, "$") && w.doc.file.Name != "-" {
			from.File = filepath.Join(filepath.Dir(w.doc.file.Name), name)
		}
		all = append(all, from)
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		add(n)
	}
	for _, item := range w.items(n) {
		if item = follow(item); item != nil && item.Kind == yaml.MappingNode {
			item = w.get(item, "path")
		}
		add(item)
	}
	return all
}

// DropIn returns the unit of a drop-in: cart.service for cart.service.d/10-memory.conf; "" = the file
// is not a drop-in.
func DropIn(path string) (unit string) {
	dir := filepath.Base(filepath.Dir(path))
	unit, ok := strings.CutSuffix(dir, ".d")
	if ok && filepath.Ext(unit) == ".service" && filepath.Ext(path) == ".conf" {
		return unit
	}
	return ""
}

// part is one of the files of a File.
type part struct {
	name string
	line int // of its first line in the File, from 1
}

// Where returns the name of the file of a line, and the line in it.
func (f *File) Where(line int) (name string, in int) {
	name, in = f.Name, line
	for _, p := range f.parts {
		if p.line <= line {
			name, in = p.name, line-p.line+1
		}
	}
	return name, in
}

// Text is the text of a file.
type Text struct {
	Name string
	Text []byte
}

// ParseUnit parses a service of systemd: its unit, or a drop-in, and then its drop-ins in order. As in
// systemd, the last assignment wins, and an empty one resets the value.
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

// ParseEnvFile parses an env file, lines of NAME=VALUE.
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

// plainDocument returns a file as one document, in which only line feeds end lines.
func plainDocument(f *File) *document {
	d := &document{file: f, line: 1, text: f.Text, lines: []int{0}}
	for i, c := range f.Text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// unit is a unit being parsed.
type unit struct {
	f *File
	d *document
	c *Container
}

// node returns a node with a position: a line, and the column of a text in it.
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

// unitLimits are the directives with a limit. MemoryLimit is the name of MemoryMax for cgroup v1.
var unitLimits = []string{"MemoryMax", "MemoryHigh", "MemoryLimit", "CPUQuota"}

// maxList bounds a list after all assignments, in bytes: more than a thousand single CPUs.
const maxList = 8 << 10

// unitLists are the directives with a list to which assignments add.
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
		if len(value) > maxList {
			value = "too long"
		}
		limits[d.Name] = Field{Text: value, String: true, node: u.node(d.Line, d.Name)}
	}
}

// unitDir matches the directory of a unit, below the root of this machine or of a file system tree.
var unitDir = regexp.MustCompile(`^(.*?/)?(?:etc|run|lib|usr/lib|usr/local/lib)/systemd/system/`)

// SystemRoot returns the root of the file system of a unit's path: "/", or the root of a tree. ok is
// false if the path is not in a directory of units.
func SystemRoot(path string) (root string, ok bool) {
	m := unitDir.FindStringSubmatch(filepath.ToSlash(path))
	if m == nil {
		return "", false
	}
	return filepath.FromSlash(m[1]), true
}

// envFile returns the path of an env file on this machine, if the unit is in a file system tree; else
// "".
func (u *unit) envFile(line int, path string) string {
	name, _ := u.f.Where(line)
	root, ok := SystemRoot(name)
	local := strings.TrimPrefix(path, "/")
	if !ok || local == path || !filepath.IsLocal(local) || strings.ContainsAny(path, "%*?[") {
		return ""
	}
	return filepath.Join(root, filepath.FromSlash(local))
}

// EnvFiles returns the paths of the env files of services, as far as they are known.
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
