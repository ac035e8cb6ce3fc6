// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/daemon"
)

// Namespace is the namespace of the webhook's Secret.
const Namespace = "snug"

// deadline bounds each wait.
const deadline = 3 * time.Minute

// Tool builds the tool for a test in a folder below e2e.
func Tool(t testing.TB) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "snug")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir = "../../../cmd/snug"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return exe
}

// Replica is one process of the webhook.
type Replica struct {
	*daemon.Process
	Listen, Health string // addresses: Listen for API servers, Health for all other clients
	service        *Service
}

// Start starts a replica of the webhook behind a service and waits until it is ready. flags
// override the defaults.
func Start(t testing.TB, exe string, at kube.Access, s *Service, flags ...string) *Replica {
	t.Helper()
	r := StartPod(t, exe, at, append([]string{"webhook", "--namespace", Namespace, "--url", s.URL()}, flags...))
	r.service = s
	s.change(r.Listen, true)
	return r
}

// StartPod starts a replica with the arguments of its pod and waits until it is ready. It belongs
// to no service.
func StartPod(t testing.TB, exe string, at kube.Access, args []string) *Replica {
	t.Helper()
	// The webhook chooses the ports itself, so no other process can take them first.
	args = append(args, "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0",
		"--api-url", at.URL, "--api-token-file", at.TokenFile, "--api-ca-file", at.CAFile)
	r := &Replica{Process: daemon.Start(t, t.TempDir(), exe, args...), service: &Service{}}
	Until(t, "the webhook listens", r.Said, func() bool {
		_, text, ok := strings.Cut(r.Said(), "listening on ")
		r.Listen, text, _ = strings.Cut(text, ", and for kubelets and Prometheus on ")
		r.Health, _, _ = strings.Cut(text, "\n")
		return ok && r.Health != ""
	})
	Until(t, "the webhook is ready", r.Said, func() bool { return r.Get("/readyz") == "ok\n" })
	return r
}

// Said returns the log.
func (r *Replica) Said() string {
	text, _ := os.ReadFile(r.File)
	return string(text)
}

// Get returns the body of a response of the health server; "" = no response, or not 200.
func (r *Replica) Get(path string) string {
	response, err := http.Get("http://" + r.Health + path)
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

// Kill kills it, as when a node fails.
func (r *Replica) Kill() {
	r.Process.Kill()
	r.service.change(r.Listen, false)
}

// Freeze stops the process: it still accepts connections but does not answer until GoOn.
func (r *Replica) Freeze(t testing.TB) { r.signal(t, syscall.SIGSTOP) }

// GoOn resumes a frozen process.
func (r *Replica) GoOn(t testing.TB) { r.signal(t, syscall.SIGCONT) }

func (r *Replica) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := r.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// Stop ends it as Kubernetes does: SIGTERM, and once it is not ready it leaves the endpoints.
func (r *Replica) Stop(t testing.TB) {
	t.Helper()
	r.signal(t, syscall.SIGTERM)
	Until(t, "the webhook is not ready", r.Said, func() bool { return r.Get("/readyz") == "" })
	r.service.change(r.Listen, false)
	Until(t, "the webhook ends", r.Said, func() bool { return r.Ended() != nil })
	if how := r.Ended().Error(); how != "exit status 0" {
		t.Errorf("%s: %s", how, r.Said())
	}
}

// Until waits until a condition holds, and fails the test after 3 minutes.
func Until(t testing.TB, what string, said func() string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !yes(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s\n%s", deadline, what, said())
		}
	}
}

// hurry is the time limit of API servers that the webhook registers.
const hurry = "timeoutSeconds: 2\n"

// Register registers the webhook behind a service until the test ends. API servers wait for its
// answers as long as Kubernetes allows, because a cluster's time limit is short for a busy machine.
func Register(t testing.TB, l *kube.Lab, exe string, s *Service, flags ...string) {
	t.Helper()
	register(t, l, exe, s, "timeoutSeconds: 30\n", flags)
}

// RegisterHurried is Register with the time limit that a cluster has.
func RegisterHurried(t testing.TB, l *kube.Lab, exe string, s *Service, flags ...string) {
	t.Helper()
	register(t, l, exe, s, hurry, flags)
}

func register(t testing.TB, l *kube.Lab, exe string, s *Service, wait string, flags []string) {
	t.Helper()
	cmd := exec.Command(exe, append([]string{"webhook", "--register", "--url", s.URL(), "--namespace", Namespace}, flags...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	if !strings.Contains(string(out), hurry) {
		t.Fatalf("no %q in\n%s", hurry, out)
	}
	a := kube.Must(t, l.Create(t, path, strings.ReplaceAll(string(out), hurry, wait)))
	for _, w := range a.Warnings {
		t.Error(w)
	}
	t.Cleanup(func() { l.Delete(t, path+"/"+fmt.Sprint(a.Object["metadata"].(kube.Object)["name"])) })
}
