// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

const version = "v0.1.0"

// epoch is the time of the release in tests, 2023-11-14T22:13:20Z.
const epoch = 1_700_000_000

// scratch is a directory that all tests share.
var scratch string

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := os.MkdirTemp("", "snug-release-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	scratch = dir
	code = m.Run()
}

// built is the release that tests share.
type built struct {
	dir      string // the release
	cache    string // the module cache of the build
	binaries []binary
	files    []content
	key      *key
}

var build = sync.OnceValues(func() (built, error) {
	b := built{dir: filepath.Join(scratch, "dist")}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return b, err
	}
	b.key = &key{private}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return b, err
	}
	os.Setenv(keyVariable, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})))
	os.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	ctx := context.Background()
	t, err := findTree(ctx)
	if err != nil {
		return b, err
	}
	if b.binaries, b.cache, err = t.build(ctx, filepath.Join(scratch, "build"), version); err != nil {
		return b, err
	}
	if b.files, err = t.assemble(ctx, version, b.binaries, b.cache, b.key); err != nil {
		return b, err
	}
	return b, write(b.dir, b.files)
})

// released returns the release.
func released(t *testing.T) built {
	t.Helper()
	gate.Root(t, "release")
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func theTree(t *testing.T) tree {
	t.Helper()
	tr, err := findTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// out runs a command and returns its standard output. A failure ends the test.
func out(t *testing.T, args ...string) string {
	t.Helper()
	text, err := command(t.Context(), "", nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// emulated returns a command line that runs a program for an architecture on this machine.
func emulated(arch string, args ...string) []string {
	if arch == "arm64" {
		return append([]string{"qemu-aarch64"}, args...)
	}
	return args
}

// says checks that a program prints the version of the release.
func says(t *testing.T, args ...string) {
	t.Helper()
	if got := out(t, append(args, "version")...); !strings.Contains(got, version) {
		t.Errorf("%s version printed %q", strings.Join(args, " "), got)
	}
}

// serve serves the release on loopback as GitHub does, and returns the address of the releases. Its
// files may be replaced.
func serve(t *testing.T, replaced map[string]string) string {
	t.Helper()
	dir := released(t).dir
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/latest/download/")
		if !ok {
			name, ok = strings.CutPrefix(r.URL.Path, "/download/"+version+"/")
		}
		if text, has := replaced[name]; ok && has {
			w.Write([]byte(text))
			return
		}
		if !ok || strings.Contains(name, "/") {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, name))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// result is what a command did.
type result struct {
	code        int
	out, stderr string
}

// try runs a command in a directory, with these variables added to the environment.
func try(t *testing.T, dir string, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
