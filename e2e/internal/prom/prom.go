// SPDX-License-Identifier: Apache-2.0

// Package prom runs Debian's Prometheus in a test and queries it.
package prom

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
)

// deadline bounds the wait for a server to be ready.
const deadline = 3 * time.Minute

// Server is a Prometheus that runs until the test ends.
type Server struct {
	URL     string
	process *daemon.Process
}

// listening matches the log line with its address; the port was free.
var listening = regexp.MustCompile(`msg="Listening on".* address=(127\.0\.0\.1:[1-9][0-9]*)`)

// Start starts a server with a configuration, which may name files in dir, and waits until it is
// ready.
func Start(t testing.TB, dir, config string) *Server {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("%v: install the packages of e2e/packages.txt", err)
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Server{process: daemon.Start(t, dir, path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address=127.0.0.1:0")}
	for end := time.Now().Add(deadline); ; time.Sleep(50 * time.Millisecond) {
		text, _ := os.ReadFile(s.process.File)
		if m := listening.FindSubmatch(text); m != nil {
			s.URL = "http://" + string(m[1])
			if r, err := http.Get(s.URL + "/-/ready"); err == nil {
				r.Body.Close()
				if r.StatusCode == http.StatusOK {
					return s
				}
			}
		}
		if err := s.process.Ended(); err != nil {
			t.Fatalf("prometheus ended: %v\n%s", err, s.process.Log())
		}
		if time.Now().After(end) {
			t.Fatalf("prometheus is not ready after %v\n%s", deadline, s.process.Log())
		}
	}
}

// back and waits match the ranges and the "for" of alert rules, which are too long for tests.
var (
	back  = regexp.MustCompile(`\[[0-9]+[smhd]\]`)
	waits = regexp.MustCompile(`(?m)^( *for:) [0-9]+[smhd]$`)
)

// Hurried returns alert rules with ranges of 15 s and a "for" of forSeconds.
func Hurried(t testing.TB, rules string, forSeconds int) string {
	t.Helper()
	for _, span := range []struct {
		is     *regexp.Regexp
		become string
	}{{back, "[15s]"}, {waits, fmt.Sprintf("${1} %ds", forSeconds)}} {
		if !span.is.MatchString(rules) {
			t.Fatalf("no match of %s in the rules", span.is)
		}
		rules = span.is.ReplaceAllString(rules, span.become)
	}
	return rules
}

// Sample is the current sample of a series.
type Sample struct {
	Labels map[string]string
	Value  string // in Prometheus' number format
}

// Query returns the current samples of an expression.
func (s *Server) Query(t testing.TB, expr string) []Sample {
	t.Helper()
	var found struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	s.get(t, "/api/v1/query?query="+url.QueryEscape(expr), &found)
	var all []Sample
	for _, r := range found.Result {
		all = append(all, Sample{r.Metric, fmt.Sprint(r.Value[1])})
	}
	return all
}

// Alert is a pending or firing alert.
type Alert struct {
	Labels      map[string]string
	Annotations map[string]string
	State       string // "pending" or "firing"
}

// Alerts returns the pending and firing alerts.
func (s *Server) Alerts(t testing.TB) []Alert {
	t.Helper()
	var found struct{ Alerts []Alert }
	s.get(t, "/api/v1/alerts", &found)
	return found.Alerts
}

// get decodes the data of an API response.
func (s *Server) get(t testing.TB, path string, to any) {
	t.Helper()
	r, err := http.Get(s.URL + path)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.process.Log())
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v %s", path, err, answer.Error)
	}
	if err := json.Unmarshal(answer.Data, to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
