// SPDX-License-Identifier: Apache-2.0

package agent

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

	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

const (
	// watchFor is how long one watch lasts; the server ends it and another begins. It has
	// watchLate more before it is ended from here.
	watchFor, watchLate = 5 * time.Minute, 30 * time.Second
	// mostEvent bytes are read of an event. etcd keeps no object of more than 1.5 MiB.
	mostEvent = 4 << 20
	// leastWait and mostWait are between attempts, of which each that does no good doubles
	// the next wait.
	leastWait, mostWait = time.Second, time.Minute
	// spread is up to how much later a list comes than another attempt: when a server has
	// started again all nodes may need one.
	spread = 5 * time.Second
	// lastsFor is how long a watch has to last to be good when nothing is told.
	lastsFor = 30 * time.Second
	// mostIdle watches in a row are begun from the same version, if the server has answered
	// and told nothing. What comes next may be what cannot be read; a list has it too, and
	// is followed by what is newer.
	mostIdle = 2
)

// errExpired says that what was listed is too old to be watched from.
var errExpired = errors.New("too old a resource version")

// following is how it goes to follow the pods.
type following struct {
	version string        // to watch from; "" = they have to be listed first
	wait    time.Duration // before the next attempt
	idle    int           // watches in a row that were answered and told nothing, since such a list
	said    string        // what is wrong, as it was told; "" = nothing
}

// Run keeps the names up to date until ctx ends. While the server cannot be reached what
// was known goes on being known. It reports what fails when it fails in another way than
// before.
func (n *PodNames) Run(ctx context.Context) {
	f := following{wait: leastWait}
	for {
		err := n.follow(ctx, &f)
		if ctx.Err() != nil {
			return
		}
		n.tell(&f, err)
		if f.idle >= mostIdle {
			f.version, f.idle = "", 0
		} else if errors.Is(err, errExpired) {
			f.version = "" // idle goes on, so that it is told when that is all there is
		}
		wait := f.wait/2 + rand.N(f.wait/2)
		if f.version == "" {
			wait += rand.N(spread)
		}
		_ = n.pause(ctx, wait)
		f.wait = min(2*f.wait, mostWait)
	}
}

// tell says what is wrong, unless it was said, or is no more than that a list is due.
func (n *PodNames) tell(f *following, err error) {
	if err == nil || errors.Is(err, errExpired) && f.idle < mostIdle {
		return
	}
	if text := lasting(err); text != f.said {
		n.note("error: no names of pods, " + text)
		f.said = text
	}
}

// lasting is what an error says, without what is another each time: the version that was
// asked for, and the port that it was asked from.
func lasting(err error) string {
	text := err.Error()
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Source != nil {
		text = strings.ReplaceAll(text, op.Source.String()+"->", "")
	}
	if before, query, ok := strings.Cut(text, podsPath+"?"); ok {
		_, after, _ := strings.Cut(query, ":") // which a query has only as %3A
		text = before + podsPath + ":" + after
	}
	return text
}

// follow lists the pods where that is needed, and watches them for as long as that goes
// well. The server may end a watch; that is no error.
func (n *PodNames) follow(ctx context.Context, f *following) error {
	if f.version == "" {
		version, err := n.list(ctx)
		if err != nil {
			return err
		}
		f.version = version
	}
	return n.watch(ctx, f)
}

// watch takes in what changes until the server ends it, and notes the version to go on
// from.
func (n *PodNames) watch(ctx context.Context, f *following) error {
	ctx, cancel := context.WithTimeout(ctx, watchFor+watchLate)
	defer cancel()
	body, err := n.get(ctx, url.Values{
		"watch": {"1"}, "resourceVersion": {f.version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchFor.Seconds()))},
	})
	if refused := (*rest.Refused)(nil); err == nil || errors.As(err, &refused) {
		f.idle++
	}
	if err != nil {
		return err
	}
	defer body.Close()
	works := sync.OnceFunc(func() {
		if f.said != "" {
			n.note("note: the API server tells the names of pods again")
		}
		f.wait, f.idle, f.said = leastWait, 0, ""
	})
	lasts := time.AfterFunc(n.lastsFor, works)
	defer func() {
		if !lasts.Stop() {
			works() // or wait until it is done
		}
	}()
	limited := &io.LimitedReader{R: body, N: mostEvent}
	for events := jsontext.NewDecoder(limited, believing); ; limited.N = mostEvent {
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
			return failure(e.Object)
		}
		if err == nil {
			err = json.Unmarshal(e.Object, &p, believing)
		}
		if err != nil {
			return fmt.Errorf("the watch of pods broke off: %w", err)
		}
		switch e.Type {
		case "ADDED", "MODIFIED":
			n.mu.Lock()
			n.add(&p)
			n.mu.Unlock()
			n.tellFull()
		case "DELETED":
			n.mu.Lock()
			n.remove(p.meta().UID)
			n.mu.Unlock()
		}
		f.version = cmp.Or(p.meta().ResourceVersion, f.version)
		works()
	}
}

// failure is what the Status in an event says.
func failure(status jsontext.Value) error {
	var s struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(status, &s, believing) == nil && s.Code == http.StatusGone {
		return errExpired
	}
	return errors.New("the watch of pods failed")
}
