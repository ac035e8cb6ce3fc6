// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answering returns a connection that delivers these bytes and then EOF.
func answering(text string, head bool) *conn {
	near, far := net.Pipe()
	go func() {
		io.WriteString(far, text)
		far.Close()
	}()
	return &conn{Conn: near, in: bufio.NewReader(near), target: &target{head: head}}
}

func TestAnswers(t *testing.T) {
	const next = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"
	long := strings.Repeat("x", 20000)
	tests := []struct {
		name, text string
		err        string // in the message
		keep       bool   // whether the next answer is read as well
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "", true},
		{"length-in-odd-case", "HTTP/1.1 200 OK\r\ncontent-LENGTH:5\r\n\r\nhello", "", true},
		{"bare-newlines", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "", true},
		{"no-reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "", true},
		{"long-body", "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + long, "", true},
		{"long-header", "HTTP/1.1 200 OK\r\nX: " + long + "\r\nContent-Length: 5\r\n\r\nhello", "", true},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n", "", true},
		{"chunked-trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n", "", true},
		{"chunked-and-length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n", "", true},
		{"no-content", "HTTP/1.1 204 No Content\r\n\r\n", "", true},
		{"early-hints", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
		{"old-keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", "", true},
		{"old", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "", false},
		{"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", "", false},
		{"until-the-end", "HTTP/1.1 200 OK\r\n\r\n" + long, "", false},
		{"unavailable", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", "status 503 Service Unavailable", true},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", "status 302 Found", true},
		{"not-modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "status 304", true},
		{"unknown-status", "HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n", "status 599", true},
		{"upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "status 101", false},
		{"closed", "", errClosed.Error(), false},
		{"garbage", "SSH-2.0-OpenSSH_9.9\r\n", `"SSH-2.0-OpenSSH_9.9"`, false},
		{"bad-status", "HTTP/1.1 2x0 OK\r\n\r\n", "not an HTTP/1.1 answer", false},
		{"short-header", "HTTP/1.1 200 OK\r\nContent-Le", "unexpected EOF", false},
		{"short-body", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", "unexpected EOF", false},
		{"short-chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "unexpected EOF", false},
		{"negative-length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", "content length", false},
		{"bad-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\n", "chunk size", false},
		{"wrong-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n", "longer than its size", false},
		{"compressed", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "transfer encoding", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if tt.keep {
				text += next
			}
			c := answering(text, false)
			defer c.Close()
			err := c.receive()
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if c.keep != tt.keep {
				t.Fatalf("keep %v", c.keep)
			}
			if tt.keep {
				if err := c.receive(); err != nil {
					t.Errorf("the next answer: %v", err)
				}
			}
			if err := c.receive(); tt.err == "" && !errors.Is(err, errClosed) {
				t.Errorf("something is left: %v", err)
			}
		})
	}
}

func TestAnswerToHead(t *testing.T) {
	c := answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true)
	defer c.Close()
	if err := c.receive(); err != nil || !c.keep {
		t.Error(err, c.keep)
	}
}

// FuzzAnswer: on any input the client ends, and accepts nothing that net/http reads as
// another status.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\ngone",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := answering(string(text), false)
		defer c.Close()
		if c.receive() != nil {
			return
		}
		r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(text))), nil)
		if err == nil && r.StatusCode > 299 {
			t.Errorf("%q is status %d", text, r.StatusCode)
		}
	})
}

func TestRequest(t *testing.T) {
	p := Plan{
		Method: "POST", Body: []byte("what"),
		Header: map[string]string{"Host": "shop.example", "X-One": "1", "User-Agent": "me"},
	}
	text, err := requestBytes(p, "http://u:p@127.0.0.1:80/a?b=c#d")
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(text))))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	user, _, _ := r.BasicAuth()
	got := fmt.Sprint(r.Method, r.RequestURI, r.Host, r.Header.Get("X-One"), r.UserAgent(), user, string(body), r.Close)
	if want := fmt.Sprint("POST", "/a?b=c", "shop.example", "1", "me", "u", "what", false); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if _, err := newTarget(Plan{Method: "BAD METHOD"}, "http://h/"); err == nil {
		t.Error("a bad method is taken")
	}
}

func TestPlans(t *testing.T) {
	good := Plan{URLs: []string{"http://h/"}, Kind: Open, Rate: 10, Window: time.Second}
	tests := []struct {
		name   string
		change func(*Plan)
		err    string
	}{
		{"good", func(*Plan) {}, ""},
		{"users", func(p *Plan) { p.Kind, p.Rate, p.Connections = Closed, 0, 30 }, ""},
		{"no-url", func(p *Plan) { p.URLs = nil }, "no URL"},
		{"other-scheme", func(p *Plan) { p.URLs = []string{"ftp://h/"} }, "neither http nor https"},
		{"no-host", func(p *Plan) { p.URLs = []string{"localhost:80"} }, "not a URL"},
		{"no-kind", func(p *Plan) { p.Kind = "" }, "neither"},
		{"no-rate", func(p *Plan) { p.Rate = 0 }, "requests per second"},
		{"no-users", func(p *Plan) { p.Kind, p.Rate = Closed, 0 }, "without users"},
		{"rate-of-users", func(p *Plan) { p.Kind, p.Connections = Closed, 1 }, "has no rate"},
		{"too-many-users", func(p *Plan) { p.Connections = maxOutstanding + 1 }, "connections"},
		{"no-window", func(p *Plan) { p.Window = 0 }, "window"},
		{"negative-warm-up", func(p *Plan) { p.Warm = -1 }, "warm-up"},
		{"long-timeout", func(p *Plan) { p.Timeout = 2 * time.Hour }, "timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := good
			tt.change(&p)
			err := p.Check()
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
