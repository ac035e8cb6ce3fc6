// SPDX-License-Identifier: Apache-2.0

// Package rest speaks to a Kubernetes API server: four verbs on single objects, and lists
// and watches as they come, as JSON.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mounted is where Kubernetes puts what a pod needs to speak to its API server.
// Source: k8s.io/kubernetes/plugin/pkg/admission/serviceaccount.
const mounted = "/var/run/secrets/kubernetes.io/serviceaccount"

// times are how long a server may take.
type times struct {
	// answer is for a connection, its handshake and the header of an answer, each.
	answer time.Duration
	// A connection on which nothing has come for so long as silence is asked for a sign of
	// life, and is dead when none comes within echo. A watch may be quiet for hours, and
	// nobody tells of a server or a path to it that is gone.
	silence, echo time.Duration
}

var usual = times{answersWithin, 30 * time.Second, 15 * time.Second}

const (
	// answersWithin is how long the server may take.
	answersWithin = 10 * time.Second
	// mostAnswer bounds an answer, in bytes: etcd keeps no larger objects.
	mostAnswer = 8 << 20
	// mostToken bounds a token.
	mostToken = 64 << 10
)

// Server is where an API server is and how to be let in. What is "" is as it is in a pod.
type Server struct {
	URL       string // https://host:port
	TokenFile string // read again for each request: tokens are renewed
	CAFile    string // PEM
}

// Client asks one API server.
type Client struct {
	url, token string
	http       *http.Client
	streams    *http.Client // the same, and takes as long as an answer goes on
}

// ErrNotInPod says that it is not known where the API server is.
var ErrNotInPod = errors.New("this is no pod: KUBERNETES_SERVICE_HOST is not set")

// New makes a client. getenv is os.Getenv.
func New(s Server, getenv func(string) string) (*Client, error) { return newClient(s, getenv, usual) }

func newClient(s Server, getenv func(string) string, within times) (*Client, error) {
	if s.URL == "" {
		host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
		if host == "" || port == "" {
			return nil, ErrNotInPod
		}
		s.URL = "https://" + net.JoinHostPort(host, port)
	}
	if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("no address of an API server: " + s.URL)
	}
	if s.TokenFile == "" {
		s.TokenFile = filepath.Join(mounted, "token")
	}
	if s.CAFile == "" {
		s.CAFile = filepath.Join(mounted, "ca.crt")
	}
	text, err := readFile(s.CAFile, mostAnswer)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("no certificate in " + s.CAFile)
	}
	streams := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			DialContext: (&net.Dialer{Timeout: within.answer}).DialContext, TLSHandshakeTimeout: within.answer, ResponseHeaderTimeout: within.answer,
			HTTP2:               &http.HTTP2Config{SendPingTimeout: within.silence, PingTimeout: within.echo},
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		// An API server does not send elsewhere, and a token must not go there.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	short := *streams
	short.Timeout = within.answer
	return &Client{strings.TrimSuffix(s.URL, "/"), s.TokenFile, &short, streams}, nil
}

// Namespace is the namespace of the pod that this is; "" when it is none.
func Namespace() string {
	text, err := readFile(filepath.Join(mounted, "namespace"), 1<<10)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// Refused is an answer that is no success.
type Refused struct {
	Code    int // of HTTP
	Message string
	What    string // that was asked for: "GET /api/v1/..."
}

func (r *Refused) Error() string { return fmt.Sprintf("%s: %d %s", r.What, r.Code, r.Message) }

// Is tells whether an error is an answer with this code of HTTP.
func Is(err error, code int) bool {
	var r *Refused
	return errors.As(err, &r) && r.Code == code
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, path string, to any) error {
	return c.do(ctx, http.MethodGet, path, "", nil, to)
}

// Create adds an object to a collection.
func (c *Client) Create(ctx context.Context, collection string, object any) error {
	return c.do(ctx, http.MethodPost, collection, "application/json", object, nil)
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, path string, object any) error {
	return c.do(ctx, http.MethodPut, path, "application/json", object, nil)
}

// Patch merges a patch into an object as kubectl does: entries of lists by their names.
func (c *Client) Patch(ctx context.Context, path string, patch any) error {
	return c.do(ctx, http.MethodPatch, path, "application/strategic-merge-patch+json", patch, nil)
}

// Stream reads a list or a watch for as long as it goes on; the caller bounds and closes it.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	response, err := c.send(ctx, c.streams, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostToken))
	return nil, &Refused{response.StatusCode, message(text), http.MethodGet + " " + path}
}

// send asks, and lets the caller read the answer.
func (c *Client) send(ctx context.Context, by *http.Client, method, path, contentType string, text []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	token, err := readFile(c.token, mostToken)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "snug")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := by.Do(request)
	if err != nil {
		var broken *url.Error
		if errors.As(err, &broken) {
			err = broken.Err // without the address, which says nothing
		}
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return response, nil
}

func (c *Client) do(ctx context.Context, method, path, contentType string, body, to any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	response, err := c.send(ctx, c.http, method, path, contentType, text)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(io.LimitReader(response.Body, mostAnswer)); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		return &Refused{response.StatusCode, message(text), method + " " + path}
	}
	if to == nil {
		return nil
	}
	if err = json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// message is what a Status of the API says.
func message(text []byte) string {
	var status struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &status)
	return status.Message[:min(len(status.Message), 500)]
}
