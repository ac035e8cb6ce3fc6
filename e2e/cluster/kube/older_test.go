// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// TestChecks: a server that emulates an older release, without the kinds that change pods, takes the
// policies that only warn. They warn, and no pod is changed.
func TestChecks(t *testing.T) {
	gate.Need(t, "kube")
	snug := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	for _, release := range []string{"1.33", "1.34", "1.35"} {
		t.Run(release, func(t *testing.T) {
			p := policies{Lab: StartWith(t, Options{Flags: []string{"--emulated-version=" + release}}), snug: snug}
			version := Must(t, p.Get(t, "/version")).Object
			if plays := fmt.Sprint(version["emulationMajor"], ".", version["emulationMinor"]); plays != release {
				t.Fatalf("the server plays %s", plays)
			}
			p.namespaces(t)
			before := p.checked(t)
			t.Run("warn", func(t *testing.T) {
				p.apply(t, "", "--checks")
				p.check(t, []situation{
					{"a pod that would be given something", in, "gomaxprocs=enabled", memory("512Mi"), "a{}", nil},
					{"a size that Go cannot parse", neutral, "", withEnv("GOMEMLIMIT", "512Mi"), "a{GOMEMLIMIT=512Mi}", []string{"gomemlimit-malformed"}},
					{"the whole limit", neutral, "", withEnv("GOMEMLIMIT", "1GiB"), "a{GOMEMLIMIT=1GiB}", []string{"gomemlimit-at-limit"}},
					{"a divisor", neutral, "",
						`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}], resources: {limits: {memory: 1Gi}}}]`,
						"a{GOMEMLIMIT<limits.memory/1Mi}", []string{"gomemlimit-divisor"}},
					{"thousandths counted as Ps", neutral, "",
						`containers: [{name: a, image: x, env: [{name: GOMAXPROCS, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}], resources: {limits: {cpu: 1}}}]`,
						"a{GOMAXPROCS<limits.cpu/1m}", []string{"gomaxprocs-divisor"}},
					{"no Ps", neutral, "", withEnv("GOMAXPROCS", "0"), "a{GOMAXPROCS=0}", []string{"gomaxprocs-malformed"}},
					{"an invalid label", in, "inject=perhaps", memory("512Mi"), "a{}", []string{"pod-label-wrong"}},
					{"a mistake in a namespace opted out", out, "", withEnv("GOMEMLIMIT", "512Mi"), "a{GOMEMLIMIT=512Mi}", nil},
				})
				t.Run("workloads", p.workloads)
			})
			t.Run("deny", func(t *testing.T) {
				p.apply(t, "check: deny\n", "--checks")
				p.check(t, []situation{
					{"a size that Go cannot parse", neutral, "", withEnv("GOMEMLIMIT", "512Mi"), "refused", []string{"gomemlimit-malformed"}},
					{"a size of Go", neutral, "", withEnv("GOMEMLIMIT", "400MiB"), "a{GOMEMLIMIT=400MiB}", nil},
				})
			})
			p.noErrors(t, before)
		})
	}
}
