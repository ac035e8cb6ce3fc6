// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// least is the variable by which snug in a program takes fewer CPUs than two.
const least = "SNUG_MIN_PROCS=1"

// fit is what snug in a program makes of a memory limit: the same tenth less, to the byte.
func fit(mebibytes int64) string {
	bytes := mebibytes << 20
	return strconv.FormatInt(bytes-bytes/10, 10)
}

// resized: two containers are given more in place. The one that was given variables keeps
// what they say, and whoever resizes it is told so; the one with snug in it follows.
func (c *cluster) resized(t *testing.T) {
	c.namespace(t, "resize", "")
	c.deployment(t, "resize", "plain", plainImage, "1", "")
	// By itself it takes no less than two, as Go 1.25 does, which may be all that there are.
	c.deployment(t, "resize", "auto", autoImage, "1", least)
	// Nothing has told the webhook yet that this one is old.
	c.running(t, "resize", "plain")
	plain := c.again(t, "resize", "plain", kube.Object{"snug.dev/inject": "enabled", "snug.dev/gomaxprocs": "enabled"}, injected)
	auto := c.running(t, "resize", "auto")
	if vars := auto.variables(); vars != least {
		t.Fatalf("auto has %q", vars)
	}
	c.has(t, "plain, before", &plain, "1", fittingBytes)
	c.has(t, "auto, before", &auto, "1", fit(256))
	// That something was resized is known to who has seen it before.
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
		// The API server goes on without a webhook that is slow, and a resize can be done
		// once. So it is tried, until whoever does it is told.
		told := ""
		if p.name == "plain" {
			c.Wait(t, "whoever resizes what has variables is told so", func() bool {
				told = give("?dryRun=All")
				return strings.Contains(told, "GOMAXPROCS") && strings.Contains(told, "GOMEMLIMIT")
			})
		}
		if w := give(""); w != "" && w != told {
			t.Errorf("%s: who resizes it is told %q, want %q", p.name, w, told)
		}
		c.tell(t, "%s is given 2 CPUs and 512Mi; who does it is told %q", p.name, told)
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
	// It looks now and then; growth waits for a second look.
	var last self
	defer func() {
		if t.Failed() {
			t.Logf("auto has last %s", last)
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

// has checks what a pod's server has.
func (c *cluster) has(t *testing.T, what string, p *pod, procs, limit string) {
	t.Helper()
	s := p.self(t)
	c.tell(t, "%s: %s", what, s)
	if s.Procs != procs || s.Limit != limit {
		t.Errorf("%s: want GOMAXPROCS %s and GOMEMLIMIT %s", what, procs, limit)
	}
}
