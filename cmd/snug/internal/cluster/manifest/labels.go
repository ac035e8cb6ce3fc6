// SPDX-License-Identifier: Apache-2.0

package manifest

import "go.yaml.in/yaml/v3"

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
