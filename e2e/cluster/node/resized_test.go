// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// minOne is the variable that lets snug in a program choose 1 CPU; its default minimum is 2 from a limit of one core on.
const minOne = "SNUG_MIN_PROCS=1"

// fit returns the GOMEMLIMIT that snug in a program sets for a memory limit: a tenth less, exact to
// the byte.
func fit(mebibytes int64) string {
	bytes := mebibytes << 20
	return strconv.FormatInt(bytes-bytes/10, 10)
}

// resized: two containers get more in place. The one with given variables keeps their values, and
// the client that resizes it gets a warning; the one with snug linked follows.
func (c *cluster) resized(t *testing.T) {
	c.namespace(t, "resize", "")
	c.deployment(t, "resize", "plain", plainImage, "1", "")
	// By default it uses at least two, like Go 1.25, and the machine may not have more.
	c.deployment(t, "resize", "auto", autoImage, "1", minOne)
	// The webhook has not yet learned that this one is old.
	c.running(t, "resize", "plain")
	plain := c.replace(t, "resize", "plain", kube.Object{"snug.dev/inject": "enabled", "snug.dev/gomaxprocs": "enabled"}, injected)
	auto := c.running(t, "resize", "auto")
	if vars := auto.variables(); vars != minOne {
		t.Fatalf("auto has %q", vars)
	}
	c.has(t, "plain, before", &plain, "1", fittingBytes)
	c.has(t, "auto, before", &auto, "1", fit(256))
	// The agent detects a resize only if it has seen the container before.
	c.seen(t, &plain, "plain", plainImage, "1", "1", fittingBytes)
	c.seen(t, &auto, "auto", autoImage, "1", "1", fit(256))

	pods := []struct {
		name string
		*pod
	}{{"plain", &plain}, {"auto", &auto}}
	for _, p := range pods {
		give := func(how string) string {
			a := c.Patch(t, "/api/v1/namespaces/resize/pods/"+p.Metadata.Name+"/resize"+how, kube.Object{"spec": kube.Object{"containers": []any{
				kube.Object{"name": "server", "resources": kube.Object{"limits": kube.Object{"cpu": "2", "memory": "512Mi"}}}}}})
			if !a.OK() {
				t.Fatalf("%s: %s", p.name, a.Message())
			}
			return strings.Join(a.Warnings, "\n")
		}
		// An API server takes a moment to see a new policy, and a resize cannot be repeated.
		// So repeat the dry run until it warns.
		told := ""
		if p.name == "plain" {
			c.Wait(t, "a resize of the pod with variables warns", func() bool {
				told = give("?dryRun=All")
				return strings.Contains(told, "GOMAXPROCS") && strings.Contains(told, "GOMEMLIMIT")
			})
		}
		if w := give(""); w != "" && w != told {
			t.Errorf("%s: the resize warns %q, want %q", p.name, w, told)
		}
		c.tell(t, "%s gets 2 CPUs and 512Mi; the warning is %q", p.name, told)
	}
	for _, p := range pods {
		c.Wait(t, p.name+" is resized", func() bool {
			var now pod
			if err := c.Read("/api/v1/namespaces/resize/pods/"+p.Metadata.Name, &now); err != nil {
				t.Fatal(err)
			}
			s := now.Status.ContainerStatuses[0]
			if s.RestartCount != 0 {
				t.Fatalf("%s was restarted", p.name)
			}
			return s.Resources.Limits["cpu"] == "2" && s.Resources.Limits["memory"] == "512Mi"
		})
	}
	// It polls now and then, and growth waits for a second poll.
	var last self
	defer func() {
		if t.Failed() {
			t.Logf("auto's last report: %s", last)
		}
	}()
	c.Wait(t, "auto follows", func() bool {
		last = auto.self(t)
		return last.Procs == "2" && last.Limit == fit(512)
	})
	c.has(t, "auto, after", &auto, "2", fit(512))
	c.has(t, "plain, after", &plain, "1", fittingBytes)
	c.alerted(t, &plain, "GoStaleAfterResize", "firing")
	c.alerted(t, &auto, "GoStaleAfterResize", "")
}

// has checks the knobs of a pod's server.
func (c *cluster) has(t *testing.T, what string, p *pod, procs, limit string) {
	t.Helper()
	s := p.self(t)
	c.tell(t, "%s: %s", what, s)
	if s.Procs != procs || s.Limit != limit {
		t.Errorf("%s: want GOMAXPROCS %s and GOMEMLIMIT %s", what, procs, limit)
	}
}
