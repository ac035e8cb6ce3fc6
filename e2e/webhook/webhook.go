// SPDX-License-Identifier: Apache-2.0

// Package webhook puts `snug webhook` beside a real API server, and looks at what becomes
// of pods while it is killed, restarted and renews its certificate.
package webhook

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/kube"
)

// namespace is where webhooks keep their Secret.
const namespace = "snug"

// deadline bounds the wait for what happens on its own.
const deadline = 3 * time.Minute

// service stands for the service of Kubernetes, which needs kube-proxy: it hands each
// connection to the next of the endpoints that are there.
type service struct {
	net.Listener
	mu   sync.Mutex
	next int
	to   []string
}

func newService(t testing.TB) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.join(c)
		}
	}()
	return s
}

// url is where API servers find it.
func (s *service) url() string { return "https://" + s.Addr().String() }

func (s *service) join(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	to := ""
	if len(s.to) > 0 {
		s.next++
		to = s.to[s.next%len(s.to)]
	}
	s.mu.Unlock()
	if to == "" {
		return
	}
	backend, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer backend.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{c, backend}, {backend, c}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// change adds or removes an endpoint.
func (s *service) change(endpoint string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var to []string
	for _, e := range s.to {
		if e != endpoint {
			to = append(to, e)
		}
	}
	if there {
		to = append(to, endpoint)
	}
	s.to = to
}

// replica is a process of the webhook.
type replica struct {
	cmd            *exec.Cmd
	listen, health string
	log            string
	done           chan struct{}
	service        *service
}

// tool makes the tool, as a user has it.
func tool(t testing.TB) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "snug")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir = "../../cmd/snug"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return exe
}

// start starts a replica of a webhook behind a service and waits until it is ready.
// Flags come last, and win.
func start(t testing.TB, exe string, at kube.Access, s *service, flags ...string) *replica {
	t.Helper()
	r := &replica{done: make(chan struct{}), service: s, log: filepath.Join(t.TempDir(), "log")}
	// The ports are found by the webhook itself: nobody else can take them in between.
	args := append([]string{"webhook", "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0", "--namespace", namespace, "--url", s.url(),
		"--api-url", at.URL, "--api-token-file", at.TokenFile, "--api-ca-file", at.CAFile}, flags...)
	out, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r.cmd = exec.Command(exe, args...)
	r.cmd.Stdout, r.cmd.Stderr = out, out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait()
	}()
	t.Cleanup(func() { r.kill() })
	until(t, "the webhook listens", r.said, func() bool {
		_, text, ok := strings.Cut(r.said(), "listening on ")
		r.listen, text, _ = strings.Cut(text, ", and for kubelets and Prometheus on ")
		r.health, _, _ = strings.Cut(text, "\n")
		return ok && r.health != ""
	})
	until(t, "the webhook is ready", r.said, func() bool { return r.get("/readyz") == "ok\n" })
	r.service.change(r.listen, true)
	return r
}

// said is its log.
func (r *replica) said() string {
	text, _ := os.ReadFile(r.log)
	return string(text)
}

// get asks about its state; "" = no answer, or no success.
func (r *replica) get(path string) string {
	response, err := http.Get("http://" + r.health + path)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// kill ends it at once, as a node that fails does.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	<-r.done
	r.service.change(r.listen, false)
}

// stop ends it as Kubernetes does: it is told to, and when it is no longer ready it is no
// endpoint any more.
func (r *replica) stop(t testing.TB) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "the webhook is not ready", r.said, func() bool { return r.get("/readyz") == "" })
	r.service.change(r.listen, false)
	select {
	case <-r.done:
	case <-time.After(deadline):
		t.Fatalf("the webhook does not end: %s", r.said())
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, r.said())
	}
}

// until asks until the answer is yes.
func until(t testing.TB, what string, said func() string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !yes(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s\n%s", deadline, what, said())
		}
	}
}

// register registers the webhook behind a service, until the test ends.
func register(t testing.TB, l *kube.Lab, exe string, s *service, flags ...string) {
	t.Helper()
	cmd := exec.Command(exe, append([]string{"webhook", "--register", "--url", s.url(), "--namespace", namespace}, flags...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	for i, document := range strings.Split(string(out), "\n---\n") {
		kind := []string{"mutating", "validating"}[i] + "webhookconfigurations"
		path := "/apis/admissionregistration.k8s.io/v1/" + kind
		a := must(t, l.Create(t, path, document))
		for _, w := range a.Warnings {
			t.Errorf("%s: %s", kind, w)
		}
		t.Cleanup(func() { l.Delete(t, path+"/"+fmt.Sprint(a.Object["metadata"].(kube.Object)["name"])) })
	}
}

// must fails the test unless the server did what it was asked for.
func must(t testing.TB, a kube.Answer) kube.Answer {
	t.Helper()
	if !a.OK() {
		t.Fatalf("%d %s", a.Code, a.Message())
	}
	return a
}
