// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// read reads a question; nil where it cannot be read. The answer is ready but for what it
// says.
func read(question []byte) (*request, *answer) {
	s := scanner{text: question}
	var e envelope
	s.members(func(key []byte) {
		switch string(key) {
		case "apiVersion":
			e.apiVersion = s.string()
		case "kind":
			e.kind = s.string()
		case "request":
			e.request = s.request()
		default:
			s.skip()
		}
	})
	a := &answer{}
	if e.request != nil {
		a.uid = e.request.uid // is there though what comes after it makes no sense
	}
	if e.request == nil || !s.end() || e.apiVersion != "admission.k8s.io/v1" || e.kind != "AdmissionReview" {
		a.warnings = []string{unreadable}
		return nil, a
	}
	return e.request, a
}

func (s *scanner) request() *request {
	q := &request{}
	ok := s.members(func(key []byte) {
		switch string(key) {
		case "uid":
			q.uid = s.short()
		case "resource":
			q.group, q.resource = "", ""
			s.members(func(key []byte) {
				switch string(key) {
				case "group":
					q.group = s.string()
				case "resource":
					q.resource = s.string()
				default:
					s.skip()
				}
			})
		case "subResource":
			q.subresource = s.string()
		case "operation":
			q.operation = s.string()
		case "namespace":
			q.namespace = s.short()
		case "object":
			q.object = s.pod()
		case "oldObject":
			q.old = s.pod()
		default:
			s.skip()
		}
	})
	if !ok && q.uid == "" {
		return nil
	}
	return q
}

// mostName bounds a name, in bytes: longer ones are refused, but only after a webhook was
// asked. What is looked at again for each container is bounded as a name is, though no
// validation does that for all of it: no UID, kind or amount is as long.
// Source: k8s.io/apimachinery/pkg/util/validation, DNS1123SubdomainMaxLength.
const mostName = 253

// short is a text of at most mostName. A longer one makes the question wrong.
func (s *scanner) short() string {
	text := s.bytes()
	if len(text) > mostName {
		s.wrong = true
		return ""
	}
	return string(text)
}

func (s *scanner) pod() *pod {
	p := &pod{}
	ok := s.members(func(key []byte) {
		switch string(key) {
		case "metadata":
			s.meta(p)
		case "spec":
			s.spec(p)
		default:
			s.skip()
		}
	})
	if !ok {
		return nil
	}
	return p
}

func (s *scanner) meta(p *pod) {
	p.name, p.generateName, p.labels, p.annotated, p.annotations, p.size, p.controller = "", "", nil, false, nil, 0, owner{}
	p.named = s.members(func(key []byte) {
		switch string(key) {
		case "name":
			p.name = s.short()
		case "generateName":
			p.generateName = s.short()
		case "labels":
			p.labels, _, _ = s.ours()
		case "annotations":
			p.annotations, p.size, p.annotated = s.ours()
		case "ownerReferences":
			p.controller = owner{}
			s.items(func() {
				if o, controls := s.owner(); controls && p.controller.kind == "" {
					p.controller = o
				}
			})
		default:
			s.skip()
		}
	})
}

// mirror is the annotation of what the API shows of a static pod, which is not what runs.
// Source: k8s.io/kubernetes/pkg/kubelet/types, ConfigMirrorAnnotationKey.
const mirror = "kubernetes.io/config.mirror"

// isOurs tells whether a label or an annotation of that key is of interest. There may be
// any number of others, those with the prefix of snug among them.
func isOurs(key []byte) bool {
	switch string(key) {
	case policy.InjectLabel, policy.ProcsLabel, policy.RestartLabel, podid.HashLabel, podid.RolloutHashLabel,
		policy.AddedAnnotation, policy.ObservedAnnotation, SkippedAnnotation, mirror:
		return true
	}
	return false
}

// ours are the members of a map of texts that are of interest, and the size of all that
// it has, as it is written.
func (s *scanner) ours() (all map[string]string, size int, ok bool) {
	ok = s.members(func(key []byte) {
		size += len(key)
		begin := s.at
		if !isOurs(key) {
			if s.peek() != '"' {
				s.other()
				return
			}
			s.skipString()
			size += s.at - begin
			return
		}
		if all == nil {
			all = map[string]string{}
		}
		all[string(key)] = s.string()
		size += s.at - begin
	})
	return all, size, ok
}

func (s *scanner) owner() (o owner, controls bool) {
	s.members(func(key []byte) {
		switch string(key) {
		case "kind":
			o.kind = s.short()
		case "name":
			o.name = s.short()
		case "controller":
			controls = s.bool()
		default:
			s.skip()
		}
	})
	return o, controls
}

func (s *scanner) spec(p *pod) {
	p.restartPolicy, p.limits, p.initContainers, p.plain = "", amounts{}, nil, nil
	s.members(func(key []byte) {
		switch string(key) {
		case "restartPolicy":
			p.restartPolicy = s.string()
		case "resources":
			p.limits, _ = s.resources()
		case "initContainers":
			p.initContainers = s.containers()
		case "containers":
			p.plain = s.containers()
		default:
			s.skip()
		}
	})
}

// mostContainers and mostResizing bound the lists whose elements take much more room here,
// or in an answer, than in a text: more than any pod has.
const (
	mostContainers = 1000
	mostResizing   = 64
	// mostInAll bounds the containers of a question, and the values in their environments
	// that may have to be corrected: a question has two lists in each of two pods. The same
	// key again does not make it more.
	mostInAll = 4 * mostContainers
)

func (s *scanner) containers() []container {
	var all []container
	s.items(func() {
		if s.containersRead++; len(all) == mostContainers || s.containersRead > mostInAll {
			s.fail()
			return
		}
		all = append(all, container{})
		c := &all[len(all)-1]
		if !s.members(func(key []byte) { s.container(c, string(key)) }) {
			s.wrong = true
		}
	})
	return all
}

func (s *scanner) container(c *container, key string) {
	switch key {
	case "name":
		c.name = s.short()
	case "image":
		c.image = s.string()
	case "restartPolicy":
		c.restartPolicy = s.string()
	case "env":
		c.knobs, c.written = [2]knob{}, nil
		n := 0
		c.hasEnv = s.items(func() { s.env(c, n); n++ })
	case "envFrom":
		c.envFrom = 0
		s.items(func() { c.envFrom++; s.skip() })
	case "resources":
		c.limits, c.requests = s.resources()
	case "resizePolicy":
		c.resize = c.resize[:0]
		s.items(func() {
			if len(c.resize) == mostResizing {
				s.fail()
				return
			}
			var r resizing
			s.members(func(key []byte) {
				switch string(key) {
				case "resourceName":
					r.Resource = s.string()
				case "restartPolicy":
					r.Policy = s.string()
				default:
					s.skip()
				}
			})
			c.resize = append(c.resize, r)
		})
	default:
		s.skip()
	}
}

// env reads one variable, the n-th. Values are nobody's business, but for GOMEMLIMIT's.
func (s *scanner) env(c *container, n int) {
	at, literal, reference := -1, false, false
	var value []byte
	s.members(func(key []byte) {
		switch string(key) {
		case "name":
			at = -1
			switch name := s.bytes(); string(name) {
			case knobNames[procs]:
				at = procs
			case knobNames[memory]:
				at = memory
			}
		case "value":
			value = s.bytes()
			literal = len(value) > 0 && string(value) != "off"
		case "valueFrom":
			reference = true
			s.skip()
		default:
			s.skip()
		}
	})
	if at >= 0 {
		k := &c.knobs[at]
		k.set = true
		k.literal = k.literal || literal && !reference
		k.reference = k.reference || reference
		if at == memory && !reference && isSize(value) {
			if s.writtenRead++; s.writtenRead > mostInAll {
				s.fail()
				return
			}
			c.written = append(c.written, written{n, string(value)})
		}
	}
}

// isSize tells whether a GOMEMLIMIT is one that podpatch.Bytes writes.
func isSize(value []byte) bool {
	digits := bytes.TrimSuffix(value, []byte("MiB"))
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}

func (s *scanner) resources() (limits, requests amounts) {
	s.members(func(key []byte) {
		switch string(key) {
		case "limits":
			limits = s.amounts()
		case "requests":
			requests = s.amounts()
		default:
			s.skip()
		}
	})
	return limits, requests
}

func (s *scanner) amounts() (a amounts) {
	s.members(func(key []byte) {
		switch string(key) {
		case "cpu":
			a.cpu = s.short()
		case "memory":
			a.memory = s.short()
		default:
			s.skip()
		}
	})
	return a
}
