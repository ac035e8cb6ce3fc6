// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
)

// The webhook asks itself at askSelf every askEvery, over a new connection. If maxUnanswered questions in a row get
// no answer within askTimeout, which is how long an API server waits, it is not ready. What clients send and lose
// does not count: else they could make it not ready.
const (
	askEvery      = 5 * time.Second
	askTimeout    = 2 * time.Second
	maxUnanswered = 2
)

// self answers the webhook's own questions, in the way of a review.
func (w *Webhook) self(rw http.ResponseWriter, r *http.Request) {
	w.answer(rw, r, (&metrics{}).of(""), func([]byte) ([]byte, review.Outcome) { return []byte("{}"), review.Other })
}

// watch asks the webhook at an address, with a rest before each question, until ctx ends.
func (w *Webhook) watch(ctx context.Context, at net.Addr, rest time.Duration) {
	client := http.Client{Timeout: askTimeout, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it asks itself, and says nothing
	}}
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		r, err := client.Post("https://"+at.String()+w.askSelf, "", nil)
		if err == nil {
			if r.Body.Close(); r.StatusCode != http.StatusOK {
				err = errors.New(r.Status)
			}
		}
		if n++; err == nil {
			n = 0
			w.unanswered.Store(nil)
		}
		if n >= maxUnanswered {
			err = fmt.Errorf("reviews get no answer: %w", err)
			w.unanswered.Store(&err)
		}
	}
}
