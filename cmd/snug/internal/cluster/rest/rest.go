// SPDX-License-Identifier: Apache-2.0

// Package rest is a client of a Kubernetes API server: five verbs on single objects, and
// streams of lists and watches, as JSON.
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
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// podDir is where Kubernetes mounts the credentials of a pod for its API server.
// Source: k8s.io/kubernetes/plugin/pkg/admission/serviceaccount.
const podDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// times are timeouts.
type times struct {
	// answer bounds each of connecting, the handshake and the header of an answer.
	answer time.Duration
	// silence is the time without data after which a ping is sent, echo the time to wait for
	// its answer. A watch may be quiet for hours, and without pings a lost server or network
	// goes unnoticed.
	silence, echo time.Duration
}

var defaultTimes = times{answerTimeout, 30 * time.Second, 15 * time.Second}

const (
	// answerTimeout bounds an answer.
	answerTimeout = 10 * time.Second
	// maxAnswer bounds an answer, in bytes: etcd keeps no larger objects.
	maxAnswer = 8 << 20
	// maxToken bounds a token, in bytes.
	maxToken = 64 << 10
)

// Server is the address of an API server, and the credentials. Empty fields are those of a pod.
type Server struct {
	URL       string // https://host:port
	TokenFile string // read for each request, because tokens are renewed
	CAFile    string // PEM
}

// Client is a client of one API server.
type Client struct {
	url, token string
	http       *http.Client
	streams    *http.Client // the same without a timeout for the body
}

// ErrNotInPod means that the address of the API server is unknown.
var ErrNotInPod = errors.New("not in a pod: KUBERNETES_SERVICE_HOST is not set")

// New returns a client. getenv is os.Getenv.
func New(s Server, getenv func(string) string) (*Client, error) {
	return newClient(s, getenv, defaultTimes)
}

func newClient(s Server, getenv func(string) string, within times) (*Client, error) {
	if s.URL == "" {
		host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
		if host == "" || port == "" {
			return nil, ErrNotInPod
		}
		s.URL = "https://" + net.JoinHostPort(host, port)
	}
	if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("not an address of an API server: " + s.URL)
	}
	if s.TokenFile == "" {
		s.TokenFile = filepath.Join(podDir, "token")
	}
	if s.CAFile == "" {
		s.CAFile = filepath.Join(podDir, "ca.crt")
	}
	text, err := readFile(s.CAFile, maxAnswer)
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
			DialContext:         (&net.Dialer{Timeout: within.answer}).DialContext,
			TLSHandshakeTimeout: within.answer, ResponseHeaderTimeout: within.answer,
			HTTP2:               &http.HTTP2Config{SendPingTimeout: within.silence, PingTimeout: within.echo},
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		// API servers do not redirect, and a token must not go elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	short := *streams
	short.Timeout = within.answer
	return &Client{strings.TrimSuffix(s.URL, "/"), s.TokenFile, &short, streams}, nil
}

// Namespace returns the namespace of this pod; "" outside of a pod.
func Namespace() string {
	text, err := readFile(filepath.Join(podDir, "namespace"), 1<<10)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func readFile(name string, limit int64) ([]byte, error) {
	text, err := bounded.ReadFile(name, limit)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return text, nil
}

// Refused is the error of an answer with another status than 2xx.
type Refused struct {
	Code    int // HTTP status
	Message string
	What    string // the request: "GET /api/v1/..."
}

func (r *Refused) Error() string { return fmt.Sprintf("%s: %d %s", r.What, r.Code, r.Message) }

// Is reports whether an error is a Refused with this HTTP status.
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

// Ask sends a review, and reads the answer.
func (c *Client) Ask(ctx context.Context, collection string, review, answer any) error {
	return c.do(ctx, http.MethodPost, collection, "application/json", review, answer)
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, path string, object any) error {
	return c.do(ctx, http.MethodPut, path, "application/json", object, nil)
}

// Patch applies a strategic merge patch to an object: list entries are merged by name.
func (c *Client) Patch(ctx context.Context, path string, patch any) error {
	return c.do(ctx, http.MethodPatch, path, "application/strategic-merge-patch+json", patch, nil)
}

// Stream returns the body of a list or a watch; the caller bounds and closes it.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	response, err := c.send(ctx, c.streams, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, _ := bounded.ReadAll(response.Body, maxToken)
	return nil, &Refused{response.StatusCode, message(text), http.MethodGet + " " + path}
}

// send sends a request; the caller reads and closes the body.
func (c *Client) send(
	ctx context.Context, by *http.Client, method, path, contentType string, text []byte,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	token, err := readFile(c.token, maxToken)
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
			err = broken.Err // without the URL, which is added below
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
	if text, err = bounded.ReadAll(response.Body, maxAnswer); err != nil {
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

// message returns the message of an API Status.
func message(text []byte) string {
	var status struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &status)
	return status.Message[:min(len(status.Message), 500)]
}
