// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// Described is a container of Kubernetes, and what is known of it as an API
// server would see it: what a ConfigMap says is not.
type Described struct {
	Object    *manifest.Object
	Pod       *manifest.Pod
	Container *manifest.Container
	Facts     podpatch.Container
}

// Containers are all that files hold, in their order. Limits of a LimitRange
// among them count.
func Containers(files []*manifest.File) []Described {
	in := gather(files)
	var all []Described
	for _, f := range files {
		for _, o := range f.Objects {
			if o.Form != manifest.Kubernetes {
				continue
			}
			for _, p := range o.Pods {
				for _, c := range p.Containers {
					if c.Role != pod.Ephemeral {
						all = append(all, Described{o, p, c, newSubject(in, o, p, c).described()})
					}
				}
			}
		}
	}
	return all
}
