// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

const (
	// maxPods bounds the pods. A kubelet runs at most 110 by default, and ended pods are not
	// listed.
	maxPods = 5000
	// maxContainers bounds the containers of a pod; the API server bounds only the size of a
	// pod.
	maxContainers = 250
	// maxNameLen and maxImageLen bound the bytes of a name and of an image's name; longer ones
	// are left out. Source: k8s.io/apimachinery pkg/util/validation,
	// DNS1123SubdomainMaxLength. An image has no such bound; registries allow 255 and a tag or
	// digest.
	maxNameLen, maxImageLen = 253, 512
)

// knownPod is the kept part of a pod.
type knownPod struct {
	namespace, name, workload string
	containers                map[string]knownContainer // by id

	hash  string // of the manifest that it claims to mirror; "" = none
	claim int    // earlier claims are smaller
}

type knownContainer struct {
	name, image, digest string
	env                 procsEnv
}

// procsEnv says whether a container of a pod sets GOMAXPROCS.
type procsEnv byte

const (
	procsUnknown procsEnv = iota // it has variables from a ConfigMap or a Secret, or is not in the pod
	procsSet
	procsUnset
)

func envOf(c *pod.Container) procsEnv {
	switch {
	case slices.ContainsFunc(c.Env.Vars, func(v pod.Var) bool { return v.Name == pod.Procs }):
		return procsSet
	case c.EnvFrom > 0:
		return procsUnknown
	}
	return procsUnset
}

// known returns whether it is set; nil = unknown.
func (e procsEnv) known() *bool {
	if e == procsUnknown {
		return nil
	}
	return new(e == procsSet)
}

// apiPod is the decoded part of a pod; the rest, which may be a megabyte, is skipped.
// Source: k8s.io/api/core/v1.
type apiPod struct {
	pod.Pod
	Status struct {
		ContainerStatuses          []containerStatus `json:"containerStatuses"`
		InitContainerStatuses      []containerStatus `json:"initContainerStatuses"`
		EphemeralContainerStatuses []containerStatus `json:"ephemeralContainerStatuses"`
	} `json:"status"`
}

type containerStatus struct {
	Name        string `json:"name"`
	ContainerID string `json:"containerID"`
	ImageID     string `json:"imageID"`
}

// lenient are the decoding options for answers of an API server, which has validated them;
// only names are used.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// meta returns a pod's metadata, empty if it has none.
func (p *apiPod) meta() *pod.Metadata {
	if p.Metadata == nil {
		return &pod.Metadata{}
	}
	return p.Metadata
}

// known returns the kept part of a pod.
func (p *apiPod) known() *knownPod {
	m := p.meta()
	k := &knownPod{
		namespace: atMost(maxNameLen, m.Namespace), name: atMost(maxNameLen, m.Name), workload: atMost(2*maxNameLen, m.Workload()),
		containers: map[string]knownContainer{},
	}
	// On the mirror of a static pod both annotations are the hash of its manifest.
	if hash := m.Annotations.Of[pod.HashAnnotation]; hash == m.Annotations.Of[pod.MirrorAnnotation] {
		k.hash = atMost(maxNameLen, hash)
	}
	images, envs := map[string]string{}, map[string]procsEnv{}
	for _, list := range [...]pod.Containers{p.Spec.Containers, p.Spec.InitContainers, p.Spec.EphemeralContainers} {
		for i := range list {
			c := &list[i]
			images[c.Name], envs[c.Name] = atMost(maxImageLen, c.Image), envOf(c)
		}
	}
	for _, list := range [...][]containerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok && id != "" && len(id) <= maxNameLen && len(k.containers) < maxContainers {
				k.containers[id] = knownContainer{atMost(maxNameLen, c.Name), images[c.Name], digestOf(c.ImageID), envs[c.Name]}
			}
		}
	}
	return k
}

// atMost returns a text if it is at most n bytes long, or else "".
func atMost(n int, text string) string {
	if len(text) > n {
		return ""
	}
	return text
}

// digestOf returns the digest in a status's imageID, which has several forms: a name and a
// digest, "docker.io/library/x@sha256:...", after "docker-pullable://" with dockershim and
// cri-dockerd, or only a digest if the image was never pulled. It returns "" for any other.
// Source: k8s.io/cri-api pkg/apis/runtime/v1, ContainerStatus.image_ref.
func digestOf(imageID string) string {
	digest := imageID[strings.LastIndexByte(imageID, '@')+1:]
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		return ""
	}
	return digest
}
