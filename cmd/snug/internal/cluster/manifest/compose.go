// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
