// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
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
	fullNoted sync.Once
}

// NewPods returns an empty Pods. note receives errors; nil = none.
func NewPods(api *rest.Client, node string, note func(string)) *Pods {
	if note == nil {
		note = func(string) {}
	}
	return &Pods{
		api: api, node: node, note: note, listed: make(chan struct{}), pause: Pause, goodAfter: goodAfter,
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

// podList is a PodList: what reads it adds its pods one at a time.
type podList struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Items items `json:"items"`
}

type items struct {
	to    *Pods
	given bool // there is a list
}

// UnmarshalJSONFrom adds the pods of a list.
func (i *items) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return pod.Each(d, '[', func() { i.given = true }, func() error {
		var p apiPod
		err := json.UnmarshalDecode(d, &p)
		if err == nil {
			i.to.add(&p)
		}
		return err
	})
}

// read decodes a PodList and returns its version.
func (n *Pods) read(r io.Reader) (version string, err error) {
	list := podList{Items: items{to: n}}
	if err = json.UnmarshalRead(r, &list, lenient); err == nil && !list.Items.given {
		err = errors.New("not an object with a list of items")
	}
	return list.Metadata.ResourceVersion, err
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
	full := n.full
	n.mu.Unlock()
	if full {
		n.fullNoted.Do(func() {
			n.note(fmt.Sprintf("note: more than %d pods are on the node, and the rest have no names", maxPods))
		})
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

// Pause waits for a time, or returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

const (
	// watchTimeout is how long one watch lasts before the server ends it and the next begins.
	// After another watchGrace the client ends it.
	watchTimeout, watchGrace = 5 * time.Minute, 30 * time.Second
	// maxEventBytes bounds an event. etcd keeps no object of more than 1.5 MiB.
	maxEventBytes = 4 << 20
	// minWait and maxWait bound the wait between attempts. Each failure doubles the next wait.
	minWait, maxWait = time.Second, time.Minute
	// spread bounds the random delay before a list: after a restart of the server all nodes may
	// need one.
	spread = 5 * time.Second
	// maxIdle bounds the watches in a row from the same version that were answered, but brought
	// no event. The next event may be one that cannot be decoded; a list skips past it.
	maxIdle = 2
)

// following is the state of following the pods.
type following struct {
	version string        // to watch from; "" = list first
	wait    time.Duration // before the next attempt
	idle    int           // watches in a row that were answered, but brought no event; see maxIdle
	noted   string        // the last noted error; "" = none
}

// Run keeps the names up to date until ctx ends. While the server cannot be reached, the old
// names stay. It notes an error if it differs from the one before.
func (n *Pods) Run(ctx context.Context) {
	f := following{wait: minWait}
	for {
		err := n.follow(ctx, &f)
		if ctx.Err() != nil {
			return
		}
		n.noteError(&f, err)
		if f.idle >= maxIdle {
			f.version, f.idle = "", 0
		} else if errors.Is(err, errExpired) {
			f.version = "" // idle stays, so that repeated expiry is noted
		}
		wait := f.wait/2 + rand.N(f.wait/2)
		if f.version == "" {
			wait += rand.N(spread)
		}
		_ = n.pause(ctx, wait)
		f.wait = min(2*f.wait, maxWait)
	}
}

// noteError notes an error, unless it is the last one, or only means that a list is due.
func (n *Pods) noteError(f *following, err error) {
	if err == nil || errors.Is(err, errExpired) && f.idle < maxIdle {
		return
	}
	if text := stableText(err); text != f.noted {
		n.note("error: no names of pods: " + text)
		f.noted = text
	}
}

// stableText returns the text of an error without the parts that differ each time: the
// version in the request, and the local port.
func stableText(err error) string {
	text := err.Error()
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Source != nil {
		text = strings.ReplaceAll(text, op.Source.String()+"->", "")
	}
	if before, query, ok := strings.Cut(text, podsPath+"?"); ok {
		_, after, _ := strings.Cut(query, ":") // a query has a colon only as %3A
		text = before + podsPath + ":" + after
	}
	return text
}

// follow lists the pods if needed, and watches them until the watch ends. If the server ends
// it, that is no error.
func (n *Pods) follow(ctx context.Context, f *following) error {
	if f.version == "" {
		version, err := n.list(ctx)
		if err != nil {
			return err
		}
		f.version = version
	}
	return n.watch(ctx, f)
}

// watch applies changes until the watch ends, and keeps the version to continue from.
func (n *Pods) watch(ctx context.Context, f *following) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout+watchGrace)
	defer cancel()
	body, err := n.get(ctx, url.Values{
		"watch": {"1"}, "resourceVersion": {f.version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchTimeout.Seconds()))},
	})
	if refused := (*rest.Refused)(nil); err == nil || errors.As(err, &refused) {
		f.idle++
	}
	if err != nil {
		return err
	}
	defer body.Close()
	markGood := sync.OnceFunc(func() {
		if f.noted != "" {
			n.note("note: the API server serves the names of pods again")
		}
		f.wait, f.idle, f.noted = minWait, 0, ""
	})
	lasts := time.AfterFunc(n.goodAfter, markGood)
	defer func() {
		if !lasts.Stop() {
			markGood() // or wait for it
		}
	}()
	limited := &io.LimitedReader{R: body, N: maxEventBytes}
	for events := jsontext.NewDecoder(limited, lenient); ; limited.N = maxEventBytes {
		var e struct {
			Type   string         `json:"type"`
			Object jsontext.Value `json:"object"`
		}
		err := json.UnmarshalDecode(events, &e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var p apiPod
		if err == nil && e.Type == "ERROR" {
			return statusError(e.Object)
		}
		if err == nil {
			err = json.Unmarshal(e.Object, &p, lenient)
		}
		if err != nil {
			return fmt.Errorf("the watch of pods broke off: %w", err)
		}
		switch e.Type {
		case "ADDED", "MODIFIED":
			n.mu.Lock()
			n.add(&p)
			n.mu.Unlock()
			n.noteFull()
		case "DELETED":
			n.mu.Lock()
			n.remove(p.meta().UID)
			n.mu.Unlock()
		}
		f.version = cmp.Or(p.meta().ResourceVersion, f.version)
		markGood()
	}
}

// statusError returns the error of the Status in an event.
func statusError(status jsontext.Value) error {
	var s struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(status, &s, lenient) == nil && s.Code == http.StatusGone {
		return errExpired
	}
	return errors.New("the watch of pods failed")
}
