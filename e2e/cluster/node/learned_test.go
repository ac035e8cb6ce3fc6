// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// byMeasured: GOMEMLIMIT by the memory that is not Go's. A program with much of it is killed under the share, and lives by
// what the agent measured; one with hardly any collects less often. The policies do it alone: a webhook reads the ConfigMap once a minute, and corrects their values.
func (c *cluster) byMeasured(t *testing.T) {
	c.helm(t, "upgrade", "snug", filepath.Join(programs.Root(t), "deploy", "helm", "snug"), "--reuse-values",
		"--set", "webhook.enabled=false", "--set", "policy.enabled=true", "--set", "config.learned=use")
	c.namespace(t, "learn", "enabled")
	// Of 256 MiB, 77 (30 %) are not Go's. The share is 230 MiB; the heap would reach 200.
	c.deployment(t, "learn", "outside", heldImage, "1", "HOLD=100,77")
	// It has hardly any, and its live heap leaves the share 25 MiB.
	c.deployment(t, "learn", "inside", heldImage, "1", "HOLD=205,0")
	t.Run("killed, and not", c.killed)
	t.Run("collected less", c.collected)
}

// killed: the program with much memory that is not Go's.
func (c *cluster) killed(t *testing.T) {
	const share = "GOMEMLIMIT=" + fitting + " (pod-memory-share)"
	p := c.given(t, "outside", share, "(pod-memory-learned)")
	// What Go has mapped and not touched yet counts as Go's, and hides as much of the rest: a few MiB.
	most, seconds := c.outside(t, "outside", 70<<20)
	const piece = 16 // MiB of garbage in a request
	before := 0      // requests that were answered
	for ok := true; ok; {
		if _, ok = p.work(t, piece); ok {
			before++
		}
		if before > 1000 {
			t.Fatalf("it is not killed under the share, %d MiB at most", p.counts(t).PeakBytes>>20)
		}
	}
	c.Wait(t, "the pod says why its container ended", func() bool {
		var now pod
		if err := c.Read("/api/v1/namespaces/learn/pods/"+p.Metadata.Name, &now); err != nil {
			t.Fatal(err)
		}
		last := now.Status.ContainerStatuses[0].LastState.Terminated
		if last != nil && last.Reason != "OOMKilled" {
			t.Fatalf("it ended: %s", last.Reason)
		}
		return last != nil
	})
	c.tell(t, "outside, %s: OOMKilled after %d MiB of garbage", share, before*piece)

	const line = "kubectl snug size --json | snug cluster learn - | kubectl apply --server-side -f -"
	if _, err := c.said(t, line); err != nil {
		t.Fatal(err)
	}
	c.tell(t, "%s: %.1f MiB outside Go, measured for %.0f s", line, most/(1<<20), seconds)
	p = c.given(t, "outside", "(pod-memory-learned)", "(pod-memory-share)")
	work := max(10*before, 50)
	all := collected{}
	for i := range work {
		one, ok := p.work(t, piece)
		if !ok {
			t.Fatalf("no answer to request %d of %d", i, work)
		}
		all.Collections += one.Collections
		all.Seconds += one.Seconds
	}
	if now := c.running(t, "learn", "outside"); now.Metadata.Name != p.Metadata.Name || now.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("it was restarted: %+v", now.Status)
	}
	c.tell(t, "outside, %s: alive after %d MiB of garbage, %d collections, the container used %d MiB at most",
		p.Metadata.Annotations["snug.dev/added"], work*piece, all.Collections, p.counts(t).PeakBytes>>20)
}

// collected: the program with hardly any memory that is not Go's. By what was measured for less than a week it gets no more than the
// share, so what the agent measured is claimed for a week by hand.
func (c *cluster) collected(t *testing.T) {
	const garbage = 1024 // MiB
	p := c.given(t, "inside", "GOMEMLIMIT="+fitting+" (pod-memory-learned)", "(pod-memory-share)")
	most, seconds := c.outside(t, "inside", 0)
	measure := func() collected {
		t.Helper()
		one, ok := p.work(t, garbage)
		if !ok || c.running(t, "learn", "inside").Status.ContainerStatuses[0].RestartCount != 0 {
			t.Fatalf("no answer, or a restart: %s", c.podStates(t, "learn"))
		}
		c.tell(t, "inside, %s: %d collections and %.2f s of CPU for them, for %d MiB of garbage; the container used %d MiB at most",
			p.Metadata.Annotations["snug.dev/added"], one.Collections, one.Seconds, garbage, p.counts(t).PeakBytes>>20)
		return one
	}
	before := measure()
	if _, err := c.said(t, fmt.Sprintf("echo learn Deployment inside server %.0f 604800 | snug cluster learn - | kubectl apply --server-side -f -", most)); err != nil {
		t.Fatal(err)
	}
	c.tell(t, "inside: %.1f MiB outside Go, measured for %.0f s, and claimed for a week", most/(1<<20), seconds)
	p = c.given(t, "inside", "(pod-memory-learned)", fitting)
	after := measure()
	if after.Collections*4 > before.Collections*3 {
		t.Errorf("%d collections instead of %d", after.Collections, before.Collections)
	}
}

// given returns the pod of a Deployment, replaced until its annotation has a part, and not another one.
func (c *cluster) given(t *testing.T, name, part, other string) pod {
	t.Helper()
	has := func(p *pod) (string, bool) {
		said := p.Metadata.Annotations["snug.dev/added"]
		return said, strings.Contains(said, part) && !strings.Contains(said, other)
	}
	p := c.running(t, "learn", name)
	if _, is := has(&p); is {
		return p
	}
	return c.replaced(t, "learn", name, nil, part, has)
}

// outside waits until the agent has measured, of a Deployment, a number of bytes or more that are not Go's, and returns the most with the
// seconds in which they were measured.
func (c *cluster) outside(t *testing.T, name string, least float64) (most, seconds float64) {
	t.Helper()
	c.Wait(t, "the agent has measured "+name, func() bool {
		var d struct {
			Other []struct {
				Workload, Container string
				Most                *float64 `json:"most_bytes"`
				Seconds             float64
			} `json:"other_memory"`
		}
		out, err := c.said(t, "kubectl snug size --namespace learn --json")
		if err != nil {
			t.Log(err) // the agent may have begun again
			return false
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		for _, o := range d.Other {
			if o.Workload == "Deployment/"+name && o.Container == "server" && o.Most != nil {
				most, seconds = *o.Most, o.Seconds
			}
		}
		return seconds >= 3 && most >= least
	})
	return most, seconds
}

// said runs a pipeline of kubectl, its plug-in and the tool, and returns its output. It fails with what was said, if the last command fails.
func (c *cluster) said(t *testing.T, line string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, to := range map[string]string{"kubectl": kubebuild.Command(t, "kubectl"), "kubectl-snug": c.snug, "snug": c.snug} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/sh", "-e", "-c", line)
	cmd.Env = []string{"PATH=" + dir, "HOME=" + dir, "TMPDIR=" + dir, "KUBECONFIG=" + c.Kubeconfig(t)}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", line, err, out, &stderr)
	}
	if stderr.Len() > 0 {
		t.Logf("%s: %s", line, &stderr)
	}
	return string(out), nil
}

// collected is what collecting the garbage of a request took.
type collected struct {
	Collections int
	Seconds     float64 // of CPU, without marking by idle Ps
}

// work makes a pod's program make a number of MiB of garbage. It is false if the program does not answer.
func (p *pod) work(t *testing.T, mebibytes int) (collected, bool) {
	t.Helper()
	var one collected
	r, err := http.Get(fmt.Sprintf("http://%s:8080/work?mib=%d", p.Status.PodIP, mebibytes))
	if err != nil {
		t.Log(err)
		return one, false
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
		t.Log(err)
		return one, false
	}
	return one, true
}
