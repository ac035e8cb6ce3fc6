// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadme runs every "$ snug ..." in the console blocks of README.md and docs/*.md in the
// repository's root and compares what is printed. Commands that make cgroups run with
// SNUG_E2E=root.
func TestReadme(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "snug"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ours := regexp.MustCompile(`^([A-Z_]+=\S+ )*snug [^|;&>]*(\| (head|sed) [^|;&>]*)?$`)
	ran := 0
	for _, page := range append(pages, "../../README.md") {
		if filepath.Base(page) == "rollout.md" {
			continue // its commands need a cluster: e2e/cluster/fleet
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "```console\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
				command, want, _ := strings.Cut(step, "\n")
				if strings.Contains(command, "snug run --memory") && !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
					t.Logf("set SNUG_E2E=root to run: %s", command)
					continue
				}
				if !ours.MatchString(command) {
					t.Errorf("%s: $ %s\nis not a command of snug: show it in another kind of block", page, command)
					continue
				}
				ran++
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = "../.."
				cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GOMAXPROCS=", "GOMEMLIMIT=", "GOGC=")
				got, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				finds := (strings.HasPrefix(command, "snug lint ") || strings.HasPrefix(command, "snug check ")) && !strings.Contains(command, "|") && !strings.Contains(command, " --size ")
				if finds != (errors.As(err, &exit) && exit.ExitCode() == 3) || !finds && err != nil {
					t.Errorf("%s: $ %s\n%v; 3 is for what is found", page, command, err)
				}
				if strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
					t.Errorf("$ %s\nprints\n%s\nand %s says\n%s", command, got, page, want)
				}
			}
		}
	}
	if ran == 0 {
		t.Error("no console block can be run")
	}
}

// TestLinks checks that the relative links of all pages lead to files of the repository, that these have the
// tests that the links name, and that README.md has at most 150 lines.
func TestLinks(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("not a checkout")
	}
	link := regexp.MustCompile(`(?:\[(Test\w+))?\]\(([^)\s]+)\)`)
	for page := range strings.FieldsSeq(string(out)) {
		page = filepath.Join("../..", page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to, _, _ := strings.Cut(m[2], "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			to = filepath.Join(filepath.Dir(page), to)
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: no file for the link %s", page, m[2])
			}
			if m[1] == "" {
				continue
			}
			if code, err := os.ReadFile(to); err != nil || !strings.Contains(string(code), "\nfunc "+m[1]+"(") {
				t.Errorf("%s: %s does not have the test %s", page, m[2], m[1])
			}
		}
		if n := strings.Count(string(text), "\n"); page == "../../README.md" && n > 150 {
			t.Errorf("README.md has %d lines, want at most 150", n)
		}
	}
}

// TestExperiments checks that docs/experiments.md has each folder of experiments/ once.
func TestExperiments(t *testing.T) {
	text, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("../../experiments")
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, file := range files {
		if !file.IsDir() {
			continue
		}
		folders++
		name := file.Name()
		if n := strings.Count(string(text), "](../experiments/"+name+") |"); n != 1 {
			t.Errorf("%d rows of docs/experiments.md link ../experiments/%s", n, name)
		}
	}
	if rows := strings.Count(string(text), "](../experiments/"); rows != folders {
		t.Errorf("%d rows for %d folders", rows, folders)
	}
}

// A command of an experiment changes to a folder, runs packages or programs of this tree, and makes files.
var (
	changesTo = regexp.MustCompile(`\bcd ([\w./-]+)`)
	runs      = regexp.MustCompile(`(?:^|[\s;({])(\./[\w.-]+(?:/[\w.-]+)*)`)
	makes     = regexp.MustCompile(`(?:-o|>) ?(?:\./)?([\w.-]+)`)
)

// TestExperimentsCommands: the commands of experiments/*/README.md name packages and programs that exist or that
// they make, beside the reader's own, which a variable names.
func TestExperimentsCommands(t *testing.T) {
	if _, err := os.Stat("../../e2e"); errors.Is(err, os.ErrNotExist) {
		t.Skip("a copy of the tool alone")
	}
	readmes, err := filepath.Glob("../../experiments/*/README.md")
	if err != nil || len(readmes) < 50 {
		t.Fatalf("%d files, %v", len(readmes), err)
	}
	for _, readme := range readmes {
		text, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		home := filepath.Dir(readme)
		made := map[string]bool{}
		dirs := []string{home, "../.."}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "    ") {
				dirs = []string{home, "../.."}
				continue
			}
			line, _, _ = strings.Cut(line, " # ")
			if m := changesTo.FindStringSubmatch(line); m != nil {
				dirs = []string{filepath.Join(home, m[1]), filepath.Join("../..", m[1])}
			}
			for _, m := range makes.FindAllStringSubmatch(line, -1) {
				made[m[1]] = true
			}
			for _, m := range runs.FindAllStringSubmatch(line, -1) {
				name := strings.TrimSuffix(m[1], "/...")
				exists := func(dir string) bool {
					_, err := os.Stat(filepath.Join(dir, name))
					return err == nil
				}
				if !made[strings.TrimPrefix(name, "./")] && !slices.ContainsFunc(dirs, exists) && !exists("../..") {
					t.Errorf("%s: no %s: %s", readme, name, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestExperimentsSize: no file of the experiments is over a megabyte, and together they are not over 14.
func TestExperimentsSize(t *testing.T) {
	const most, all = 1_000_000, 14_000_000
	if _, err := os.Stat("../../experiments"); errors.Is(err, os.ErrNotExist) {
		t.Skip("a copy of the tool alone")
	}
	sum, files := int64(0), 0
	err := filepath.WalkDir("../../experiments", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if sum, files = sum+info.Size(), files+1; info.Size() > most {
			t.Errorf("%s: %d bytes, at most %d", name, info.Size(), most)
		}
		return nil
	})
	if err != nil || files < 100 || sum > all {
		t.Errorf("%d files, %d bytes, at most %d: %v", files, sum, all, err)
	}
}
