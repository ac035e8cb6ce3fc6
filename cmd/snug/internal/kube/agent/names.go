// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/kube/rest"
)

const (
	// watchFor is how long one watch lasts; the server ends it and another begins.
	watchFor = 5 * time.Minute
	// mostList and mostEvent bytes are read of a list and of an event. etcd keeps no
	// object of more than 1.5 MiB.
	mostList, mostEvent = 256 << 20, 4 << 20
	// mostPods are remembered. A kubelet runs 110 unless it is told to.
	mostPods = 5000
	// leastWait and mostWait are between attempts that fail.
	leastWait, mostWait = time.Second, time.Minute
)

// PodNames knows the pods of one node, and their containers, from the API server: it lists
// them once, and then is told what changes. It may be used from several goroutines.
type PodNames struct {
	api  *rest.Client
	node string
	note func(string)

	mu   sync.RWMutex
	pods map[string]*podName // by metadata.uid
	// static are those whose cgroup has the hash of their manifest in place of the UID,
	// which is that of a mirror at the API server. Source: k8s.io/kubernetes
	// pkg/kubelet/types, ConfigHashAnnotationKey.
	static map[string]*podName
}

type podName struct {
	namespace, name string
	containers      map[string]string // names by id
}

// NewPodNames makes one that knows nothing yet. note is told what goes wrong; nil = nobody is.
func NewPodNames(api *rest.Client, node string, note func(string)) *PodNames {
	if note == nil {
		note = func(string) {}
	}
	return &PodNames{api: api, node: node, note: note, pods: map[string]*podName{}, static: map[string]*podName{}}
}

// Lookup is Names'.
func (n *PodNames) Lookup(uid, container string) (namespace, pod, name string, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	p := n.pods[uid]
	if p == nil {
		p = n.static[uid]
	}
	if p == nil {
		return "", "", "", false
	}
	return p.namespace, p.name, p.containers[container], true
}

// List asks for the names once.
func (n *PodNames) List(ctx context.Context) error {
	_, err := n.list(ctx)
	return err
}

// Run keeps the names up to date until ctx ends. While the server cannot be reached what
// was known goes on being known.
func (n *PodNames) Run(ctx context.Context) {
	wait, failing := leastWait, false
	for ctx.Err() == nil {
		err := n.follow(ctx, func() {
			if failing {
				n.note("note: the API server tells the names of pods again")
			}
			wait, failing = leastWait, false
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			n.note("error: no names of pods, " + err.Error())
			failing = true
		}
		_ = pause(ctx, wait)
		wait = min(2*wait, mostWait)
	}
}

// errExpired says that what was listed is too old to be watched from.
var errExpired = errors.New("too old a resource version")

// follow lists all pods and watches them for as long as that goes well. It calls listed
// after the list.
func (n *PodNames) follow(ctx context.Context, listed func()) error {
	version, err := n.list(ctx)
	if err != nil {
		return err
	}
	listed()
	for {
		// A watch that ends on its own is no failure; one that ends at once must not spin.
		next := time.Now().Add(leastWait)
		if version, err = n.watch(ctx, version); errors.Is(err, errExpired) {
			return nil
		} else if err != nil {
			return err
		}
		if err := pause(ctx, time.Until(next)); err != nil {
			return err
		}
	}
}

// apiPod is what is read of a pod. Source: k8s.io/api/core/v1.
type apiPod struct {
	Metadata struct {
		Namespace       string
		Name            string
		UID             string
		ResourceVersion string
		Annotations     map[string]string
	}
	Status struct {
		ContainerStatuses, InitContainerStatuses, EphemeralContainerStatuses []struct{ Name, ContainerID string }
	}
}

// list replaces all that is known, and returns the version to watch from.
func (n *PodNames) list(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	body, err := n.get(ctx, url.Values{"resourceVersion": {"0"}})
	if err != nil {
		return "", err
	}
	defer body.Close()
	var answer struct {
		Metadata struct{ ResourceVersion string }
		Items    []apiPod
	}
	if err := json.NewDecoder(io.LimitReader(body, mostList)).Decode(&answer); err != nil {
		return "", fmt.Errorf("the list of pods is not understood: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.pods)
	clear(n.static)
	for i := range answer.Items {
		n.add(&answer.Items[i])
	}
	return answer.Metadata.ResourceVersion, nil
}

// watch takes in what changes until the server ends it, and returns the version to go on
// from.
func (n *PodNames) watch(ctx context.Context, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchFor+writeWithin)
	defer cancel()
	body, err := n.get(ctx, url.Values{
		"watch": {"1"}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchFor.Seconds()))},
	})
	if err != nil {
		return version, err
	}
	defer body.Close()
	limited := &io.LimitedReader{R: body, N: mostEvent}
	for events := json.NewDecoder(limited); ; limited.N = mostEvent {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return version, nil
		} else if err != nil {
			return version, fmt.Errorf("the watch of pods broke off: %w", err)
		}
		if e.Type == "ERROR" {
			var status struct{ Code int }
			if json.Unmarshal(e.Object, &status) == nil && status.Code == http.StatusGone {
				return "", errExpired
			}
			return version, errors.New("the watch of pods failed")
		}
		var p apiPod
		if err := json.Unmarshal(e.Object, &p); err != nil {
			return version, fmt.Errorf("a pod is not understood: %w", err)
		}
		version = p.Metadata.ResourceVersion
		n.mu.Lock()
		switch e.Type {
		case "ADDED", "MODIFIED":
			n.add(&p)
		case "DELETED":
			n.remove(p.Metadata.UID)
		}
		n.mu.Unlock()
	}
}

// add takes in a pod.
func (n *PodNames) add(p *apiPod) {
	m := &p.Metadata
	n.remove(m.UID)
	if len(n.pods) >= mostPods {
		return
	}
	known := &podName{namespace: m.Namespace, name: m.Name, containers: map[string]string{}}
	for _, list := range [...][]struct{ Name, ContainerID string }{p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok {
				known.containers[id] = c.Name
			}
		}
	}
	n.pods[m.UID] = known
	if hash := m.Annotations["kubernetes.io/config.hash"]; hash != "" {
		n.static[hash] = known
	}
}

func (n *PodNames) remove(uid string) {
	gone := n.pods[uid]
	if gone == nil {
		return
	}
	delete(n.pods, uid)
	for hash, p := range n.static {
		if p == gone {
			delete(n.static, hash)
		}
	}
}

// get asks for the pods of the node.
func (n *PodNames) get(ctx context.Context, q url.Values) (io.ReadCloser, error) {
	q.Set("fieldSelector", "spec.nodeName="+n.node)
	body, err := n.api.Stream(ctx, "/api/v1/pods?"+q.Encode())
	switch {
	case rest.Is(err, http.StatusGone):
		return nil, errExpired
	case rest.Is(err, http.StatusForbidden), rest.Is(err, http.StatusUnauthorized):
		return nil, fmt.Errorf("the service account needs the verbs list and watch on pods: %w", err)
	}
	return body, err
}
