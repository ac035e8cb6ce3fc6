// SPDX-License-Identifier: Apache-2.0

package review

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/limits"
)

// What is read of an AdmissionReview. An API server sends objects as it would store
// them: defaulted, quantities as text, absent lists and maps left out.
// Source: k8s.io/api/admission/v1 and k8s.io/api/core/v1.
type (
	envelope struct {
		apiVersion, kind string
		request          *request
	}
	request struct {
		uid                          string
		group, resource, subresource string
		operation, namespace         string
		object, old                  *pod
	}
	pod struct {
		named                 bool // there is metadata
		name, generateName    string
		labels                map[string]string // those that are of interest, see isOurs
		annotated             bool              // there are annotations
		annotations           map[string]string // as labels
		size                  int               // of all annotations as they are written, in bytes
		controller            owner             // none: the zero owner
		restartPolicy         string
		limits                amounts
		initContainers, plain []container
	}
	owner     struct{ kind, name string }
	container struct {
		name, image      string
		restartPolicy    string // of an init container; Always makes it a sidecar
		hasEnv           bool   // there is a list, though maybe an empty one
		knobs            [2]knob
		written          []written
		envFrom          int
		limits, requests amounts
		resize           []resizing
	}
	// knob is GOMAXPROCS or GOMEMLIMIT in an env.
	knob struct {
		set       bool
		literal   bool // it is written out, and neither off nor empty: a restart changes nothing
		reference bool // a restart reads it anew
	}
	// written is a GOMEMLIMIT in an env with a value that snug may have written.
	written struct {
		at    int // in the list
		value string
	}
	amounts struct{ cpu, memory string }
)

// The knobs.
const (
	procs = iota
	memory
)

var knobNames = [...]string{procs: "GOMAXPROCS", memory: "GOMEMLIMIT"}

// role is what a container is for.
type role uint8

const (
	plain   role = iota // one of the pod's containers
	first               // an init container that ends
	sidecar             // an init container that keeps running
)

func (c *container) asInit() role {
	if c.restartPolicy == "Always" {
		return sidecar
	}
	return first
}

// sidecars is how many containers run beside the main ones for as long as these do.
func (p *pod) sidecars() int {
	n := 0
	for i := range p.initContainers {
		if p.initContainers[i].asInit() == sidecar {
			n++
		}
	}
	return n
}

// workload is what a pod belongs to, as podid names it.
func (p *pod) workload() string {
	if c := p.controller; c.kind != "" {
		return podid.Workload(c.kind, c.name, p.labels[podid.HashLabel], p.labels[podid.RolloutHashLabel])
	}
	return podid.Alone(p.name, p.generateName)
}

// What no machine has is as good as no limit.
const (
	mostMemory = 1 << 60   // bytes
	mostCPU    = 1_000_000 // cores
)

// facts are what decides on a container, the program left out.
func (p *pod) facts(c *container, as role, sidecars int) podpatch.Container {
	f := podpatch.Container{
		CPULimit: inMilli(or(c.limits.cpu, p.limits.cpu)), CPURequest: inMilli(c.requests.cpu),
		MemoryLimit: inBytes(or(c.limits.memory, p.limits.memory)),
		Opaque:      c.envFrom > 0, NoRestart: as == first || p.restartPolicy == "Never",
	}
	if c.limits.memory == "" {
		others := sidecars
		switch as {
		case plain:
			others += len(p.plain) - 1
		case sidecar:
			others += len(p.plain) // and itself, beside at least one of these
		}
		f.MemoryShared = others > 0
	}
	for i, k := range c.knobs {
		if k.set {
			if f.Set == nil {
				f.Set = map[string]bool{}
			}
			f.Set[knobNames[i]] = true
		}
	}
	for _, r := range c.resize {
		if f.Resize == nil {
			f.Resize = map[string]string{}
		}
		f.Resize[r.Resource] = r.Policy
	}
	return f
}

func or(own, pod string) string {
	if own != "" {
		return own
	}
	return pod
}

func inMilli(text string) limits.Value[int64] {
	return value(text, quantity.Quantity.Milli, mostCPU*1000)
}

func inBytes(text string) limits.Value[int64] {
	return value(text, quantity.Quantity.Value, mostMemory)
}

// value reads an amount. "", 0 and what is above most are none; what is no amount is
// unknown.
func value(text string, in func(quantity.Quantity) int64, most int64) limits.Value[int64] {
	if text == "" {
		return limits.NoLimit[int64]()
	}
	q, ok := quantity.Parse(text)
	if !ok {
		return limits.Value[int64]{}
	}
	n := in(q)
	if n <= 0 || n > most || n == math.MaxInt64 {
		return limits.NoLimit[int64]()
	}
	return limits.Of(n)
}
