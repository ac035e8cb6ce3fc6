// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// Described is a container of Kubernetes with the facts that an API server sees, which are
// without the contents of ConfigMaps.
type Described struct {
	Object    *manifest.Object
	Pod       *manifest.Pod
	Container *manifest.Container
	Facts     podpatch.Container
}

// Containers returns all containers in files, in their order. LimitRanges among the files
// count.
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
