// SPDX-License-Identifier: Apache-2.0

// Package names finds the names of pods and containers: in the API server's list of a node's pods, or
// in the names of the node's links to logs.
package names

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
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
		namespace: atMost(maxNameLen, m.Namespace), name: atMost(maxNameLen, m.Name),
		workload: atMost(2*maxNameLen, m.Workload()), containers: map[string]knownContainer{},
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
	s := &p.Status
	for _, c := range slices.Concat(s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses) {
		_, id, _ := strings.Cut(c.ContainerID, "://")
		if id != "" && len(id) <= maxNameLen && len(k.containers) < maxContainers {
			k.containers[id] = knownContainer{atMost(maxNameLen, c.Name), images[c.Name], digestOf(c.ImageID), envs[c.Name]}
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
		Namespace: Text(n.Namespace), Pod: Text(n.Pod), Name: Text(n.Container),
		Workload: Text(n.Workload), Image: Text(n.Image), Digest: Text(n.Digest),
	}
}

// Text returns nil for "".
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return new(finding.UTF8(s))
}

// Links has the names of a node's containers from the kubelet's folder of links to their logs, without
// the API server. The folder has only names; the logs are elsewhere. It is safe for concurrent use.
//
//	web-5d4f7c9b6d-x7k2p_shop_app-4cf9...d0.log
//	pod                  namespace container-id
//
// The kubelet cuts names off after 251 bytes, so that the id is missing; such a container has no name.
// Source: k8s.io/kubernetes/pkg/kubelet/kuberuntime, legacyLogSymlink and logSymlink.
type Links struct {
	dir string

	mu    sync.Mutex
	known map[string]Named // by container id
	state time.Time        // modification time of the folder when it was read; zero = read it again
	next  time.Time        // when to look again
}

// LinksDir is the kubelet's folder, below the root of the node.
const LinksDir = "var/log/containers"

const (
	// maxLinks bounds the links that are read: a kubelet keeps those of dead containers for a while.
	maxLinks = 20000
	// lookEvery is the least time between two looks at the folder.
	lookEvery = time.Second
)

// NewLinks returns the names of a folder. It fails if the folder cannot be read now.
func NewLinks(dir string) (*Links, error) {
	n := &Links{dir: dir}
	return n, n.read()
}

// Lookup implements Source. The image, and whether the pod sets GOMAXPROCS, are unknown. The workload is
// known only for pods with names as those of a Deployment.
func (n *Links) Lookup(_, container string) (Named, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); !now.Before(n.next) {
		n.next = now.Add(lookEvery)
		_ = n.read() // the old names stay
	}
	name, ok := n.known[container]
	return name, ok
}

// read reads the folder if it has changed.
func (n *Links) read() error {
	f, err := os.Open(n.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || n.known != nil && info.ModTime().Equal(n.state) {
		return err
	}
	links, err := f.Readdirnames(maxLinks)
	if err != nil && err != io.EOF { // io.EOF: the folder is empty
		return err
	}
	known := make(map[string]Named, len(links))
	for _, link := range links {
		if id, name, ok := linked(link); ok {
			known[id] = name
		}
	}
	n.known, n.state = known, time.Time{}
	if settled := info.ModTime(); time.Since(settled) > lookEvery { // else it may change again without a newer time
		n.state = settled
	}
	return nil
}

// linked returns the container's id and the names of a link. A name of a pod or a namespace has no "_", and a
// container's name has no "_" either (RFC 1123), so that the parts are unambiguous.
func linked(link string) (id string, name Named, ok bool) {
	link, isLog := strings.CutSuffix(link, ".log")
	parts := strings.Split(link, "_")
	if !isLog || len(parts) != 3 {
		return "", Named{}, false
	}
	at := strings.LastIndexByte(parts[2], '-')
	if at <= 0 {
		return "", Named{}, false
	}
	container, id := parts[2][:at], parts[2][at+1:]
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" || parts[0] == "" || parts[1] == "" {
		return "", Named{}, false
	}
	return id, Named{Namespace: parts[1], Pod: parts[0], Container: container, Workload: podid.OfName(parts[0])}, true
}
