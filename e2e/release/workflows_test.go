// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestWorkflows: only a job of the environment that protects it reads the signing key, and an action
// is a commit.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(theTree(t).root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	keys := 0
	for _, file := range files {
		var w struct {
			Env  map[string]string
			Jobs map[string]struct {
				Environment string
				Env         map[string]string
				Steps       []struct {
					Uses string
					Env  map[string]string
				}
			}
		}
		text := read(t, file)
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatal(err)
		}
		found := 0
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				if action, version, _ := strings.Cut(step.Uses, "@"); action != "" && !strings.HasPrefix(action, "./") && len(version) != 40 {
					t.Errorf("%s: %s is no commit", file, step.Uses)
				}
				if strings.Contains(step.Env[keyVariable], "secrets.") {
					if found++; job.Environment != "release" {
						t.Errorf("%s: job %s reads the key outside of the environment release", file, name)
					}
				}
			}
		}
		if n := strings.Count(string(text), "secrets."); n != found {
			t.Errorf("%s: %d secrets, %d of them in a step's %s", file, n, found, keyVariable)
		}
		keys += found
	}
	if keys == 0 {
		t.Error("nothing is signed")
	}
}

// TestDependabot: every module is kept up to date.
func TestDependabot(t *testing.T) {
	tr := theTree(t)
	var d struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal(read(t, filepath.Join(tr.root, ".github", "dependabot.yml")), &d); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, u := range d.Updates {
		got[u.Ecosystem] = append(u.Directories, u.Directory)
	}
	for ecosystem, name := range map[string]string{"gomod": "go.mod", "npm": "package.json"} {
		for file := range strings.Lines(out(t, "git", "-C", tr.root, "ls-files", name, "*/"+name)) {
			dir := "/" + strings.Trim(strings.TrimSuffix(strings.TrimSpace(file), name), "/")
			if !strings.Contains(file, "testdata/") && !slices.Contains(got[ecosystem], dir) {
				t.Errorf("%s of %s is missing in dependabot.yml", ecosystem, dir)
			}
		}
	}
	if !slices.Contains(got["github-actions"], "/") {
		t.Error("actions are missing in dependabot.yml")
	}
}
