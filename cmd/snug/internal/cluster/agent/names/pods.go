// SPDX-License-Identifier: Apache-2.0

package names

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
	// listTimeout bounds the time of a list.
	listTimeout = 30 * time.Second
	// maxListBytes bounds the size of a list.
	maxListBytes = 256 << 20
	podsPath     = "/api/v1/pods"
	// goodAfter is the time after which a watch without events counts as good.
	goodAfter = 30 * time.Second
)

// errExpired means that the version is too old to watch from.
var errExpired = errors.New("too old a resource version")

// Pods has the pods of one node that have not ended, and their containers, from the API
// server: it lists them once and then watches for changes. It is safe for concurrent use.
type Pods struct {
	api    *rest.Client
	node   string
	note   func(string)
	listed chan struct{} // closed after the first list

	// For tests.
	pause     func(context.Context, time.Duration) error
	goodAfter time.Duration

	mu   sync.RWMutex
	pods map[string]*knownPod // by metadata.uid
	// static has the static pods by the hash of their manifest. Their cgroup has the hash in
	// place of the UID; the UID at the API server is that of a mirror.
	static    map[string]*knownPod
	claims    int  // the last claim given to a pod: a new pod, or one with another manifest
	full      bool // a pod was left out, because there are maxPods
	fullNoted bool // full was noted
}

// NewPods returns an empty Pods. note receives errors; nil = none.
func NewPods(api *rest.Client, node string, note func(string)) *Pods {
	if note == nil {
		note = func(string) {}
	}
	return &Pods{
		api: api, node: node, note: note, listed: make(chan struct{}), pause: pause, goodAfter: goodAfter,
		pods: map[string]*knownPod{}, static: map[string]*knownPod{},
	}
}

// Lookup implements Source.
func (n *Pods) Lookup(uid, container string) (Named, bool) {
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
	return Named{p.namespace, p.name, c.name, p.workload, c.image, c.digest, c.env.known()}, true
}

// Listed returns a channel that is closed after the first list.
func (n *Pods) Listed() <-chan struct{} { return n.listed }

// List lists the names once.
func (n *Pods) List(ctx context.Context) error {
	_, err := n.list(ctx)
	return err
}

// list replaces all pods, and returns the version to watch from. It decodes one pod at a time,
// because a node's pods may be many megabytes. If the list fails, the old pods stay.
func (n *Pods) list(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	body, err := n.get(ctx, url.Values{"resourceVersion": {"0"}})
	if err != nil {
		return "", err
	}
	defer body.Close()
	all := NewPods(n.api, n.node, nil)
	if version, err = all.read(io.LimitReader(body, maxListBytes)); err != nil {
		return "", fmt.Errorf("the list of pods cannot be decoded: %w", err)
	}
	n.mu.Lock()
	n.pods, n.static, n.claims, n.full = all.pods, all.static, all.claims, all.full
	select {
	case <-n.listed:
	default:
		close(n.listed)
	}
	n.mu.Unlock()
	n.noteFull()
	return version, nil
}

var errNoList = errors.New("not an object with a list of items")

// read decodes a PodList and returns its version.
func (n *Pods) read(r io.Reader) (version string, err error) {
	d := jsontext.NewDecoder(r, lenient)
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

// add adds or replaces a pod. If several mirrors claim the same manifest, the first one gets
// it, and the next one after that is gone. A user with the right to create pods can create a
// false mirror, but a kubelet runs no such pod, and deletes mirrors that are not its own.
func (n *Pods) add(p *apiPod) {
	uid := p.meta().UID
	if uid == "" || len(uid) > maxNameLen {
		return
	}
	old := n.pods[uid]
	if old == nil && len(n.pods) >= maxPods {
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

// remove removes a pod.
func (n *Pods) remove(uid string) {
	if gone := n.pods[uid]; gone != nil {
		delete(n.pods, uid)
		n.settle(gone.hash)
	}
}

// settle assigns a manifest to the first of the pods that claim it.
func (n *Pods) settle(hash string) {
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

// noteFull notes once that a pod was left out. n.mu is not held.
func (n *Pods) noteFull() {
	n.mu.Lock()
	note := n.full && !n.fullNoted
	n.fullNoted = n.fullNoted || n.full
	n.mu.Unlock()
	if note {
		n.note(fmt.Sprintf("note: more than %d pods are on the node, and the rest have no names", maxPods))
	}
}

// get requests the pods of the node that have not ended: ended pods may be many, because they
// stay until they are deleted. A watch reports a pod that ends like one that is deleted.
// Source: k8s.io/kubernetes pkg/registry/core/pod, ToSelectableFields.
func (n *Pods) get(ctx context.Context, q url.Values) (io.ReadCloser, error) {
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

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
