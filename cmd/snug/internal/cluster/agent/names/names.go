// SPDX-License-Identifier: Apache-2.0

// Package names finds the names of pods and containers: in the API server's list of a node's pods, or
// in the names of the node's links to logs.
package names

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// Source returns the names for a pod's UID and a container's id. ok is false for an unknown
// pod. For a known pod the container's fields may still be "".
type Source interface {
	Lookup(uid, container string) (n Named, ok bool)
}

// Named has the names of a container and of its image. "" is unknown.
type Named struct {
	Namespace, Pod, Container string
	Workload                  string // "Deployment/web", as podid names it
	Image                     string // as in the pod
	Digest                    string // "sha256:..." of the running image
	// SetsProcs reports whether the pod sets GOMAXPROCS for the container; nil = unknown.
	SetsProcs *bool
}

// Same reports whether two names are the same.
func (n *Named) Same(other *Named) bool {
	x, y := *n, *other
	x.SetsProcs, y.SetsProcs = nil, nil
	p, q := n.SetsProcs, other.SetsProcs
	return x == y && (p == nil) == (q == nil) && (p == nil || *p == *q)
}

// Document returns names for the document.
func (n *Named) Document() finding.ContainerNames {
	return finding.ContainerNames{
		Namespace: text(n.Namespace), Pod: text(n.Pod), Name: text(n.Container),
		Workload: text(n.Workload), Image: text(n.Image), Digest: text(n.Digest),
	}
}

// text returns nil for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return new(finding.UTF8(s))
}
