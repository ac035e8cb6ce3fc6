// SPDX-License-Identifier: Apache-2.0

// Package remote opens an address that the user names, with the bounds of package bounded and others of time. It is
// a package of its own because snug-run has no HTTP.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

const (
	maxRedirects = 3

	// silence is how long a server may pause within its answer.
	silence = 30 * time.Second
	// whole bounds the time for the whole answer after it has begun.
	whole = 5 * time.Minute
)

// Open opens an http or https URL. It fetches it by GET and follows up to three redirects; the answer must be 200
// and begin within header. The Name of the Source lacks user, password and query, which may hold secrets.
func Open(ctx context.Context, target string, header time.Duration, l bounded.Limits) (*bounded.Source, error) {
	l = l.Complete()
	r, name, err := get(ctx, target, header, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return bounded.Wrap(ctx, r, name, l)
}

// get fetches a URL and returns the body of the answer and the URL's name, the latter also with
// an error. It does not read an answer whose declared length is too large.
func get(ctx context.Context, target string, header time.Duration, l bounded.Limits) (io.ReadCloser, string, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		// An error of package url would repeat the text, including a password.
		return nil, "URL", errors.New("not a URL")
	}
	name := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(header, func() { cancel(fmt.Errorf("no answer within %v", header)) })
	fail := func(err error) (io.ReadCloser, string, error) {
		timer.Stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel(nil)
		return nil, name, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return fail(errors.New("not a URL"))
	}
	// This package unpacks gzip itself, with bounds.
	req.Header.Set("Accept-Encoding", "identity")
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	client := &http.Client{Transport: transport, CheckRedirect: redirect}
	resp, err := client.Do(req)
	if err != nil {
		// An error of package http begins with the method and the whole URL.
		if e := new(url.Error); errors.As(err, &e) {
			err = e.Err
		}
		return fail(err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return fail(fmt.Errorf("answer %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	if resp.ContentLength > l.Bytes {
		resp.Body.Close()
		return fail(bounded.Excess(l.Bytes))
	}
	timer.Stop()
	return newBody(ctx, cancel, resp.Body, header+whole), name, nil
}

// redirect allows up to maxRedirects redirects, but none from https to another scheme.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("redirects from https to " + req.URL.Scheme)
	}
	return nil
}

// body is the body of an answer. Reading fails if the server pauses or is too slow.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration // total time to wait
	left   time.Duration // remaining part of limit
}

// errSlow is the cause when a body times out; Read adds the details.
var errSlow = errors.New("slow")

func newBody(ctx context.Context, cancel context.CancelCauseFunc, r io.ReadCloser, limit time.Duration) *body {
	b := &body{ReadCloser: r, ctx: ctx, cancel: cancel, limit: limit, left: limit}
	b.timer = time.AfterFunc(silence, func() { cancel(errSlow) })
	b.timer.Stop() // until the first Read
	return b
}

func (b *body) Read(p []byte) (int, error) {
	began := time.Now()
	b.timer.Reset(min(silence, b.left))
	n, err := b.ReadCloser.Read(p)
	// Between reads the time does not count against the server.
	b.timer.Stop()
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		switch err = context.Cause(b.ctx); {
		case err == errSlow && b.left < silence:
			err = fmt.Errorf("not complete after %v", b.limit)
		case err == errSlow:
			err = fmt.Errorf("nothing for %v", silence)
		}
	}
	b.left -= time.Since(began)
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
