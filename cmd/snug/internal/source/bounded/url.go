// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const maxRedirects = 3

// get fetches a URL and returns the body of its answer, and the URL's name. The
// name is there with an error too. An answer that says it is too long is not begun.
func get(ctx context.Context, target string, l Limits) (io.ReadCloser, string, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		// What package url says would repeat the text, password and all.
		return nil, "URL", errors.New("not a URL")
	}
	name := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(l.Header, func() { cancel(fmt.Errorf("no answer within %v", l.Header)) })
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
	// What is packed is unpacked here, where it is bounded.
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
		// The error of package http begins with the method and the whole URL.
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
		return fail(&tooMuch{l.excess()})
	}
	timer.Stop()
	return newBody(ctx, cancel, resp.Body, l.Header+whole), name, nil
}

// redirect follows a few, and none that leads out of https.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("redirects from https to " + req.URL.Scheme)
	}
	return nil
}

// body is an answer that ends when nothing comes, or so little that it never ends.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	most   time.Duration // to wait, all together
	left   time.Duration // of it
}

// errSlow is why a body gives up; Read says how.
var errSlow = errors.New("slow")

func newBody(ctx context.Context, cancel context.CancelCauseFunc, r io.ReadCloser, most time.Duration) *body {
	b := &body{ReadCloser: r, ctx: ctx, cancel: cancel, most: most, left: most}
	b.timer = time.AfterFunc(silence, func() { cancel(errSlow) })
	b.timer.Stop() // until somebody reads
	return b
}

func (b *body) Read(p []byte) (int, error) {
	began := time.Now()
	b.timer.Reset(min(silence, b.left))
	n, err := b.ReadCloser.Read(p)
	// While nobody reads, silence is not the server's.
	b.timer.Stop()
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		switch err = context.Cause(b.ctx); {
		case err == errSlow && b.left < silence:
			err = fmt.Errorf("not complete after %v", b.most)
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
