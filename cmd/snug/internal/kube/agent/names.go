// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/kube/rest"
)

const (
	// listWithin is how long a list may take.
	listWithin = 30 * time.Second
	// mostList bytes are read of a list.
	mostList = 256 << 20
	podsPath = "/api/v1/pods"
)

// PodNames knows the pods of one node, and their containers, from the API server: it lists
// them once, and then is told what changes. It may be used from several goroutines.
type PodNames struct {
	api    *rest.Client
	node   string
	note   func(string)
	listed chan struct{} // closed when they were listed

	// For tests.
	pause    func(context.Context, time.Duration) error
	lastsFor time.Duration

	mu   sync.RWMutex
	pods map[string]*knownPod // by metadata.uid
	// static are those whose cgroup has the hash of their manifest in place of the UID,
	// which is that of a mirror at the API server.
	static map[string]*knownPod
}

// NewPodNames makes one that knows nothing yet. note is told what goes wrong; nil = nobody is.
func NewPodNames(api *rest.Client, node string, note func(string)) *PodNames {
	if note == nil {
		note = func(string) {}
	}
	return &PodNames{
		api: api, node: node, note: note, listed: make(chan struct{}), pause: pause, lastsFor: lastsFor,
		pods: map[string]*knownPod{}, static: map[string]*knownPod{},
	}
}

// Lookup is Names'.
func (n *PodNames) Lookup(uid, container string) (Named, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	p := n.pods[uid]
	if p == nil {
		p = n.static[uid]
	}
	if p == nil {
		return Named{}, false
	}
	c := p.containers[container]
	return Named{p.namespace, p.name, c.name, p.workload, c.image, c.digest}, true
}

// Listed is closed when the names are known for the first time.
func (n *PodNames) Listed() <-chan struct{} { return n.listed }

// List asks for the names once.
func (n *PodNames) List(ctx context.Context) error {
	_, err := n.list(ctx)
	return err
}

// list replaces all that is known, and returns the version to watch from. Pods are taken
// in one by one: a node's may be many megabytes. Where the list breaks off, what was known
// goes on being known.
func (n *PodNames) list(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	body, err := n.get(ctx, url.Values{"resourceVersion": {"0"}})
	if err != nil {
		return "", err
	}
	defer body.Close()
	all := NewPodNames(n.api, n.node, nil)
	if version, err = all.read(io.LimitReader(body, mostList)); err != nil {
		return "", fmt.Errorf("the list of pods is not understood: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods, n.static = all.pods, all.static
	select {
	case <-n.listed:
	default:
		close(n.listed)
	}
	return version, nil
}

var errNoList = errors.New("no object with a list of items")

// read takes in a PodList and returns its version.
func (n *PodNames) read(r io.Reader) (version string, err error) {
	d := json.NewDecoder(r)
	expect := func(want json.Delim) error {
		token, err := d.Token()
		if err == nil && token != want {
			err = errNoList
		}
		return err
	}
	if err := expect('{'); err != nil {
		return "", err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		switch key {
		case "metadata":
			var m struct{ ResourceVersion string }
			err = d.Decode(&m)
			version = m.ResourceVersion
		case "items":
			err = expect('[')
			for err == nil && d.More() {
				var p apiPod
				if err = d.Decode(&p); err == nil {
					n.add(&p)
				}
			}
			if err == nil {
				err = expect(']')
			}
		default:
			var other json.RawMessage
			err = d.Decode(&other)
		}
		if err != nil {
			return "", err
		}
	}
	return version, expect('}')
}

// add takes in a pod. Of mirrors that claim the same manifest the first one has it. Who may
// make pods may also make one that is called a mirror, but a kubelet runs no such pod, and
// deletes those that are not its own.
func (n *PodNames) add(p *apiPod) {
	uid, hash := p.Metadata.UID, p.Metadata.Annotations.Static
	if hash != p.Metadata.Annotations.Mirror {
		hash = ""
	}
	n.remove(uid)
	if len(n.pods) >= mostPods || uid == "" || len(uid) > mostName {
		return
	}
	known := p.known()
	n.pods[uid] = known
	if hash != "" && len(hash) <= mostName && n.static[hash] == nil {
		n.static[hash] = known
	}
}

func (n *PodNames) remove(uid string) {
	gone := n.pods[uid]
	if gone == nil {
		return
	}
	delete(n.pods, uid)
	maps.DeleteFunc(n.static, func(_ string, p *knownPod) bool { return p == gone })
}

// get asks for the pods of the node.
func (n *PodNames) get(ctx context.Context, q url.Values) (io.ReadCloser, error) {
	q.Set("fieldSelector", "spec.nodeName="+n.node)
	body, err := n.api.Stream(ctx, podsPath+"?"+q.Encode())
	switch {
	case rest.Is(err, http.StatusGone):
		return nil, fmt.Errorf("%w: %w", errExpired, err)
	case rest.Is(err, http.StatusForbidden), rest.Is(err, http.StatusUnauthorized):
		return nil, fmt.Errorf("the service account needs the verbs list and watch on pods: %w", err)
	}
	return body, err
}
