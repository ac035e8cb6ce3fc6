// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// plugin: kubectl finds snug as its plug-in, which says of the whole cluster what the agent saw.
func (c *cluster) plugin(t *testing.T) {
	dir := t.TempDir()
	kubectl := kubebuild.Command(t, "kubectl")
	if err := errors.Join(os.Symlink(c.snug, filepath.Join(dir, "kubectl-snug")), os.Symlink(kubectl, filepath.Join(dir, "kubectl"))); err != nil {
		t.Fatal(err)
	}
	kubeconfig := c.Kubeconfig(t)
	run := func(args ...string) (out, said string, code int) {
		t.Helper()
		cmd := exec.Command(kubectl, append([]string{"snug"}, args...)...)
		cmd.Env = []string{"PATH=" + dir, "HOME=" + dir, "TMPDIR=" + dir, "KUBECONFIG=" + kubeconfig}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		text, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(text), stderr.String(), cmd.ProcessState.ExitCode()
	}
	out, said, code := run("doctor", "--namespace", "shop", "--fail-on", "info", "--json")
	var d struct {
		Agents     int
		Silent     []any
		Containers int
		Findings   []struct {
			Namespace, Workload, Container, ID, Pod, Fix string
			Of                                           int
		}
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v, %s", err, said)
	}
	found := map[string]bool{}
	for _, f := range d.Findings {
		found[f.Workload+" "+f.ID] = found[f.Workload+" "+f.ID] || f.Namespace == "shop" && f.Of == 1 && strings.HasPrefix(f.Pod, "shop/") && f.Fix != ""
	}
	if code != 3 || d.Agents != 1 || len(d.Silent) != 0 || d.Containers < len(misfits) || !found["Deployment/tight procs-above-quota"] && !found["Deployment/tight stale-procs"] {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	out, said, code = run("ps")
	if code != 0 || !strings.Contains(out, "shop/Deployment/plain") || !strings.Contains(out, " on 1 node") || said != "" {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	c.tell(t, "kubectl snug ps:\n%s", out)
	// The webhook runs under another user than 0, and the agent's only capability is SYS_PTRACE.
	out, said, _ = run("ps", "--namespace", "snug", "Deployment/snug-webhook", "--json")
	var own struct {
		Workloads []struct {
			Container  *string
			GOMAXPROCS struct{ Least any }
		}
	}
	if err := json.Unmarshal([]byte(out), &own); err != nil || len(own.Workloads) == 0 {
		t.Errorf("%v, %s%s", err, out, said)
	}
	for _, w := range own.Workloads {
		if _, known := w.GOMAXPROCS.Least.(float64); !known {
			t.Errorf("the GOMAXPROCS of a program of another user is %v, %s", w.GOMAXPROCS.Least, out)
		}
	}
	if _, said, code = run("ps", "nobody"); code != 1 || !strings.Contains(said, "nobody: no such Go workload") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "snug-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// ephemeral: without asking an agent, snug looks at a pod from a container that kubectl starts there, as docs/cluster.md says.
func (c *cluster) ephemeral(t *testing.T) {
	p := c.running(t, "shop", "tight")
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^    (echo|kubectl debug|kubectl logs) .*$`).FindAllString(string(page), -1)
	if len(commands) != 3 {
		t.Fatalf("%q", commands)
	}
	commands[2] = "until " + commands[2] + "; do sleep 1; done" // its image is fetched
	script := strings.NewReplacer("kubectl", "kubectl --namespace shop", "POD", p.Metadata.Name, "CONTAINER", p.Spec.Containers[0].Name,
		"ghcr.io/snug-go/snug", snugImage).Replace("set -e\n" + strings.Join(commands, "\n"))
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + filepath.Dir(kubebuild.Command(t, "kubectl")) + ":/usr/bin:/bin", "HOME=" + cmd.Dir, "KUBECONFIG=" + c.Kubeconfig(t)}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "GOMAXPROCS") || !strings.Contains(string(out), "pid 1 ") ||
		!strings.Contains(string(out), "0.25 cores") || !strings.Contains(string(out), "256 MiB") { // the quota and the limit of the pod
		t.Errorf("%v, %s%s", err, out, &stderr)
	}
	c.tell(t, "from a container in %s:\n%s", p.Metadata.Name, out)
}

// named: an agent knows the names of pods by the links that the kubelet keeps, as the API server does.
func (c *cluster) named(t *testing.T) {
	type container struct {
		Namespace, Pod, Container, Workload, PodUID string
	}
	names := func(source string) map[string]container {
		t.Helper()
		cmd := exec.Command(c.snug, "cluster", "agent", "--once", "--json", "--names="+source)
		cmd.Env = []string{"PATH=/nowhere", "HOME=" + t.TempDir()}
		text, err := cmd.Output()
		var d struct {
			Containers []struct {
				Namespace, Pod, Container, Workload *string
				UID                                 *string `json:"pod_uid"`
				ID                                  *string `json:"container_id"`
			}
		}
		if err != nil || json.Unmarshal(text, &d) != nil {
			t.Fatalf("%v, %s", err, text)
		}
		word := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		all := map[string]container{}
		for _, k := range d.Containers {
			if k.ID != nil {
				all[*k.ID] = container{word(k.Namespace), word(k.Pod), word(k.Container), word(k.Workload), word(k.UID)}
			}
		}
		return all
	}
	known := names("node")
	for _, d := range misfits {
		p := c.running(t, "shop", d.name)
		found := false
		for _, k := range known {
			found = found || k.Namespace == "shop" && k.Pod == p.Metadata.Name && k.Container != "" && k.Workload == "Deployment/"+d.name && k.PodUID == p.Metadata.UID
		}
		if !found {
			t.Errorf("no %s among %+v", p.Metadata.Name, known)
		}
	}
	for id, k := range names("none") {
		if k.Namespace != "" || k.Pod != "" {
			t.Errorf("%s has names without a source: %+v", id, k)
		}
	}
}
