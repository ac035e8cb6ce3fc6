// SPDX-License-Identifier: Apache-2.0

// Package manifest reads Kubernetes manifests, YAML or JSON, with many documents per file. It reads
// what affects a Go program in a container: variables, limits, and what changes them later. Every
// value has a position in the text, to report and to edit it.
//
// The package recognizes a pod by its shape, a list of containers with names, anywhere in an object.
// So it also reads workloads of unknown kinds. It reads services of compose files and systemd units
// into the same form, and skips everything else. The text is untrusted: sizes, depths and counts are
// bounded, and a document that cannot be read does not hide the others.
package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// File is one stream of documents.
type File struct {
	Name     string
	Text     []byte
	Objects  []*Object // objects that affect a pod, in the order of the text
	Found    int       // number of objects of Kubernetes, including skipped ones
	Problems []Problem // documents that could not be read
	Unjudged []Problem // lines that set a variable of the Go runtime in a form that was not judged
	// Patched says that a kustomization may add to these objects. The caller sets it.
	Patched bool

	lines []int  // offsets of the lines, as editors count them; computed on demand
	parts []part // the files of a unit with drop-ins; nil = Text is one file
	// counted caches the last call of Runes.
	counted struct {
		at    Pos
		runes int
	}
	batch *Batch // of manifests and compose files
	full  bool   // no more objects of this file are kept
}

// Problem is a document that could not be read.
type Problem struct {
	Line int // from 1
	Why  string
	// Template says that the text is the source of a template, not a manifest.
	Template bool
}

// Pos is a position in a file. The zero Pos is none.
type Pos struct {
	Line   int // from 1
	Column int // from 1, in bytes
}

// Form is the format of an object.
type Form uint8

const (
	Kubernetes Form = iota
	Compose         // a service of a compose file: one pod of one container
	Unit            // a service of systemd: likewise
	EnvFile         // an env file of services, like a ConfigMap
)

// Object is an object of Kubernetes, or one of another Form.
type Object struct {
	Form                              Form
	APIVersion, Kind, Namespace, Name string
	// Source is the template in helm's line "# Source: ..." above the object; "" = none.
	Source string
	Pods   []*Pod
	// Replicas is the number of pods; 0 = not given.
	Replicas int

	VPA    *VPA
	HPA    *HPA
	Ranges []Range // of a LimitRange, for containers
	Data   []Env   // of a ConfigMap: the variables of the Go runtime, and sizes

	doc  *document
	meta *yaml.Node
	node *yaml.Node
}

// Pod is a pod or a pod template.
type Pod struct {
	Object     *Object
	Resources  *Resources // of the pod as a whole; nil = none
	Containers []*Container

	meta, spec *yaml.Node
	noted      int       // bytes of all annotations
	os         [2]string // its os, and that of its nodeSelector; "" = none
	value      *pod.Pod  // computed on demand
}

// Container is one container of a pod.
type Container struct {
	Pod       *Pod
	Role      pod.Role
	Name      string
	Image     string // "" = a patch of a container described elsewhere
	Env       []Env
	EnvFrom   []EnvFrom
	Resources Resources
	Resize    map[string]Field // resizePolicy: "cpu", "memory" -> NotRequired or RestartContainer

	node, env *yaml.Node
	partial   bool // for services, template sources and loose ones
	Loose     bool // found by env and resources beside each other, outside a pod
}

// workloads are the kinds whose containers run as written. What the operators of other kinds add is
// unknown.
var workloads = map[string]bool{
	"Pod": true, "PodTemplate": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true,
	"ReplicationController": true, "Job": true, "CronJob": true, "Service": true, "Configuration": true, "Revision": true,
	"Rollout": true,
}

// Partial reports whether missing parts of the container may be elsewhere: it is a patch of kustomize,
// which has no image, or patched; an object of an operator; the source of a template; a service
// that extends another or is a part of one; or a drop-in without its unit.
func (c *Container) Partial() bool {
	o := c.Pod.Object
	return c.partial || o.doc.file.Patched || o.Form == Kubernetes && (c.Image == "" || !workloads[o.Kind])
}

// Field is a scalar.
type Field struct {
	Text string // "" if there is none
	// String is false for a value that Kubernetes reads as a number, a boolean
	// or null: 2, off.
	String bool
	prefix string // the text before it in its scalar: "GOGC=" in a list of a compose file
	node   *yaml.Node
}

// Set reports whether the field exists.
func (f Field) Set() bool { return f.node != nil }

// Env is one variable.
type Env struct {
	Name  string
	Value Field // a literal
	From  Origin
	// For a reference to a resource.
	Resource, Divisor, Container Field
	// For a reference to a key of a ConfigMap.
	Ref, Key string

	node *yaml.Node // the item of the list
	at   *yaml.Node // the node to report
	ref  *yaml.Node // resourceFieldRef
}

// Origin is the source of a variable's value.
type Origin uint8

const (
	Literal   Origin = iota
	Resource         // resourceFieldRef
	ConfigKey        // configMapKeyRef
	Elsewhere        // a Secret, a field of the pod, a file, a template
)

// EnvFrom sets variables from all keys of a ConfigMap, a Secret or a file.
type EnvFrom struct {
	ConfigMap string // "" = a Secret or a file
	Prefix    string
	File      string // the path of a file on this machine; "" = unknown
}

// Resources are requests and limits, by resource. Services have only limits, by their key in a
// compose file or a unit.
type Resources struct {
	Limits, Requests map[string]Field
	Empty            bool // they are {}
	node             *yaml.Node
}

// VPA is a VerticalPodAutoscaler.
type VPA struct {
	Kind, Name string // its target
	Mode       string // Off, Initial, Recreate, InPlaceOrRecreate, InPlace, Auto; "" = its default
	// Off are the containers that it does not change, by name; "*" is all that are not in On.
	Off, On map[string]bool
	// Controls are the resources that it changes, by container, "*" for the others; missing =
	// both.
	Controls map[string][]string
	// RequestsOnly are the containers whose limits it does not change.
	RequestsOnly map[string]bool
}

// HPA is a HorizontalPodAutoscaler.
type HPA struct {
	Kind, Name string // its target
	Targets    []Target
}

// Target is a share of what pods request, in percent, that a HorizontalPodAutoscaler aims at.
type Target struct {
	Resource  string // cpu, memory
	Container string // "" = all containers of the pod together
	Percent   string // as written
}

// Range holds the defaults of a LimitRange for containers, including those that follow from its max
// and min.
type Range struct{ Limits, Requests map[string]Field }

// place returns the position of a node in its file.
func (o *Object) place(n *yaml.Node) Pos {
	if n == nil {
		n = o.node
	}
	at, ok := o.doc.offset(n)
	if !ok {
		return Pos{o.doc.line, 1}
	}
	return o.doc.file.pos(at)
}

// Title returns the name of an object for people: "Deployment shop/cart".
func (o *Object) Title() string {
	if o.Namespace != "" {
		return o.Kind + " " + o.Namespace + "/" + o.Name
	}
	return o.Kind + " " + o.Name
}

// File returns the file of an object.
func (o *Object) File() *File { return o.doc.file }

// At returns where an object begins.
func (o *Object) At() Pos { return o.place(o.node) }

// FieldAt returns the position of a field of an object.
func (o *Object) FieldAt(f Field) Pos { return o.place(f.node) }

// EnvAt returns the position of a variable of an object's pods: its value, if it has one.
func (o *Object) EnvAt(e *Env) Pos { return o.place(e.at) }

// NameAt returns the position of the entry of a variable of an object's pods.
func (o *Object) NameAt(e *Env) Pos { return o.place(e.node) }

// At returns where a container begins.
func (c *Container) At() Pos { return c.Pod.Object.place(c.node) }

// ResourcesAt returns where resources begin.
func (p *Pod) ResourcesAt(r *Resources) Pos { return p.Object.place(r.node) }

// Annotations returns the annotations of a name, of the pod and of its object.
func (p *Pod) Annotations(name string) []Field {
	all := p.Object.Annotations(name)
	if p.meta != p.Object.meta {
		all = append(all, annotation(p.meta, name)...)
	}
	return all
}

// Annotations returns the annotation of a name, if there is one.
func (o *Object) Annotations(name string) []Field { return annotation(o.meta, name) }

func annotation(meta *yaml.Node, name string) []Field {
	w := walker{left: 100_000}
	if f := field(w.get(w.get(meta, "annotations"), name)); f.Set() {
		return []Field{f}
	}
	return nil
}

// Value returns the pod as a pod.Pod, without positions. It lacks the keys of compose files and units
// that differ from those of Kubernetes. The size of its annotations is that of their texts, not of JSON.
func (p *Pod) Value() *pod.Pod {
	if p.value != nil {
		return p.value
	}
	w := walker{left: 10_000}
	p.value = &pod.Pod{
		Metadata: &pod.Metadata{Annotations: pod.Texts{Of: texts(p.meta, "annotations"), Size: p.noted}},
		Spec: pod.Spec{
			RestartPolicy: text(w.get(p.spec, "restartPolicy")), OS: pod.OS{Name: p.os[0]},
			NodeSelector: pod.Texts{Of: map[string]string{pod.OSLabel: p.os[1]}},
		},
	}
	spec := &p.value.Spec
	if p.Resources != nil {
		spec.Resources = p.Resources.value()
	}
	lists := map[pod.Role]*pod.Containers{
		pod.Main: &spec.Containers, pod.Init: &spec.InitContainers, pod.Sidecar: &spec.InitContainers,
		pod.Ephemeral: &spec.EphemeralContainers,
	}
	for _, c := range p.Containers {
		list := lists[c.Role]
		*list = append(*list, c.value())
	}
	return p.value
}

// Value returns the container as in the pod's Value.
func (c *Container) Value() *pod.Container {
	v := c.value()
	return &v
}

func (c *Container) value() pod.Container {
	v := pod.Container{
		Name: c.Name, Image: c.Image, EnvFrom: pod.Count(len(c.EnvFrom)), Resources: c.Resources.value(),
		Env: pod.Env{Given: c.env != nil},
	}
	if c.Role == pod.Sidecar {
		v.RestartPolicy = "Always"
	}
	for i := range c.Env {
		if e := &c.Env[i]; e.Name == pod.Procs || e.Name == pod.Memory {
			v.Env.Vars = append(v.Env.Vars, pod.Var{At: i, Name: e.Name, Value: e.Value.Text, Reference: e.From != Literal})
		}
	}
	for resource, f := range c.Resize {
		v.Resize = append(v.Resize, pod.Resizing{Resource: resource, Policy: f.Text})
	}
	return v
}

func (r *Resources) value() pod.Resources {
	amounts := func(all map[string]Field) pod.Amounts {
		return pod.Amounts{CPU: all["cpu"].Text, Memory: all["memory"].Text}
	}
	return pod.Resources{Limits: amounts(r.Limits), Requests: amounts(r.Requests)}
}

// Labels returns the labels of a pod.
func (p *Pod) Labels() map[string]string { return labels(p.meta) }

// Labels returns the labels of an object.
func (o *Object) Labels() map[string]string { return labels(o.meta) }

func labels(meta *yaml.Node) map[string]string { return texts(meta, "labels") }

// texts returns the scalars of a mapping in metadata.
func texts(meta *yaml.Node, key string) map[string]string {
	w := walker{left: 10_000}
	all := map[string]string{}
	for name, f := range w.fields(w.get(meta, key)) {
		all[name] = f.Text
	}
	return all
}
