// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

const (
	// mostPods are remembered. A kubelet runs 110 unless it is told to run more, and those that
	// have ended are not listed.
	mostPods = 5000
	// mostContainers are remembered of a pod; the API server bounds them by the size of a
	// pod only.
	mostContainers = 250
	// mostName and mostImage bytes have a name and that of an image; what is longer is
	// left out. Source: k8s.io/apimachinery pkg/util/validation, DNS1123SubdomainMaxLength;
	// of an image no bound is set, and registries keep to 255 and a tag or digest.
	mostName, mostImage = 253, 512
)

// Named is what a container is called, and what it was made from. "" is unknown.
type Named struct {
	Namespace, Pod, Container string
	Workload                  string // "Deployment/web", as podid names it
	Image                     string // as the pod names it
	Digest                    string // "sha256:..." of what is run
}

// knownPod is what is remembered of a pod.
type knownPod struct {
	namespace, name, workload string
	containers                map[string]knownContainer // by id

	hash  string // of the manifest that it claims to be the mirror of; "" = of none
	claim int    // who claimed it before has less
}

type knownContainer struct{ name, image, digest string }

// apiPod is what is read of a pod; the rest, which may be a megabyte, is passed over.
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

// believing is how what an API server writes is read: it checked it, and names are all that
// is taken from it.
var believing = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// meta is a pod's metadata, empty where it has none.
func (p *apiPod) meta() *pod.Metadata {
	if p.Metadata == nil {
		return &pod.Metadata{}
	}
	return p.Metadata
}

// known is what is remembered of it.
func (p *apiPod) known() *knownPod {
	m := p.meta()
	k := &knownPod{
		namespace: upTo(mostName, m.Namespace), name: upTo(mostName, m.Name), workload: upTo(2*mostName, m.Workload()),
		containers: map[string]knownContainer{},
	}
	// On the mirror of a static pod both are the hash of its manifest.
	if hash := m.Annotations.Of[pod.HashAnnotation]; hash == m.Annotations.Of[pod.MirrorAnnotation] {
		k.hash = upTo(mostName, hash)
	}
	images := map[string]string{}
	for _, list := range [...]pod.Containers{p.Spec.Containers, p.Spec.InitContainers, p.Spec.EphemeralContainers} {
		for _, c := range list {
			images[c.Name] = upTo(mostImage, c.Image)
		}
	}
	for _, list := range [...][]containerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok && id != "" && len(id) <= mostName && len(k.containers) < mostContainers {
				k.containers[id] = knownContainer{upTo(mostName, c.Name), images[c.Name], digestOf(c.ImageID)}
			}
		}
	}
	return k
}

// upTo is a text that is no longer than it may be, or else "".
func upTo(most int, text string) string {
	if len(text) > most {
		return ""
	}
	return text
}

// digestOf is that of a status's imageID, of which there are several forms: a name and a
// digest, "docker.io/library/x@sha256:...", before which dockershim and cri-dockerd write
// "docker-pullable://", or, of an image that was never pulled, its digest alone. "" is
// every other.
// Source: k8s.io/cri-api pkg/apis/runtime/v1, ContainerStatus.image_ref.
func digestOf(imageID string) string {
	digest := imageID[strings.LastIndexByte(imageID, '@')+1:]
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		return ""
	}
	return digest
}
