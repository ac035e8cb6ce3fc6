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

	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

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
