// SPDX-License-Identifier: Apache-2.0

// Package manifest reads Kubernetes manifests, YAML or JSON, many documents to
// a file, as far as they say what a Go program in a container sees: variables,
// limits, and what changes them later. Every value knows its place in the
// text, so that it can be pointed at and edited.
//
// A pod is known by its shape, a list of containers with names, wherever an
// object holds one: so workloads of kinds that nobody has heard of are read as
// well. Services of compose files and systemd units, which give a program the
// same things, are read into the same form. Everything else passes through
// unread. The text is somebody else's:
// sizes, depths and counts are bounded, and a document that cannot be read does
// not hide the others.
package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// File is one stream of documents.
type File struct {
	Name     string
	Text     []byte
	Objects  []*Object // those that say something of a pod, in the order of the text
	Found    int       // objects of Kubernetes, those of no interest included
	Problems []Problem // documents that could not be read
	// Patched says that something else may add to what is described here: a
	// kustomization. It is the caller's to set.
	Patched bool

	lines []int  // where each line begins, as editors count them; made when asked for
	parts []part // of a unit with drop-ins; nil = Text is one file
	// counted is the place that Runes was asked for last.
	counted struct {
		at    Pos
		runes int
	}
	batch *Batch // of manifests and compose files
	full  bool   // no more objects are kept of it
}

// Problem is a document that could not be read.
type Problem struct {
	Line int // from 1
	Why  string
	// Template says that the text is the source of a template, which makes
	// manifests and is none.
	Template bool
}

// Pos is a place in a file. The zero Pos is nowhere.
type Pos struct {
	Line   int // from 1
	Column int // from 1, in bytes
}

// Form is what an object is written for.
type Form uint8

const (
	Kubernetes Form = iota
	Compose         // a service of a compose file: one pod of one container
	Unit            // a service of systemd: the same
	EnvFile         // variables that services take, as a ConfigMap's
)

// Object is one object of Kubernetes, or what is read into its form.
type Object struct {
	Form                              Form
	APIVersion, Kind, Namespace, Name string
	// Source is the template that a line "# Source: ..." above the object
	// names, as helm writes it; "" = none.
	Source string
	Pods   []*Pod
	// Replicas is how many pods the object asks for; 0 = it does not say.
	Replicas int

	VPA    *VPA
	Ranges []Range // of a LimitRange, those for containers
	Data   []Env   // of a ConfigMap: the variables that the runtime of Go knows, and sizes

	doc  *document
	meta *yaml.Node
	node *yaml.Node
}

// Pod is a pod, or a template of one.
type Pod struct {
	Object     *Object
	Resources  *Resources // of the pod as a whole; nil = none are written
	Containers []*Container

	meta  *yaml.Node
	spec  *yaml.Node
	value *pod.Pod // made when asked for
}

// Container is one container of a pod.
type Container struct {
	Pod       *Pod
	Role      pod.Role
	Name      string
	Image     string // "" = a patch of a container that is described elsewhere
	Env       []Env
	EnvFrom   []EnvFrom
	Resources Resources
	Resize    map[string]Field // resizePolicy: "cpu", "memory" -> NotRequired or RestartContainer

	node, env *yaml.Node
	partial   bool // of services, and in the source of a template
}

// workloads are the kinds whose containers are as they are written. Of others it
// is not known what their operators add.
var workloads = map[string]bool{
	"Pod": true, "PodTemplate": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true,
	"ReplicationController": true, "Job": true, "CronJob": true, "Service": true, "Configuration": true, "Revision": true, "Rollout": true,
}

// Partial tells whether other parts of the container may be described elsewhere:
// what is absent here may be there. So it is in a patch of kustomize, which has
// no image, in what others patch, in the objects of operators, in sources of
// templates, in services that extend another one or are parts of one, and in
// drop-ins of units that are not there.
func (c *Container) Partial() bool {
	o := c.Pod.Object
	return c.partial || o.doc.file.Patched || o.Form == Kubernetes && (c.Image == "" || !workloads[o.Kind])
}

// Field is a scalar.
type Field struct {
	Text string // "" also when there is none
	// String is false for a value that Kubernetes reads as a number, a boolean
	// or null: 2, off.
	String bool
	prefix string // what stands before it in its scalar: "GOGC=" in a list of a compose file
	node   *yaml.Node
}

// Set tells whether there is such a field.
func (f Field) Set() bool { return f.node != nil }

// Env is one variable.
type Env struct {
	Name  string
	Value Field // a literal
	From  Origin
	// Of a reference to a resource.
	Resource, Divisor, Container Field
	// Of a reference to a key of a ConfigMap or a Secret.
	Ref, Key string

	node *yaml.Node // the item of the list
	at   *yaml.Node // what to point at
	ref  *yaml.Node // resourceFieldRef
}

// Origin is where a variable's value comes from.
type Origin uint8

const (
	Literal   Origin = iota
	Resource         // resourceFieldRef
	ConfigKey        // configMapKeyRef
	Elsewhere        // a Secret, a field of the pod, a file, whoever fills a template in
)

// EnvFrom takes all keys of a ConfigMap, a Secret or a file for variables.
type EnvFrom struct {
	ConfigMap string // "" = a Secret, or a file
	Prefix    string
	File      string // the path of a file, as a path on this machine; "" = not known which
}

// Resources are requests and limits, by the names of resources; of services
// limits only, by the names that compose files and units have for them.
type Resources struct {
	Limits, Requests map[string]Field
	Empty            bool // there is nothing in them: {}
	node             *yaml.Node
}

// VPA is what a VerticalPodAutoscaler does, and to whom.
type VPA struct {
	Kind, Name string // its target
	Mode       string // Off, Initial, Recreate, InPlaceOrRecreate, InPlace, Auto; "" = its default
	// Off are names of containers that it leaves alone; "*" is all that are not
	// named in On.
	Off, On map[string]bool
	// Controls are the resources that it changes, by container, "*" for the
	// others; absent = both.
	Controls map[string][]string
	// RequestsOnly are containers whose limits it leaves alone.
	RequestsOnly map[string]bool
}

// Range is what a LimitRange gives to containers that do not say it themselves,
// what follows from its max and min included.
type Range struct{ Limits, Requests map[string]Field }

// Place is where a node is in its file.
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

// Title is an object's name for people: "Deployment shop/cart".
func (o *Object) Title() string {
	if o.Namespace != "" {
		return o.Kind + " " + o.Namespace + "/" + o.Name
	}
	return o.Kind + " " + o.Name
}

// File is the file that an object is in.
func (o *Object) File() *File { return o.doc.file }

// At is where an object begins.
func (o *Object) At() Pos { return o.place(o.node) }

// FieldAt is where a field of an object is.
func (o *Object) FieldAt(f Field) Pos { return o.place(f.node) }

// EnvAt is where a variable of an object's pods is: its value where it has one.
func (o *Object) EnvAt(e *Env) Pos { return o.place(e.at) }

// NameAt is where a variable of an object's pods is named.
func (o *Object) NameAt(e *Env) Pos { return o.place(e.node) }

// At is where a container begins.
func (c *Container) At() Pos { return c.Pod.Object.place(c.node) }

// ResourcesAt is where resources begin.
func (p *Pod) ResourcesAt(r *Resources) Pos { return p.Object.place(r.node) }

// Annotations are those of that name: of the pod, and of its object.
func (p *Pod) Annotations(name string) []Field {
	if p.meta == p.Object.meta {
		return p.Object.Annotations(name)
	}
	w := walker{left: 100_000}
	all := p.Object.Annotations(name)
	if f := field(w.get(w.get(p.meta, "annotations"), name)); f.Set() {
		all = append(all, f)
	}
	return all
}

// Annotations are those of that name: one, or none.
func (o *Object) Annotations(name string) []Field {
	w := walker{left: 100_000}
	if f := field(w.get(w.get(o.meta, "annotations"), name)); f.Set() {
		return []Field{f}
	}
	return nil
}
