// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// hurried has short timeouts.
var hurried = times{answer: 100 * time.Millisecond, silence: 20 * time.Millisecond, echo: time.Second}

// served returns a client of a server at another address.
func served(t *testing.T, address string, server *httptest.Server, within times) *Client {
	t.Helper()
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	err := errors.Join(os.WriteFile(token, []byte("t"), 0o600), os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(Server{"https://" + address, token, ca}, os.Getenv, within)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDead: a watch on a dead connection ends, even if the connection is not closed.
func TestDead(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	path := newPath(t, server.Listener.Addr().String())
	within := hurried
	within.answer = time.Minute // the machine may be slow
	c := served(t, path.Addr().String(), server, within)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	body, err := c.Stream(ctx, "/api/v1/pods?watch=1")
	for attempt := 0; err != nil && attempt < 5; attempt++ {
		body, err = c.Stream(ctx, "/api/v1/pods?watch=1")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	path.dead.Store(true)
	if _, err := io.ReadAll(body); err == nil || ctx.Err() != nil {
		t.Errorf("%v, %v: the dead connection goes unnoticed", err, ctx.Err())
	}
	path.close() // otherwise the server waits for the connections
	server.Close()
}

// path is a proxy that forwards bytes until it is dead, and then discards them.
type path struct {
	net.Listener
	dead atomic.Bool
	all  chan net.Conn
}

func newPath(t *testing.T, to string) *path {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &path{Listener: l, all: make(chan net.Conn, 100)}
	pass := func(to io.Writer, from io.Reader) {
		b := make([]byte, 4<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			if p.dead.Load() {
				continue
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			p.all <- near
			p.all <- far
			go pass(far, near)
			go pass(near, far)
		}
	}()
	return p
}

func (p *path) close() {
	p.Close()
	for {
		select {
		case c := <-p.all:
			c.Close()
		default:
			return
		}
	}
}

// TestMute: a server that accepts connections but never answers is a timeout.
func TestMute(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // only the kernel accepts connections
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := served(t, l.Addr().String(), server, hurried).Stream(ctx, "/x"); err == nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}
