// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/snug-go/snug/cmd/snug/internal/cluster/pod"

// Value returns the pod as a pod.Pod, without positions. It lacks the keys of compose files and units
// that differ from those of Kubernetes. The size of its annotations is that of their texts, not of JSON.
func (p *Pod) Value() *pod.Pod {
	if p.value != nil {
		return p.value
	}
	w := walker{left: 10_000}
	p.value = &pod.Pod{Metadata: &pod.Metadata{Annotations: pod.Texts{Of: texts(p.meta, "annotations"), Size: p.noted}}, Spec: pod.Spec{
		RestartPolicy: text(w.get(p.spec, "restartPolicy")),
		OS:            pod.OS{Name: p.os[0]}, NodeSelector: pod.Texts{Of: map[string]string{pod.OSLabel: p.os[1]}},
	}}
	spec := &p.value.Spec
	if p.Resources != nil {
		spec.Resources = p.Resources.value()
	}
	lists := map[pod.Role]*pod.Containers{pod.Main: &spec.Containers, pod.Init: &spec.InitContainers, pod.Sidecar: &spec.InitContainers, pod.Ephemeral: &spec.EphemeralContainers}
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
	v := pod.Container{Name: c.Name, Image: c.Image, EnvFrom: pod.Count(len(c.EnvFrom)), Resources: c.Resources.value(), Env: pod.Env{Given: c.env != nil}}
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
