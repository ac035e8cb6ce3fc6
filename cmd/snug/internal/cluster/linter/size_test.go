// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
)

// TestSizeOfPlanted: a container of any planted manifest gets a size as a whole or not at all, in a text that reads back, and the
// values that it gets are no finding. What is left is about something else.
func TestSizeOfPlanted(t *testing.T) {
	files, _ := filepath.Glob("../lint/*/*.yaml")
	if len(files) < 50 {
		t.Fatalf("%d files", len(files))
	}
	w := manifest.Wanted{
		Requests: []manifest.Pair{{Name: "cpu", Value: "500m"}, {Name: "memory", Value: "512Mi"}},
		Limits:   []manifest.Pair{{Name: "cpu", Value: "2000m"}, {Name: "memory", Value: "512Mi"}},
		Env:      []manifest.Pair{{Name: "GOMEMLIMIT", Value: "460MiB"}, {Name: "GOMAXPROCS"}},
	}
	// elsewhere are findings about what a size does not set: other variables, other objects, the pod.
	elsewhere := []string{"gogc-zero", "gogc-malformed", "godebug-harmful", "godebug-no-quota", "ignore-without-reason", "env-duplicate", "env-value-type", "automemlimit-unused",
		"stale-under-vpa", "stale-on-resize", "hpa-cpu-unreachable", "hpa-memory-constant", "pod-limit-shared", "pod-resources-empty", "reference-other-container",
		"reference-wrong-resource", "reference-without-limit", "divisor-missing"}
	sized, refused := 0, map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := manifest.Parse(file, text)
		for i, o := range f.Objects {
			for j, p := range o.Pods {
				for k, c := range p.Containers {
					if o.Form != manifest.Kubernetes || c.Loose {
						continue
					}
					after, made, err := f.Size(c, w)
					if err != nil {
						what, _, _ := strings.Cut(err.Error(), ":")
						refused[what]++
						continue
					}
					sized++
					again := manifest.Parse(file, after.Text).Objects[i].Pods[j].Containers[k]
					if again.Resources.Limits["memory"].Text != "512Mi" || again.Resources.Requests["cpu"].Text != "500m" {
						t.Errorf("%s, %s: %+v", file, c.Name, again.Resources)
					}
					if got, _ := again.Setting("GOMEMLIMIT"); got != "460MiB" {
						t.Errorf("%s, %s: GOMEMLIMIT=%s", file, c.Name, got)
					}
					if procs, _ := again.Setting("GOMAXPROCS"); procs != "" {
						t.Errorf("%s, %s: GOMAXPROCS=%s", file, c.Name, procs)
					}
					for _, found := range lint.Check([]*manifest.File{after}).Found {
						if found.Object == made.Pod.Object && found.Container == made.Name && made.Main() && len(made.EnvFrom) == 0 && !slices.Contains(elsewhere, found.ID) {
							t.Errorf("%s, %s: %s, %s", file, c.Name, found.ID, found.Message)
						}
					}
				}
			}
		}
	}
	t.Logf("%d containers sized; refused: %v", sized, refused)
	if sized < 170 {
		t.Errorf("only %d containers", sized)
	}
}
