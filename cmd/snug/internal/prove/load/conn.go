// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// conn is a connection to a service and a client of HTTP/1.1 (RFC 9112) for one request
// at a time. It costs the generator about half the CPU time of net/http's client: it has
// one goroutine per connection instead of three, builds the request once, and allocates
// nothing for an answer.
type conn struct {
	net.Conn
	in     *bufio.Reader
	target *target
	used   bool // has received an answer
	keep   bool // the last answer allows another request
}

// requestBytes returns the bytes of one request.
func requestBytes(p Plan, url string) ([]byte, error) {
	req, err := newRequest(p.Method, url, p.Header)
	if err != nil {
		return nil, err
	}
	if len(p.Body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(p.Body)), int64(len(p.Body))
	}
	var out bytes.Buffer
	err = req.Write(&out)
	return out.Bytes(), err
}

// newRequest returns a request without a body.
func newRequest(method, url string, header map[string]string) (*http.Request, error) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "snug-load")
	if u := req.URL.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	for name, value := range header {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

// dial connects, and does the TLS handshake.
func dial(t *target, deadline time.Time) (*conn, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	if t.secure {
		s := tls.Client(c, &tls.Config{ServerName: t.name, NextProtos: []string{"http/1.1"}})
		if err := s.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, err
		}
		c = s
	}
	return &conn{Conn: c, in: bufio.NewReader(c), target: t}, nil
}

// send sends the request of the connection's target. The deadline also applies to the
// answer.
func (c *conn) send(deadline time.Time) error {
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	return c.write()
}

func (c *conn) write() error {
	_, err := c.Write(c.target.request)
	if isClosed(err) {
		return errClosed
	}
	return err
}

func isClosed(err error) bool {
	return err == io.EOF || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// exchange sends a request and reads the answer. A service may answer before it has read
// all of a long request.
func (c *conn) exchange(deadline time.Time) error {
	c.keep = false
	if len(c.target.request) <= inline {
		if err := c.send(deadline); err != nil {
			return err
		}
		return c.receive()
	}
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- c.write() }()
	err := c.receive()
	c.SetDeadline(time.Unix(1, 0)) // ends a send that the service does not read
	if e := <-failed; e != nil {
		c.keep = false
		err = cmp.Or(err, e)
	}
	return err
}

// errStatus is an answer with a status outside 200 to 299.
type errStatus int

func (e errStatus) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", int(e), http.StatusText(int(e))))
}

// answered reports whether an answer was read to its end, whatever its status.
func answered(err error) bool {
	_, ok := errors.AsType[errStatus](err)
	return ok || err == nil
}

// errAnswer is an answer that is not HTTP.
type errAnswer string

func (e errAnswer) Error() string { return "not an HTTP/1.1 answer: " + string(e) }

// errClosed reports a connection that was closed before the first byte of an answer.
var errClosed = errors.New("the service closed the connection without an answer")

// receive reads one answer to its end. After an errStatus the connection is as usable as
// without an error.
func (c *conn) receive() error {
	c.keep = false
	if _, err := c.in.Peek(1); err != nil {
		if isClosed(err) {
			return errClosed
		}
		return err
	}
	for {
		status, persistent, err := c.status()
		if err != nil {
			return unexpected(err)
		}
		length, err := c.header(&persistent)
		if err != nil {
			return unexpected(err)
		}
		if status < 200 && status != http.StatusSwitchingProtocols {
			continue // 100 Continue, 103 Early Hints
		}
		if c.target.head || status == http.StatusNoContent || status == http.StatusNotModified {
			length = 0
		}
		switch {
		case length >= 0:
			err = c.skip(length)
		case length == chunked:
			err = c.skipChunks()
		default:
			persistent = false
			err = c.skipAll()
		}
		if err != nil {
			return unexpected(err)
		}
		c.used, c.keep = true, persistent && status >= 200
		if status < 200 || status > 299 {
			return errStatus(status)
		}
		return nil
	}
}

// Lengths of a body that are not a number of bytes.
const (
	chunked  = -1
	untilEnd = -2
)

// status reads the status line. persistent reports whether connections persist in this version
// of HTTP.
func (c *conn) status() (status int, persistent bool, err error) {
	line, err := c.line()
	if err != nil {
		return 0, false, err
	}
	rest, ok := bytes.CutPrefix(line, []byte("HTTP/1."))
	if !ok || len(rest) < 5 || rest[1] != ' ' || len(rest) > 5 && rest[5] != ' ' {
		return 0, false, errAnswer(strconv.Quote(string(line[:min(len(line), 60)])))
	}
	for _, digit := range rest[2:5] {
		if digit < '0' || digit > '9' {
			return 0, false, errAnswer(strconv.Quote(string(line[:min(len(line), 60)])))
		}
		status = 10*status + int(digit-'0')
	}
	return status, rest[0] >= '1', nil
}

var (
	nameLength     = []byte("Content-Length")
	nameTransfer   = []byte("Transfer-Encoding")
	nameConnection = []byte("Connection")
	wordClose      = []byte("close")
	wordKeep       = []byte("keep-alive")
	wordChunked    = []byte("chunked")
)

// header reads the header up to its empty line, and returns the length of the body (RFC
// 9112, 6.3).
func (c *conn) header(persistent *bool) (length int64, err error) {
	length = untilEnd
	for {
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return length, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case len(name) == len(nameConnection) && bytes.EqualFold(name, nameConnection):
			if bytes.EqualFold(value, wordClose) {
				*persistent = false
			} else if bytes.EqualFold(value, wordKeep) {
				*persistent = true
			}
		case len(name) == len(nameTransfer) && bytes.EqualFold(name, nameTransfer):
			if !bytes.EqualFold(value, wordChunked) {
				return 0, errAnswer("transfer encoding " + strconv.Quote(string(value)))
			}
			length = chunked
		case length != chunked && len(name) == len(nameLength) && bytes.EqualFold(name, nameLength):
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil || length < 0 {
				return 0, errAnswer("content length " + strconv.Quote(string(value)))
			}
		}
	}
}

// line reads a line without its end. It returns only the beginning of a line longer than
// the buffer; no line that matters here is that long.
func (c *conn) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			_, err = c.in.ReadSlice('\n')
		}
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// scratch holds buffers for bodies. A read larger than the buffer of the bufio.Reader
// bypasses it.
var scratch = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (c *conn) skip(n int64) error {
	if n <= int64(c.in.Buffered()) {
		_, err := c.in.Discard(int(n))
		return err
	}
	to := scratch.Get().(*[32 << 10]byte)
	defer scratch.Put(to)
	for n > 0 {
		m, err := c.in.Read(to[:min(n, int64(len(to)))])
		if n -= int64(m); err != nil && n > 0 {
			return err
		}
	}
	return nil
}

func (c *conn) skipAll() error {
	to := scratch.Get().(*[32 << 10]byte)
	defer scratch.Put(to)
	for {
		if _, err := c.in.Read(to[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// skipChunks reads a chunked body with its trailer (RFC 9112, 7.1).
func (c *conn) skipChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 64)
		if err != nil || n < 0 {
			return errAnswer("chunk size " + strconv.Quote(string(size)))
		}
		if n == 0 {
			break
		}
		if err := c.skip(n); err != nil {
			return err
		}
		if line, err = c.line(); err != nil || len(line) != 0 {
			return cmp.Or[error](err, errAnswer("a chunk longer than its size"))
		}
	}
	for {
		if line, err := c.line(); err != nil || len(line) == 0 {
			return err
		}
	}
}

// unexpected turns an EOF inside an answer into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
