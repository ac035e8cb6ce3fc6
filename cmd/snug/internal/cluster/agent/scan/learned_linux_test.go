// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/serve"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
	"github.com/snug-go/snug/internal/plan"
)

// inPod is a container of a pod, and a cgroup with its name.
type inPod struct{ uid, id, dir string }

// needRoot skips the test without SNUG_E2E=root.
func needRoot(t *testing.T) {
	t.Helper()
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") {
		t.Skip("set SNUG_E2E=root to make cgroups")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root, but this is not root")
	}
}

// makePod makes the group of a container below this process's own, in any hierarchy that
// allows it: only its name matters.
func makePod(t *testing.T, n int) *inPod {
	t.Helper()
	p := &inPod{uid: fmt.Sprintf("%08x-0000-4000-9000-%012d", os.Getpid(), n), id: fmt.Sprintf("%056x%08x", n, os.Getpid())}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		field := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		// A new group of cpuset has no CPU.
		for _, top := range []string{field[1], "unified"} {
			own := filepath.Join("/sys/fs/cgroup", top, field[2])
			if _, err := os.Stat(filepath.Join(own, "cgroup.procs")); err != nil || strings.Contains(field[1], "cpuset") {
				continue
			}
			dirs := []string{own}
			for _, part := range []string{fmt.Sprintf("snug-agent-test-%d-%d", os.Getpid(), n), "kubepods", "burstable", "pod" + p.uid, p.id} {
				dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], part))
			}
			if os.MkdirAll(dirs[len(dirs)-1], 0o755) != nil {
				continue
			}
			p.dir = dirs[len(dirs)-1]
			t.Cleanup(func() {
				for _, dir := range slices.Backward(dirs[1:]) {
					err := os.Remove(dir)
					for late := time.Now().Add(time.Minute); err != nil && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
						err = os.Remove(dir) // ended processes leave a moment later
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
			return p
		}
	}
	t.Fatalf("no group can be made below %s", text)
	return nil
}

// run starts a program in the group, and waits until it prints ready.
func (p *inPod) run(t *testing.T, args ...string) *child {
	t.Helper()
	c := start(t, append([]string{"/bin/sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, p.dir}, args...)...)
	c.says("ready")
	return c
}

// json returns the running pod as the API server writes it.
func (p *inPod) json(workload, image, digest string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"%[1]s-5d8f-abcde","generateName":"%[1]s-5d8f-","uid":%[2]q,"labels":{"pod-template-hash":"5d8f"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"%[1]s-5d8f","uid":"1","controller":true}]},
"spec":{"containers":[{"name":"app","image":%[4]q}]},"status":{"containerStatuses":[{"name":"app","containerID":"containerd://%[3]s","image":"docker.io/%[4]s","imageID":%[5]q}]}}`, workload, p.uid, p.id, image, digest)
}

// blindProgram builds a Go program whose go line is too old for its runtime to follow a quota.
func blindProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module blind\n\ngo 1.24\n",
		"main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n\tfmt.Println(\"ready\")\n\tos.Stdin.Read(make([]byte, 1))\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "blind", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "blind")
}

// TestLearned: an agent inspects real processes and gets their names from an API server; a
// webhook learns from the agent's document, and decides by it on the workload's next pod.
func TestLearned(t *testing.T) {
	needRoot(t)
	const digest = "docker.io/shop/web@sha256:" + sum
	sh := []string{"/bin/sh", "-c", "echo ready; read line"}
	blind, aware, shell, mixed, hidden := makePod(t, 1), makePod(t, 2), makePod(t, 3), makePod(t, 4), makePod(t, 5)
	blind.run(t, blindProgram(t))
	aware.run(t, self(t))
	shell.run(t, sh...)
	mixed.run(t, sh...)
	gone := mixed.run(t, self(t))
	hidden.run(t, sh...)

	names := namesOf(t,
		blind.json("web", "shop/web:1", digest), aware.json("api", "shop/api:1", "sha256:"+sum), shell.json("cron", "shop/cron:1", "docker-pullable://shop/cron@sha256:"+sum),
		mixed.json("mixed", "shop/mixed:1", digest), hidden.json("hidden", "shop/hidden:1", digest))
	a := newScanner(t, Options{Names: names})
	d := scan(t, a)
	if len(d.Others) > 0 {
		t.Errorf("containers that have just started: %+v", d.Others)
	}
	a.settledAfter = 0
	scan(t, a)
	// A container that has run a Go process is not listed.
	gone.end()
	b, ok := a.bystanderOf(pidIn(t, hidden))
	if !ok || b == nil {
		t.Fatal("the container is not known")
	}
	a.tick++ // as if the next scan could not inspect one of its processes
	a.noteUnseen(pidIn(t, hidden))
	a.tick--
	d = scan(t, a)
	listed := ""
	for _, o := range d.Others {
		if strings.HasPrefix(*o.PodUID, blind.uid[:8]) {
			listed += *o.Workload + " " + *o.Image + " " + *o.Digest + ";"
		}
	}
	if want := "Deployment/cron shop/cron:1 sha256:" + sum + ";"; listed != want {
		t.Errorf("others: %q, want %q", listed, want)
	}

	d.At = time.Now().Add(2 * settledAfter).Format(time.RFC3339) // as if all had kept running
	from := snapshot.Snapshot{Node: d, Ended: time.Now()}
	server := httptest.NewServer(serve.New(serve.Options{Interval: time.Minute, Last: func() snapshot.Snapshot { return from }}).Handler())
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	agents := &learned.Agents{Host: "snug-agent.snug.svc", Port: port, Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr(host)}, nil
	}}
	asked, err := agents.Ask(t.Context())
	if err != nil || asked.Agents != 1 || asked.Silent != 0 {
		t.Fatalf("%+v, %v", asked, err)
	}
	facts := (*learned.Facts)(nil).With(asked.Facts, time.Now())
	_, p := find(d, pidIn(t, blind))
	if p == nil || !p.GoVersion.Known() {
		t.Fatalf("%+v", p)
	}
	var minor int
	if _, err := fmt.Sscanf(p.GoVersion.N, "go1.%d", &minor); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workload, image string
		want            podpatch.Program
	}{
		{"Deployment/web", "shop/web:1", podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: true}}},
		{"Deployment/web", "shop/web:2", podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: true}}},
		{"Deployment/api", "shop/api@sha256:" + sum, podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor}}},
		{"Deployment/cron", "shop/cron:1", podpatch.Program{State: podpatch.NotGo}},
		{"Deployment/hidden", "shop/hidden:1", podpatch.Program{}},
	} {
		if got := facts.Program("shop", c.workload, "app", c.image); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.workload, c.image, got, c.want)
		}
	}
	config, err := policy.Parse(strings.NewReader(policy.Default))
	if err != nil {
		t.Fatal(err)
	}
	reviewer := &review.Reviewer{Config: &config, Program: func(s review.Subject) podpatch.Program {
		return facts.Program(s.Namespace, s.Workload, s.Container, s.Image)
	}}
	for _, c := range []struct {
		workload string
		given    bool
	}{{"web", true}, {"api", false}, {"cron", false}} {
		env := patched(t, reviewer, c.workload)
		if strings.Contains(env, `"name":"GOMAXPROCS","value":"2"`) != c.given || !c.given && strings.Contains(env, "GOMAXPROCS\",\"value") {
			t.Errorf("the next pod of %s: %s", c.workload, env)
		}
	}
}

// pidIn returns a process in a container.
func pidIn(t *testing.T, p *inPod) (pid int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "cgroup.procs"))
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// patched returns the patch of the admission of a workload's next pod.
func patched(t *testing.T, r *review.Reviewer, workload string) string {
	t.Helper()
	question := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"operation":"CREATE","namespace":"shop","object":
{"metadata":{"generateName":"%[1]s-77aa-","labels":{"pod-template-hash":"77aa"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"%[1]s-77aa","uid":"2","controller":true}]},
"spec":{"containers":[{"name":"app","image":"shop/%[1]s:2","resources":{"limits":{"cpu":"1","memory":"256Mi"}}}]}}}}`, workload)
	text, outcome := r.Fit([]byte(question), review.ByNamespace)
	var answer struct {
		Response struct {
			Allowed bool
			Patch   []byte
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || !answer.Response.Allowed {
		t.Fatalf("%v, %s: %s", err, outcome, text)
	}
	return string(answer.Response.Patch)
}

// namesOf returns the names of pods, from an API server that has them.
func namesOf(t *testing.T, pods ...string) *names.Pods {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"kind":"PodList","metadata":{"resourceVersion":"10"},"items":[%s]}`, strings.Join(pods, ","))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string]string{"ca.crt": string(ca), "token": "t0ken\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api, err := rest.New(rest.Server{URL: server.URL, TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.crt")}, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	n := names.NewPods(api, "node-1", nil)
	if err := n.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}
