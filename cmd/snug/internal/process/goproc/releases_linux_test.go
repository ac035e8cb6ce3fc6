// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/oldgo"
)

// What TestGoReleases and TestBuildReleases are asked for by the environment:
//
//	SNUG_GO_RELEASES  which Go releases, separated by spaces; some of them by default
//	SNUG_GO_BUILDS    which ways to link, separated by commas; all by default
//	SNUG_GO_PROGRAMS  the folder that programs are built into and taken from: on a
//	                  machine without a toolchain the tests run on what another built
//	SNUG_GO_ARCH      which GOARCH TestBuildReleases builds for
//	SNUG_GO_CC        the C compiler for it
//	SNUG_TOOL         the tool, to be asked too

// linked is a way to link a program.
type linked struct {
	name  string
	flags []string
	cgo   bool
}

// release is one of Go.
type release struct {
	version string // "1.27.3"
	minor   int
	tool    *toolchain // nil unless asked for
}

// eachBuild calls f for each release and way to link that is asked for.
func eachBuild(t *testing.T, tools bool, f func(t *testing.T, r release, l linked)) {
	all := []linked{
		{"cgo", []string{"-ldflags=-linkmode=external"}, true},
		{"cgo pie stripped", []string{"-buildmode=pie", "-ldflags=-linkmode=external -s -w"}, true},
	}
	for _, b := range builds {
		all = append(all, linked{b.name, b.flags, false})
	}
	if list := os.Getenv("SNUG_GO_BUILDS"); list != "" {
		var chosen []linked
		for _, name := range strings.Split(list, ",") {
			i := slices.IndexFunc(all, func(l linked) bool { return l.name == name })
			if i < 0 {
				t.Fatalf("SNUG_GO_BUILDS has %q", name)
			}
			chosen = append(chosen, all[i])
		}
		all = chosen
	}
	releases := []string{"1.18.10", "1.20.14", "1.21.13", "1.24.13", "1.27.3"}
	if list := os.Getenv("SNUG_GO_RELEASES"); list != "" {
		releases = strings.Fields(list)
	}
	for _, version := range releases {
		t.Run("go"+version, func(t *testing.T) {
			r := release{version: version}
			r.minor, _ = ParseVersion(version)
			if tools {
				file, env := oldgo.Tool(t, version)
				r.tool = &toolchain{file: file, minor: r.minor, env: env}
			}
			for _, l := range all {
				t.Run(l.name, func(t *testing.T) { f(t, r, l) })
			}
		})
	}
}

// kept is where the program lies in a folder of programs.
func (r release) kept(dir string, l linked) string {
	return filepath.Join(dir, "go"+r.version, l.name)
}

// build builds the target, with the release's own toolchain.
func (r release) build(t *testing.T, arch string, l linked) string {
	flags := l.flags
	if r.minor == 18 || r.minor == 20 {
		flags = append([]string{"-buildvcs=false"}, flags...)
	}
	return buildTarget(t, how{tool: r.tool, arch: arch, goLine: "1." + strconv.Itoa(min(r.minor, 26)), flags: flags, cgo: l.cgo})
}

// TestGoReleases has programs that other Go releases built say the same. Of all
// releases it is the whole matrix: see experiments.
func TestGoReleases(t *testing.T) {
	if !wants("go") {
		t.Skip("set SNUG_E2E=go to fetch other Go releases and build with them")
	}
	dir := os.Getenv("SNUG_GO_PROGRAMS")
	eachBuild(t, dir == "", func(t *testing.T, r release, l linked) {
		file := r.kept(dir, l)
		if dir == "" {
			file = r.build(t, runtime.GOARCH, l)
		}
		checkSettings(t, file, r.minor, true, NewCache(""))
		checkDelays(t, file)
		if l.flags == nil && r.minor >= 19 { // there is a limit
			checkGoals(t, file)
		}
	})
}

// TestBuildReleases builds the programs of TestGoReleases for a machine that has
// no toolchain.
func TestBuildReleases(t *testing.T) {
	dir, arch := os.Getenv("SNUG_GO_PROGRAMS"), os.Getenv("SNUG_GO_ARCH")
	if arch == "" {
		t.Skip("set SNUG_GO_ARCH and SNUG_GO_PROGRAMS to build the programs of TestGoReleases for another machine")
	}
	eachBuild(t, true, func(t *testing.T, r release, l linked) {
		to := r.kept(dir, l)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		copyFile(t, r.build(t, arch, l), to)
	})
}
