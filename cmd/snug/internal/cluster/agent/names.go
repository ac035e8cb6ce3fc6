// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

const (
	// listWithin is how long a list may take.
	listWithin = 30 * time.Second
	// mostList bytes are read of a list.
	mostList = 256 << 20
	podsPath = "/api/v1/pods"
)

// PodNames knows the pods of one node that have not ended, and their containers, from the
// API server: it lists them once, and then is told what changes. It may be used from several
// goroutines.
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
	claims int  // the last claim that was given to a pod: a new one, or one of another manifest
	full   bool // a pod was left out, as there are mostPods
	told   bool // and that was noted
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
	n.pods, n.static, n.claims, n.full = all.pods, all.static, all.claims, all.full
	select {
	case <-n.listed:
	default:
		close(n.listed)
	}
	n.mu.Unlock()
	n.tellFull()
	return version, nil
}

var errNoList = errors.New("no object with a list of items")

// read takes in a PodList and returns its version.
func (n *PodNames) read(r io.Reader) (version string, err error) {
	d := jsontext.NewDecoder(r, believing)
	expect := func(want jsontext.Kind) error {
		token, err := d.ReadToken()
		if err == nil && token.Kind() != want {
			err = errNoList
		}
		return err
	}
	if err := expect('{'); err != nil {
		return "", err
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		switch key.String() {
		case "metadata":
			var m struct {
				ResourceVersion string `json:"resourceVersion"`
			}
			err = json.UnmarshalDecode(d, &m)
			version = m.ResourceVersion
		case "items":
			err = expect('[')
			for err == nil && d.PeekKind() == '{' {
				var p apiPod
				if err = json.UnmarshalDecode(d, &p); err == nil {
					n.add(&p)
				}
			}
			if err == nil {
				err = expect(']')
			}
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return "", err
		}
	}
	return version, expect('}')
}

// add takes in a pod. Of mirrors that claim the same manifest the first one has it, and when
// that is gone the next. Who may make pods may also make one that is called a mirror, but a
// kubelet runs no such pod, and deletes those that are not its own.
func (n *PodNames) add(p *apiPod) {
	uid := p.meta().UID
	if uid == "" || len(uid) > mostName {
		return
	}
	old := n.pods[uid]
	if old == nil && len(n.pods) >= mostPods {
		n.full = true
		return
	}
	known := p.known()
	if old != nil && old.hash == known.hash {
		known.claim = old.claim
	} else {
		n.claims++
		known.claim = n.claims
	}
	n.pods[uid] = known
	if old != nil {
		n.settle(old.hash)
	}
	n.settle(known.hash)
}

// remove forgets a pod.
func (n *PodNames) remove(uid string) {
	if gone := n.pods[uid]; gone != nil {
		delete(n.pods, uid)
		n.settle(gone.hash)
	}
}

// settle finds out whose a manifest is: the first one's of those that claim it.
func (n *PodNames) settle(hash string) {
	if hash == "" {
		return
	}
	delete(n.static, hash)
	for _, p := range n.pods {
		if first := n.static[hash]; p.hash == hash && (first == nil || p.claim < first.claim) {
			n.static[hash] = p
		}
	}
}

// tellFull notes once that a pod was left out. n.mu is not held.
func (n *PodNames) tellFull() {
	n.mu.Lock()
	tells := n.full && !n.told
	n.told = n.told || n.full
	n.mu.Unlock()
	if tells {
		n.note(fmt.Sprintf("note: more than %d pods are on the node, and those beyond have no names", mostPods))
	}
}

// get asks for the pods of the node. Those that have ended may be many, and wait for somebody
// to delete them; of one that ends a watch tells as of one that is deleted.
// Source: k8s.io/kubernetes pkg/registry/core/pod, ToSelectableFields.
func (n *PodNames) get(ctx context.Context, q url.Values) (io.ReadCloser, error) {
	q.Set("fieldSelector", "spec.nodeName="+n.node+",status.phase!=Succeeded,status.phase!=Failed")
	body, err := n.api.Stream(ctx, podsPath+"?"+q.Encode())
	switch {
	case rest.Is(err, http.StatusGone):
		return nil, fmt.Errorf("%w: %w", errExpired, err)
	case rest.Is(err, http.StatusForbidden), rest.Is(err, http.StatusUnauthorized):
		return nil, fmt.Errorf("the service account needs the verbs list and watch on pods: %w", err)
	}
	return body, err
}
