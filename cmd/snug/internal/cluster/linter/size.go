// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Sized is a container with other resources and variables.
type Sized struct {
	File, Place string // the file, and the container with its object
	Diff        string // of the file; "" = it had these values
	Container   *manifest.Container
	Left        []lint.Found // what lint finds in the container after that
	source      *lintSource
	before      []byte
}

// sized is a container that may get a size.
type sized struct {
	source *lintSource
	*manifest.Container
}

// title names a container for people, and as Size takes it.
func (s *sized) title() string { return s.Pod.Object.Title() + ", container " + s.Name }

func (s *sized) flag() string { return s.Pod.Object.Name + "/" + s.Name }

func (s *sized) at() string { return finding.UTF8(s.source.Path) + ":" + strconv.Itoa(s.At().Line) }

// Size gives a container in the files that were read other resources and variables, in memory. name is that of a
// container, alone or after that of its object and a slash; "" = the only one. Init containers are taken only by name.
func (l *Linter) Size(name string, w manifest.Wanted) (*Sized, error) {
	s, err := l.container(name)
	if err != nil {
		return nil, err
	}
	before := s.source.Manifest
	after, c, err := before.Size(s.Container, w)
	if err != nil {
		return nil, message.Failed("cannot write "+s.title()+" at "+s.at()+": "+err.Error(),
			"write them by hand: snug size FILE --patch prints them")
	}
	r := &Sized{File: s.source.Path, Place: s.title(), Container: c, source: s.source, before: before.Text}
	s.source.Manifest = after
	if after != before {
		r.Diff = unified(finding.UTF8(s.source.Path), string(before.Text), string(after.Text))
	}
	for _, f := range lint.Check(l.Manifests()).Found {
		if f.Object == c.Pod.Object && (f.Container == c.Name || f.Container == "") {
			r.Left = append(r.Left, f)
		}
	}
	return r, nil
}

// WriteSize writes the file of a container that Size changed.
func (l *Linter) WriteSize(s *Sized) error {
	if s.Diff == "" {
		return nil
	}
	why := ""
	switch {
	case s.source.packed:
		why = "the file is compressed with gzip"
	case !s.source.writable:
		why = "not a regular file"
	default:
		if err := l.writeOne(s.source, s.before); err != nil {
			why = message.Reason(err)
		}
	}
	if why != "" {
		return message.Failed("cannot write "+s.File+": "+why, "leave --write out to get the change as a diff")
	}
	return nil
}

// container returns the container of a name; "" = the only one.
func (l *Linter) container(name string) (*sized, error) {
	var all, found []sized
	template, service := "", ""
	var problem error
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.Manifest == nil {
			continue
		}
		for _, p := range s.Manifest.Problems {
			if p.Template {
				template = s.Path
			} else if problem == nil {
				at := finding.UTF8(s.Path) + ":" + strconv.Itoa(p.Line)
				problem = message.Failed("cannot read "+at+": "+p.Why, "mend it, or name another file")
			}
		}
		for _, o := range s.Manifest.Objects {
			if o.Form != manifest.Kubernetes {
				service = s.Path
				continue
			}
			for _, p := range o.Pods {
				for _, c := range p.Containers {
					switch {
					case c.Loose:
					case c.Templated():
						template = s.Path
					default:
						all = append(all, sized{s, c})
					}
				}
			}
		}
	}
	for _, c := range all {
		if name == "" && c.Main() || name != "" && (c.Name == name || c.flag() == name) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		what := strings.Join(l.Inputs, ", ") + ": several containers"
		hint := "name one by --container: " + places(found)
		if name != "" {
			what += " called " + message.Quote(name)
		}
		if slices.ContainsFunc(found[1:], func(c sized) bool { return c.flag() == found[0].flag() }) {
			hint = "give one file with one of them: " + found[0].at() + ", " + found[1].at()
		}
		return nil, message.Usage(what, hint)
	case problem != nil:
		return nil, problem
	case template != "":
		return nil, message.Failed(template+": the source of a template",
			"set them in the chart's values, often resources and env or extraEnv: snug size FILE --patch prints them")
	case len(all) > 0 && name != "":
		return nil, message.Failed(message.Quote(name)+": no such container", "there are "+places(all))
	case len(all) > 0:
		hint := "name one: --container " + message.Quote(all[0].Name)
		return nil, message.Failed(places(all)+": only init containers", hint)
	case service != "":
		hint := "write memory limit and CPUs by hand: snug size FILE shows them"
		return nil, message.Failed(service+": not a manifest of Kubernetes", hint)
	}
	hint := "name a manifest with a pod, such as a Deployment"
	return nil, message.Failed(strings.Join(l.Inputs, ", ")+": no container", hint)
}

// maxPlaces is the number of containers that a message lists.
const maxPlaces = 5

func places(all []sized) string {
	var names []string
	for i, c := range all {
		if i == maxPlaces {
			names = append(names, strconv.Itoa(len(all)-i)+" more")
			break
		}
		names = append(names, c.flag())
	}
	return strings.Join(names, ", ")
}

// unified returns the differences of two texts as diff -u prints them, without the carriage returns of line ends.
func unified(name, before, after string) string {
	said := diff.Diff(name, []byte(before), name, []byte(after))
	_, text, _ := strings.Cut(string(said), "\n") // "diff NAME NAME"
	return strings.ReplaceAll(text, "\r\n", "\n")
}
