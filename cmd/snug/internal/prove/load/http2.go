// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// http2Conns is the number of connections to each target of an open loop over HTTP/2, which
// many requests share at a time. A closed loop has one for each user.
const http2Conns = 32

// client is one connection of HTTP/2, by net/http; it connects again if the service closes
// it. A request costs more CPU time than one by conn. A goroutine of its own sends it, and its
// lateness counts to the start of that.
type client struct{ transport *http.Transport }

func newClient() *client {
	var p http.Protocols
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true) // with prior knowledge (RFC 9113, 3.3)
	return &client{&http.Transport{Protocols: &p, DisableCompression: true}}
}

// overHTTP2 reports whether the requests of a plan, to all of its targets, go over HTTP/2.
func overHTTP2(targets []target) bool { return len(targets) > 0 && targets[0].call != nil }

// call is a request that a client can send any number of times.
type call struct {
	request *http.Request
	body    []byte
	grpc    bool
}

// newCall builds the request of a plan over HTTP/2 for one of its URLs.
func newCall(p Plan, text string) (*call, error) {
	c := &call{body: p.Body, grpc: p.GRPC != ""}
	method := p.Method
	if c.grpc {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		u.Path, u.RawQuery = "/"+strings.TrimPrefix(p.GRPC, "/"), ""
		text, method, c.body = u.String(), http.MethodPost, message(p.Body)
	}
	req, err := newRequest(method, text, p.Header)
	if err != nil {
		return nil, err
	}
	if c.grpc {
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("Te", "trailers")
	}
	c.request = req
	return c, nil
}

// message returns a message of gRPC: not compressed, its length, its bytes
// (github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message).
func message(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// exchange sends a request and reads the answer to its end.
func (c *client) exchange(a *call, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	req := a.request.WithContext(ctx)
	if len(a.body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a.body)), nil }
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	to := scratch.Get().(*[32 << 10]byte)
	defer scratch.Put(to)
	for {
		if _, err = res.Body.Read(to[:]); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	switch {
	case res.ProtoMajor != 2:
		return errProtocol(res.Proto)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return errStatus(res.StatusCode)
	case a.grpc:
		return grpcStatus(res)
	}
	return nil
}

// errProtocol is an answer in another version of HTTP.
type errProtocol string

func (e errProtocol) Error() string { return "not an HTTP/2 answer: " + string(e) }

// errGRPC is an answer with a status of gRPC other than OK, 0.
type errGRPC struct{ code, message string }

func (e errGRPC) Error() string {
	return strings.TrimSpace(fmt.Sprintf("gRPC status %s %s", e.code, e.message))
}

// grpcStatus reads the status in the trailer, or in the header if there is no body.
func grpcStatus(res *http.Response) error {
	from := res.Trailer
	if len(from["Grpc-Status"]) == 0 {
		from = res.Header
	}
	code := from.Get("Grpc-Status")
	if code == "0" {
		return nil
	}
	if _, err := strconv.ParseUint(code, 10, 32); err != nil {
		return errors.New("an answer without a status of gRPC")
	}
	text, err := url.PathUnescape(from.Get("Grpc-Message"))
	if err != nil {
		text = from.Get("Grpc-Message")
	}
	return errGRPC{code, text}
}
