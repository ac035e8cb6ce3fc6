// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// AddEnv gives a container another variable, behind those that it has.
func (c *Container) AddEnv(name, value string) (Edit, bool) {
	return c.add(name, []string{`value: "` + value + `"`}, pair("value", str(value)))
}

// AddReference gives a container a variable that refers to a resource.
func (c *Container) AddReference(name, resource string) (Edit, bool) {
	return c.add(name, []string{"valueFrom:", "  resourceFieldRef:", "    resource: " + resource, `    divisor: "1"`},
		pair("valueFrom", mapping(pair("resourceFieldRef", mapping(append(pair("resource", str(resource)), pair("divisor", str("1"))...))))))
}

func str(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}
func pair(key string, value *yaml.Node) []*yaml.Node { return []*yaml.Node{str(key), value} }
func mapping(content []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

// add writes an item of env: its name, and lines below it.
func (c *Container) add(name string, lines []string, rest []*yaml.Node) (Edit, bool) {
	item := mapping(append(pair("name", str(name)), rest...))
	lines = append([]string{"- name: " + name}, lines...)
	for i := range lines[1:] {
		lines[i+1] = "  " + lines[i+1]
	}
	d := c.Pod.Object.doc
	if c.env != nil {
		if c.env.Kind != yaml.SequenceNode || c.env.Style&yaml.FlowStyle != 0 || len(c.env.Content) == 0 || c.env.Anchor != "" {
			return Edit{}, false
		}
		last := c.env.Content[len(c.env.Content)-1]
		begin, ok := d.offset(c.env)
		end, ok2 := d.end(last)
		indent, alone := d.indent(begin)
		if !ok || !ok2 || last.Style&yaml.FlowStyle != 0 || !alone {
			return Edit{}, false
		}
		e, ok := d.behind(end, indent, lines)
		e.then = func() { c.env.Content = append(slices.Clone(c.env.Content), item) }
		return e, ok
	}
	// Behind the line of the image, which a whole container has.
	if c.node.Style&yaml.FlowStyle != 0 || c.node.Anchor != "" {
		return Edit{}, false
	}
	for i := 0; i+1 < len(c.node.Content); i += 2 {
		if c.node.Content[i].Value != "image" {
			continue
		}
		_, end, ok := d.scalar(c.node.Content[i+1])
		begin, ok2 := d.offset(c.node)
		indent, alone := d.indent(begin)
		if !ok || !ok2 {
			return Edit{}, false
		}
		if !alone { // behind the dash of its list
			line := d.file.Text[bytes.LastIndexByte(d.file.Text[:begin], '\n')+1 : begin]
			if strings.Trim(string(line), " -") != "" {
				return Edit{}, false
			}
			indent = strings.Repeat(" ", len(line))
		}
		e, ok := d.behind(end, indent, append([]string{"env:"}, lines...))
		e.then = func() {
			c.node.Content = append(slices.Clone(c.node.Content), pair("env", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{item}})...)
		}
		return e, ok
	}
	return Edit{}, false
}

// indent is the blank text before an offset on its line; alone is false where
// there is other text.
func (d *document) indent(at int) (blank string, alone bool) {
	line := d.file.Text[bytes.LastIndexByte(d.file.Text[:at], '\n')+1 : at]
	return string(line), len(bytes.Trim(line, " ")) == 0
}

// behind writes lines behind the line that an offset is on.
func (d *document) behind(at int, indent string, lines []string) (Edit, bool) {
	ending := "\n"
	if i := bytes.IndexByte(d.file.Text[at:], '\n'); i >= 0 {
		at += i
		if at > 0 && d.file.Text[at-1] == '\r' {
			at, ending = at-1, "\r\n"
		}
	} else {
		at = len(d.file.Text)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(ending + indent + line)
	}
	return Edit{start: at, end: at, text: b.String()}, true
}

var emptyLine = regexp.MustCompile(`^ *resources:[ \t]*\{[ \t]*\}[ \t]*\r?\n?$`)

// RemoveResources takes empty resources of a pod out, where they are a line of
// their own.
func (p *Pod) RemoveResources() (Edit, bool) {
	if p.Resources == nil || !p.Resources.Empty || p.spec.Kind != yaml.MappingNode {
		return Edit{}, false
	}
	d := p.Object.doc
	at, ok := d.offset(p.Resources.node)
	if !ok {
		return Edit{}, false
	}
	start := bytes.LastIndexByte(d.file.Text[:at], '\n') + 1
	end := len(d.file.Text)
	if i := bytes.IndexByte(d.file.Text[at:], '\n'); i >= 0 {
		end = at + i + 1
	}
	i := slices.Index(p.spec.Content, p.Resources.node)
	if i < 1 || !emptyLine.Match(d.file.Text[start:end]) {
		return Edit{}, false
	}
	return Edit{start, end, "", func() { p.spec.Content = slices.Delete(slices.Clone(p.spec.Content), i-1, i+1) }}, true
}
