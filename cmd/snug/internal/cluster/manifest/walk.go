// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// walker visits the nodes of a document. left bounds its steps, because aliases can turn a small text
// into a large tree.
type walker struct {
	doc  *document
	left int
	room int  // bytes for what is made of the nodes
	full bool // there are more than maxObjects
}

// makes ends the walk when there is no room for size bytes.
func (w *walker) makes(size int) {
	if w.room -= size; w.room < 0 {
		w.left = 0
	}
}

// get returns the value of a key of a mapping. It follows aliases and merges with <<. nil = missing or
// null.
func (w *walker) get(m *yaml.Node, key string) *yaml.Node {
	if found := w.find(m, key, 4); found != nil && !null(found) {
		return found
	}
	return nil
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// find is get, but returns a null node for null.
func (w *walker) find(m *yaml.Node, key string, merges int) *yaml.Node {
	if m = follow(m); m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	var found *yaml.Node
	for i := 0; i+1 < len(m.Content) && w.left > 0; i += 2 {
		w.left--
		// The last of equal keys wins.
		if k := follow(m.Content[i]); k != nil && k.Kind == yaml.ScalarNode && k.Value == key {
			found = m.Content[i+1]
		}
	}
	if found == nil && merges > 0 {
		for i := 0; i+1 < len(m.Content) && w.left > 0 && found == nil; i += 2 {
			if m.Content[i].Tag != "!!merge" {
				continue
			}
			from := follow(m.Content[i+1])
			if from != nil && from.Kind == yaml.SequenceNode {
				for _, one := range from.Content {
					if found = w.find(one, key, merges-1); found != nil {
						break
					}
				}
			} else {
				found = w.find(from, key, merges-1)
			}
		}
	}
	return follow(found)
}

// follow returns a node, or the target of an alias.
func follow(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// items returns the elements of a sequence.
func (w *walker) items(n *yaml.Node) []*yaml.Node {
	if n = follow(n); n == nil || n.Kind != yaml.SequenceNode || w.left <= 0 {
		return nil
	}
	w.left -= len(n.Content)
	return n.Content
}

// members returns the keys of a mapping that are scalars, with their values.
func (w *walker) members(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if n = follow(n); n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content) && w.left > 0; i += 2 {
			w.left--
			key, value := follow(n.Content[i]), follow(n.Content[i+1])
			if key != nil && value != nil && key.Kind == yaml.ScalarNode && !yield(key, value) {
				return
			}
		}
	}
}

// fields returns the scalars of a mapping, by key.
func (w *walker) fields(n *yaml.Node) map[string]Field {
	if n = follow(n); n == nil || n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil
	}
	all := map[string]Field{}
	for key, value := range w.members(n) {
		if f := field(value); f.Set() {
			all[key.Value] = f
		}
	}
	return all
}

// field returns a scalar; the zero Field for anything else, and for null.
func field(n *yaml.Node) Field {
	if n = follow(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return Field{}
	}
	return Field{Text: n.Value, String: isString(n), node: n}
}

// isString reports whether Kubernetes reads a scalar as a string. It reads YAML 1.1, where some words
// are booleans. Source: sigs.k8s.io/yaml.
func isString(n *yaml.Node) bool {
	if n.Tag != "!!str" && n.Tag != "" && n.Tag != "!" {
		own := strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!")
		return n.Style&yaml.TaggedStyle != 0 && own || n.Tag == "!!timestamp"
	}
	plain := n.Style&^yaml.FlowStyle == 0
	word := slices.Contains([]string{"yes", "on", "true", "no", "off", "false"}, strings.ToLower(n.Value))
	return !plain || !word
}

func text(n *yaml.Node) string { return field(n).Text }

// object reads an object, or the objects of a List.
func (w *walker) object(n *yaml.Node, depth int) {
	n = follow(n)
	kind := text(w.get(n, "kind"))
	if kind == "" || depth > 3 {
		return
	}
	if len(w.doc.file.Objects) >= maxObjects {
		w.full = true
		return
	}
	if items := w.get(n, "items"); items != nil && strings.HasSuffix(kind, "List") {
		for _, item := range w.items(items) {
			w.object(item, depth+1)
		}
		return
	}
	w.doc.file.Found++
	w.makes(objectSize)
	meta := w.get(n, "metadata")
	o := &Object{
		APIVersion: text(w.get(n, "apiVersion")), Kind: kind,
		Namespace: text(w.get(meta, "namespace")), Name: text(w.get(meta, "name")), doc: w.doc, meta: meta, node: n,
	}
	o.Replicas, _ = strconv.Atoi(text(w.get(w.get(n, "spec"), "replicas")))
	kept := false
	switch kind {
	case "CustomResourceDefinition":
		return
	case "VerticalPodAutoscaler":
		o.VPA = w.vpa(n)
	case "HorizontalPodAutoscaler":
		o.HPA = w.hpa(n)
	case "LimitRange":
		o.Ranges = w.ranges(n)
	case "ConfigMap":
		o.Data = w.data(w.get(n, "data"))
	case "Namespace":
		kept = w.get(meta, "labels") != nil
	case "Secret":
		o.Data = w.secret(w.get(n, "stringData"))
	default:
		w.pods(o, n, workloads[kind], 0)
	}
	if o.VPA != nil || o.HPA != nil || o.Ranges != nil || o.Data != nil || o.Pods != nil || kept {
		w.doc.file.Objects = append(w.doc.file.Objects, o)
	}
}

// pods finds pods by their shape: a mapping with a spec that has containers. native says that n is an
// object or a template of Kubernetes, whose spec is that of a pod. The spec of an operator's object
// may use the same keys for other things.
func (w *walker) pods(o *Object, n *yaml.Node, native bool, depth int) {
	if n = follow(n); n == nil || depth > maxDepth || w.left <= 0 {
		return
	}
	w.left--
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			w.pods(o, item, native, depth+1)
		}
	case yaml.MappingNode:
		w.loose(o, n)
		for key, value := range w.members(n) {
			switch {
			case key.Value == "status" || key.Value == "metadata":
			case value.Kind == yaml.ScalarNode:
				if key.Value == "values" { // of a chart, in an Application
					w.pods(o, w.inner(value), false, depth+1)
				}
			case w.isPodSpec(value, o.knative()):
				w.pod(o, w.get(n, "metadata"), value, native && key.Value == "spec")
			default:
				w.pods(o, value, strings.HasSuffix(strings.ToLower(key.Value), "template"), depth+1)
			}
		}
	}
}

// knative reports whether an object is of Knative. Its objects have kinds and shapes of Kubernetes, but
// their containers may lack names, and their pods have no resources.
func (o *Object) knative() bool { return strings.Contains(o.APIVersion, "knative.dev/") }

// isPodSpec reports whether a mapping is the spec of a pod: it has a container with a name or, if
// nameless, with an image.
func (w *walker) isPodSpec(n *yaml.Node, nameless bool) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	for _, key := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, c := range w.items(w.get(n, key)) {
			if w.get(c, "name") != nil || nameless && w.get(c, "image") != nil {
				return true
			}
		}
	}
	return false
}

// pod reads a pod. Only a native pod has resources of the pod.
func (w *walker) pod(o *Object, meta, spec *yaml.Node, native bool) {
	p := &Pod{Object: o, meta: meta, spec: spec}
	for key, value := range texts(meta, "annotations") {
		p.noted += len(key) + len(value)
	}
	p.os = [2]string{text(w.get(w.get(spec, "os"), "name")), text(w.get(w.get(spec, "nodeSelector"), pod.OSLabel))}
	if n := w.get(spec, "resources"); native && !o.knative() && n != nil && n.Kind == yaml.MappingNode {
		r := w.resources(n)
		p.Resources = &r
	}
	for _, of := range []struct {
		key  string
		role pod.Role
	}{{"initContainers", pod.Init}, {"containers", pod.Main}, {"ephemeralContainers", pod.Ephemeral}} {
		for _, n := range w.items(w.get(spec, of.key)) {
			if n = follow(n); n == nil || n.Kind != yaml.MappingNode {
				continue
			}
			c := w.container(n)
			c.Pod, c.Role = p, of.role
			if c.Name == "" && o.knative() {
				c.Name = knativeName
			}
			if of.role == pod.Init && text(w.get(n, "restartPolicy")) == "Always" {
				c.Role = pod.Sidecar
			}
			p.Containers = append(p.Containers, c)
		}
	}
	o.Pods = append(o.Pods, p)
}

// knativeName is Knative's name for a container without one. Source:
// knative.dev/serving/pkg/apis/config, DefaultUserContainerName.
const knativeName = "user-container"

func (w *walker) container(n *yaml.Node) *Container {
	c := &Container{Name: text(w.get(n, "name")), Image: text(w.get(n, "image")), node: n, env: w.get(n, "env")}
	c.partial, c.Resources = w.doc.templated(), w.resources(w.get(n, "resources"))
	w.makes(partSize + fieldSize*(len(c.Resources.Limits)+len(c.Resources.Requests)))
	for _, item := range w.items(c.env) {
		if e, ok := w.variable(item); ok {
			c.Env = append(c.Env, e)
		}
	}
	for _, item := range w.items(w.get(n, "envFrom")) {
		from := EnvFrom{Prefix: text(w.get(item, "prefix"))}
		if ref := w.get(item, "configMapRef"); ref != nil {
			from.ConfigMap = text(w.get(ref, "name"))
		}
		c.EnvFrom = append(c.EnvFrom, from)
	}
	for _, item := range w.items(w.get(n, "resizePolicy")) {
		if c.Resize == nil {
			c.Resize = map[string]Field{}
		}
		c.Resize[text(w.get(item, "resourceName"))] = field(w.get(item, "restartPolicy"))
	}
	return c
}

// variable reads an item of env.
func (w *walker) variable(item *yaml.Node) (Env, bool) {
	n := follow(item)
	if n == nil || n.Kind != yaml.MappingNode {
		return Env{}, false
	}
	name := w.get(n, "name")
	e := Env{Name: text(name), node: item, at: name}
	if name == nil || e.Name == "" {
		return Env{}, false
	}
	w.makes(envSize)
	if value := w.get(n, "value"); value != nil {
		e.Value = field(value)
		e.at = value
		return e, true
	}
	from := w.get(n, "valueFrom")
	if from == nil {
		return e, true
	}
	e.From = Elsewhere
	if ref := w.get(from, "resourceFieldRef"); ref != nil {
		e.From, e.ref = Resource, ref
		e.Resource, e.Divisor = field(w.get(ref, "resource")), field(w.get(ref, "divisor"))
		e.Container = field(w.get(ref, "containerName"))
		if e.at = e.Resource.node; e.Divisor.Set() && e.Divisor.Text != "1" {
			e.at = e.Divisor.node
		}
		if e.at == nil {
			e.at = ref
		}
	} else if ref := w.get(from, "configMapKeyRef"); ref != nil {
		e.From, e.Ref, e.Key = ConfigKey, text(w.get(ref, "name")), text(w.get(ref, "key"))
	}
	return e, true
}

func (w *walker) resources(n *yaml.Node) Resources {
	if n = follow(n); n == nil || n.Kind != yaml.MappingNode {
		return Resources{}
	}
	return Resources{
		Limits: w.fields(w.get(n, "limits")), Requests: w.fields(w.get(n, "requests")),
		Empty: len(n.Content) == 0, node: n,
	}
}

// data reads the keys of a ConfigMap that are variables of the Go runtime, and sizes under any key: a
// container may use one for its GOMEMLIMIT.
func (w *walker) data(n *yaml.Node) []Env {
	var all []Env
	for key, value := range w.members(n) {
		if value.Kind != yaml.ScalarNode {
			continue
		}
		if slices.Contains(knobNames, key.Value) || isString(value) && size.MatchString(value.Value) {
			w.makes(envSize)
			all = append(all, Env{Name: key.Value, Value: field(value), at: value})
		}
	}
	return all
}

// ranges reads the defaults of a LimitRange for containers. A missing default follows from max, a
// missing request from the default or else from min.
// Source: k8s.io/kubernetes/pkg/apis/core/v1, SetDefaults_LimitRangeItem.
func (w *walker) ranges(n *yaml.Node) []Range {
	var all []Range
	for _, item := range w.items(w.get(w.get(n, "spec"), "limits")) {
		if text(w.get(item, "type")) == "Container" {
			limits := filled(w.fields(w.get(item, "default")), w.fields(w.get(item, "max")))
			requests := filled(filled(w.fields(w.get(item, "defaultRequest")), limits), w.fields(w.get(item, "min")))
			all = append(all, Range{limits, requests})
		}
	}
	return all
}

// filled returns a, with the keys that only b has.
func filled(a, b map[string]Field) map[string]Field {
	if a == nil {
		return b
	}
	all := maps.Clone(b)
	if all == nil {
		all = map[string]Field{}
	}
	maps.Copy(all, a)
	return all
}

func (w *walker) vpa(n *yaml.Node) *VPA {
	spec := w.get(n, "spec")
	target := w.get(spec, "targetRef")
	v := &VPA{
		Kind: text(w.get(target, "kind")), Name: text(w.get(target, "name")),
		Mode: text(w.get(w.get(spec, "updatePolicy"), "updateMode")),
		Off:  map[string]bool{}, On: map[string]bool{}, Controls: map[string][]string{}, RequestsOnly: map[string]bool{},
	}
	for _, item := range w.items(w.get(w.get(spec, "resourcePolicy"), "containerPolicies")) {
		name := text(w.get(item, "containerName"))
		if text(w.get(item, "mode")) == "Off" {
			v.Off[name] = true
		} else {
			v.On[name] = true
		}
		if text(w.get(item, "controlledValues")) == "RequestsOnly" {
			v.RequestsOnly[name] = true
		}
		if controls := w.get(item, "controlledResources"); controls != nil {
			v.Controls[name] = []string{}
			for _, c := range w.items(controls) {
				v.Controls[name] = append(v.Controls[name], text(c))
			}
		}
	}
	return v
}

func (w *walker) hpa(n *yaml.Node) *HPA {
	spec := w.get(n, "spec")
	target := w.get(spec, "scaleTargetRef")
	h := &HPA{Kind: text(w.get(target, "kind")), Name: text(w.get(target, "name"))}
	if p := field(w.get(spec, "targetCPUUtilizationPercentage")); p.Set() { // autoscaling/v1
		h.Targets = append(h.Targets, Target{Resource: "cpu", Percent: p.Text})
	}
	for _, item := range w.items(w.get(spec, "metrics")) {
		for _, key := range []string{"resource", "containerResource"} {
			m := w.get(item, key)
			if p := field(w.get(w.get(m, "target"), "averageUtilization")); p.Set() {
				target := Target{Resource: text(w.get(m, "name")), Container: text(w.get(m, "container")), Percent: p.Text}
				h.Targets = append(h.Targets, target)
			}
		}
	}
	return h
}
