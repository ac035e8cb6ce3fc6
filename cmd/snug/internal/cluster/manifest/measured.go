// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// measuredWords are in every text of what was measured.
const measuredWords = " bytes in "

// measured reads the data of a ConfigMap, if it has something that was measured, valid or not.
func (w *walker) measured(n *yaml.Node) map[string]string {
	all, found := map[string]string{}, false
	for key, f := range w.fields(n) {
		all[key] = f.Text
		found = found || strings.Contains(f.Text, measuredWords)
	}
	if !found {
		return nil
	}
	return all
}

// owner reads the controller of a pod.
func (w *walker) owner(meta *yaml.Node) pod.Owner {
	for _, o := range w.items(w.get(meta, "ownerReferences")) {
		if kind := text(w.get(o, "kind")); kind != "" && text(w.get(o, "controller")) == "true" {
			return pod.Owner{Kind: kind, Name: text(w.get(o, "name"))}
		}
	}
	return pod.Owner{}
}

// Workload returns the workload of the pod, as package podid names it; "" = it is a pod of its own.
func (p *Pod) Workload() string {
	m := pod.Metadata{Controller: pod.Owner{Kind: p.Object.Kind, Name: p.Object.Name}}
	if p.Object.Kind == "Pod" {
		m = pod.Metadata{Labels: pod.Texts{Of: p.Labels()}, Controller: p.owner}
	}
	if m.Controller.Kind == "" {
		return ""
	}
	return m.Workload()
}
