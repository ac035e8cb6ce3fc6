// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"debug/buildinfo"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]int{
		"1.26":                       26,
		"go1.26.8":                   26,
		"go1.27rc1":                  27,
		"go1.18beta2":                18,
		"go1.26.8 X:synctest":        26,
		"go1.24.13-custom":           24,
		"devel go1.28-1a2b3c4 Thu":   28,
		"go1.28-devel_1a2b3c4 Thu":   28,
		"go1.9":                      9,
		"devel +1a2b3c4 Thu Mar 1":   0,
		"go2.1":                      0,
		"1.":                         0,
		"1.x":                        0,
		"1.26x":                      0,
		"":                           0,
		"26":                         0,
		"1.99999999999999999999999":  0,
		"unknown":                    0,
		"go1.25+auto":                25,
		"go1.23.4 (Red Hat 1.23.4)":  23,
		"go1.25-20250801-RC00 cl/78": 25,
	} {
		if got, ok := ParseVersion(text); got != want && ok || ok != (want != 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

// TestFromBuildInfo has what the go command really wrote for programs with
// these go lines, built by these toolchains.
func TestFromBuildInfo(t *testing.T) {
	const blind = "containermaxprocs=0"
	for _, c := range []struct {
		name, version, godebug string
		minor                  int
		aware                  bool
	}{
		{"go line 1.26 built by 1.26", "go1.26.8", "", 26, true},
		{"go line 1.24 built by 1.26", "go1.26.8", "asynctimerchan=1," + blind + ",updatemaxprocs=0", 26, false},
		{"go line 1.24 built by 1.24", "go1.24.13", "", 24, false},
		{"asked for by a go:debug line", "go1.27.3", "containermaxprocs=1,updatemaxprocs=0", 27, true},
		{"a development version", "devel go1.28-1a2b3c4 Thu", blind, 28, false},
		{"a version that does not tell", "devel +1a2b3c4", "", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := &debug.BuildInfo{GoVersion: c.version, Path: "example.com/app"}
			if c.godebug != "" {
				info.Settings = []debug.BuildSetting{{Key: "-compiler", Value: "gc"}, {Key: "DefaultGODEBUG", Value: c.godebug}}
			}
			e := fromBuildInfo(info)
			if !e.IsGo || e.Minor != c.minor || e.Main != "example.com/app" || e.Aware("") != c.aware {
				t.Errorf("%+v, aware %v; want minor %d, aware %v", e, e.Aware(""), c.minor, c.aware)
			}
		})
	}
}

// TestClipped: what a file claims is kept in part, and keeps nothing else in memory.
func TestClipped(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	module := func(path string) *debug.Module { return &debug.Module{Path: path, Version: long} }
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8 " + long, Path: long, Settings: []debug.BuildSetting{{Key: "DefaultGODEBUG", Value: "asynctimerchan=1," + long + "=1"}},
		Deps: []*debug.Module{module("go.uber.org/automaxprocs"), module("github.com/KimMachineGun/automemlimit"), module("github.com/snug-go/snug")},
	}
	e := fromBuildInfo(info)
	for what, c := range map[string][2]string{
		"version": {e.GoVersion, info.GoVersion}, "main": {e.Main, long}, "automaxprocs": {e.Automaxprocs, long}, "automemlimit": {e.Automemlimit, long}, "snug": {e.Snug, long},
	} {
		if len(c[0]) != maxText || !strings.HasPrefix(c[1], c[0]) || unsafe.StringData(c[0]) == unsafe.StringData(c[1]) {
			t.Errorf("%s: %d bytes", what, len(c[0]))
		}
	}
	if e.Minor != 26 || len(e.GODEBUG) != 1 || e.GODEBUG["asynctimerchan"] != "1" {
		t.Errorf("%d, %d settings", e.Minor, len(e.GODEBUG))
	}
}

func TestSetters(t *testing.T) {
	e := fromBuildInfo(&debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "go.uber.org/automaxprocs", Version: "v1.6.0"},
		{Path: "github.com/KimMachineGun/automemlimit", Version: "v1.0.1"},
		{Path: "github.com/snug-go/snug", Version: "v0.1.0", Replace: &debug.Module{Path: "../snug"}},
		{Path: "github.com/snug-go/snug/contrib/prometheus", Version: "v0.1.0"},
	}})
	want := []string{"github.com/KimMachineGun/automemlimit v1.0.1", "github.com/snug-go/snug (devel)", "go.uber.org/automaxprocs v1.6.0"}
	if got := e.Setters(); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAware follows runtime/runtime1.go, parsegodebug.
func TestAware(t *testing.T) {
	for _, c := range []struct {
		builtin, env string
		want         bool
	}{
		{"", "", true},
		{"", "containermaxprocs=0", false},
		{"containermaxprocs=0", "", false},
		{"containermaxprocs=0", "containermaxprocs=1", true},
		{"containermaxprocs=0", "gctrace=1", false},
		{"", "containermaxprocs=0,containermaxprocs=1", true},
		{"", "containermaxprocs=1,containermaxprocs=0", false},
		{"", "containermaxprocs=0,containermaxprocs=x", false},
		{"", "containermaxprocs=off", true},
		{"", "containermaxprocs=-1", false},
		{"", ",,=,containermaxprocs", true},
	} {
		e := Exe{IsGo: true, Minor: 26, GODEBUG: parseGODEBUG(c.builtin)}
		if got := e.Aware(c.env); got != c.want {
			t.Errorf("built in %q, GODEBUG=%q: %v, want %v", c.builtin, c.env, got, c.want)
		}
	}
	if old := (Exe{IsGo: true, Minor: 24}); old.Aware("containermaxprocs=1") {
		t.Error("Go 1.24 reads cgroups")
	}
}

// TestKeepsTimers: a variable wins over the go line, and neither counts where the release has no choice.
func TestKeepsTimers(t *testing.T) {
	for _, c := range []struct {
		minor        int
		builtin, env string
		want         bool
	}{
		{22, "", "", true},
		{22, "", "asynctimerchan=0", true},
		{23, "", "", false},
		{26, "asynctimerchan=1", "", true},
		{26, "asynctimerchan=1", "asynctimerchan=0", false},
		{26, "", "gctrace=1,asynctimerchan=1", true},
		{26, "", "asynctimerchan=2", false},
		{27, "asynctimerchan=1", "asynctimerchan=1", false},
		{0, "asynctimerchan=1", "", false},
	} {
		e := Exe{IsGo: true, Minor: c.minor, GODEBUG: parseGODEBUG(c.builtin)}
		if got := e.KeepsTimers(c.env); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestNotGo(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"":                           "an empty file",
		"#!/bin/sh\nexec app\n":      "a script for /bin/sh",
		"#! /usr/bin/env  python\n":  "a script for /usr/bin/env",
		"#!\n":                       "a script",
		"\x7fELF and then nothing":   "an ELF program that Go did not build",
		"MZ":                         "a Windows program that Go did not build",
		"\xcf\xfa\xed\xfe":           "a Mach-O program that Go did not build",
		"just text\n":                "a file of another kind",
		strings.Repeat("\x00", 4096): "a file of another kind",
	} {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
		e, err := ReadExe(file)
		if err != nil || e.IsGo || e.What != want {
			t.Errorf("%.20q: %+v, %v, want %s", name, e, err, want)
		}
	}
	if e, err := ReadExe(dir); err != nil || e.What != "a directory" {
		t.Errorf("directory: %+v, %v", e, err)
	}
	if _, err := ReadExe(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestBuiltPrograms builds programs with different go lines, by the Go that
// runs the test, and asks them what their runtime was told.
func TestBuiltPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	for _, c := range []struct {
		goLine, debug string
		aware         bool
	}{
		{"1.21", "", false},
		{"1.24", "", false},
		{"1.25", "", true},
		{"1.26", "", true},
		{"1.24", "//go:debug containermaxprocs=1\n", true},
		{"1.26", "//go:debug containermaxprocs=0\n", false},
	} {
		t.Run(strings.TrimSpace("go line "+c.goLine+" "+c.debug), func(t *testing.T) {
			file := build(t, c.goLine, c.debug, "")
			e, err := ReadExe(file)
			if err != nil || !e.IsGo {
				t.Fatalf("%+v, %v", e, err)
			}
			if e.GoVersion != runtime.Version() || e.Minor != ThisMinor() || e.Main != "example.com/app" || e.Aware("") != c.aware {
				t.Errorf("%+v, aware %v, want %v", e, e.Aware(""), c.aware)
			}
		})
	}
}

// TestStrippedPrograms cuts away what says that Go built a program.
func TestStrippedPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	file := build(t, "1.26", "", "-s -w -buildid=")
	e, err := ReadExe(file)
	if err != nil || !e.IsGo || e.Minor != ThisMinor() || !e.Stripped {
		t.Fatalf("without symbols and build ID: %+v, %v", e, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := ReadExe(build(t, "1.26", "", "")); err != nil || e.Stripped {
		t.Errorf("with symbols: %+v, %v", e, err)
	}
	// The magic bytes of the build information, wherever they stand.
	cut := strings.ReplaceAll(string(data), "\xff Go buildinf:", "\xff no buildinf:")
	if cut == string(data) {
		t.Fatal("no build information to cut out")
	}
	if err := os.WriteFile(file, []byte(cut), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := buildinfo.ReadFile(file); err == nil {
		t.Fatal("build information is still there")
	}
	if e, err = ReadExe(file); err != nil || e.Minor != 0 || e.GoVersion != "" {
		t.Errorf("without build information: %+v, %v", e, err)
	}
	if runtime.GOOS == "linux" && (!e.IsGo || !e.Stripped) {
		t.Errorf("not recognised as Go: %+v", e)
	}
}

func build(t *testing.T, goLine, directive, ldflags string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/app\n\ngo " + goLine + "\n",
		"main.go": directive + "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "app")
	cmd := exec.Command("go", "build", "-ldflags="+ldflags, "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestByNames: a program that was built without modules, as Debian's are, and stripped.
func TestByNames(t *testing.T) {
	gopath := t.TempDir()
	for name, text := range map[string]string{
		"go.uber.org/automaxprocs/maxprocs/set.go":              "package maxprocs\n\nimport \"os\"\n\n//go:noinline\nfunc Set() { os.Getpid() }\n",
		"github.com/KimMachineGun/automemlimit/memlimit/set.go": "package memlimit\n\nimport \"os\"\n\n//go:noinline\nfunc SetGoMemLimitWithOpts() { os.Getpid() }\n",
		"procs/main.go": "package main\n\nimport \"go.uber.org/automaxprocs/maxprocs\"\n\nfunc main() { maxprocs.Set() }\n",
		"both/main.go":  "package main\n\nimport (\n\t\"github.com/KimMachineGun/automemlimit/memlimit\"\n\t\"go.uber.org/automaxprocs/maxprocs\"\n)\n\nfunc main() { maxprocs.Set(); memlimit.SetGoMemLimitWithOpts() }\n",
		"none/main.go":  "package main\n\nfunc main() {}\n",
	} {
		file := filepath.Join(gopath, "src", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"procs": noVersion + "|", "both": noVersion + "|" + noVersion, "none": "|"} {
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(gopath, name), name)
		cmd.Env = append(os.Environ(), "GO111MODULE=off", "GOPATH="+gopath, "GOTOOLCHAIN=local", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		e, err := ReadExe(filepath.Join(gopath, name))
		if got := e.Automaxprocs + "|" + e.Automemlimit; err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
