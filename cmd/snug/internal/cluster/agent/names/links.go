// SPDX-License-Identifier: Apache-2.0

package names

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
)

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
