// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"
)

// HTTP reports whether the load generator can send requests to a URL: whether its scheme
// is http or https.
func HTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// address returns host:port of a URL. It needs a port if its scheme is neither http nor
// https.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", &Error{What: text + ": not a URL that can be loaded",
			Cure: "give it as http://HOST:PORT/PATH"}
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme != "http" && u.Scheme != "https":
		return "", &Error{What: text + ": a URL without a port", Cure: "give it as tcp://HOST:PORT"}
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// Listening reports whether a TCP connection to the URL's host and port succeeds within a
// second.
func Listening(url string) bool {
	addr, err := address(url)
	if err != nil {
		return false
	}
	return connect(context.Background(), addr) == nil
}

// WaitListening waits until a TCP connection to the URL's host and port succeeds. It
// retries after every. If ctx ends first, it returns the last error of connecting,
// wrapped with the cause of ctx.
func WaitListening(ctx context.Context, url string, every time.Duration) error {
	addr, err := address(url)
	if err != nil {
		return err
	}
	var last error
	for {
		err := connect(ctx, addr)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil && !isTimeout(err) { // otherwise ctx caused it
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: nothing listens: %w (%w)", url, last, context.Cause(ctx))
		case <-time.After(every):
		}
	}
}

func connect(ctx context.Context, addr string) error {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
}
