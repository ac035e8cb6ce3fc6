// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/fit/vm/wire"
)

// unpack parses a newc archive: names with their bodies; names of directories end in "/".
func unpack(t *testing.T, b []byte) map[string]string {
	t.Helper()
	found := map[string]string{}
	for {
		field := func(i int) int {
			n, err := strconv.ParseUint(string(b[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		if string(b[:6]) != "070701" {
			t.Fatalf("magic %q", b[:6])
		}
		mode, size, nameLen := field(1), field(6), field(11)
		align := func(n int) int { return (n + 3) &^ 3 }
		name := string(b[110 : 110+nameLen-1])
		b = b[align(110+nameLen):]
		if name == "TRAILER!!!" {
			return found
		}
		if mode&0o170000 == 0o040000 {
			name += "/"
		}
		if _, again := found[name]; again {
			t.Errorf("the archive contains %s twice", name)
		}
		found[name] = string(b[:size])
		b = b[align(size):]
	}
}

func TestInitrd(t *testing.T) {
	host := t.TempDir()
	for name, text := range map[string]string{"guest": "g", "tree/a": "1", "tree/b/c": "22222"} {
		name = filepath.Join(host, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(host, "tree", "link")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err := initrd(&b, filepath.Join(host, "guest"), []byte("{}"), "/job.json", map[string]string{"/x/y": filepath.Join(host, "tree")})
	if err != nil {
		t.Fatal(err)
	}
	got := unpack(t, b.Bytes())
	for name, want := range map[string]string{
		"init": "g", "job.json": "{}", "proc/": "", "x/": "", "x/y/": "", "x/y/a": "1", "x/y/b/": "", "x/y/b/c": "22222", "x/y/link": "a",
	} {
		if text, ok := got[name]; !ok || text != want {
			t.Errorf("%s holds %q, %v; want %q", name, text, ok, want)
		}
	}
	if err := initrd(&b, filepath.Join(host, "guest"), nil, "/job.json", map[string]string{"/x": filepath.Join(host, "nothing")}); err == nil {
		t.Error("a payload that does not exist was packed")
	}
}

func TestCompleteFails(t *testing.T) {
	spec := Spec{Steps: []Step{{Name: "a"}, {Name: "b"}}}
	done := "boot\n" + wire.LastLine + "0\n[ 4.5] reboot: Power down\n"
	both := []Result{{Name: "a"}, {Name: "b"}}
	tests := []struct {
		name    string
		console string
		results []Result
		ok      bool
	}{
		{"in order", done, both, true},
		{"no last line", "Kernel panic - not syncing", both, false},
		{"exit code", strings.Replace(done, "0\n", "1\n", 1), both, false},
		{"a result is missing", done, both[:1], false},
		{"another order", done, []Result{{Name: "b"}, {Name: "a"}}, false},
	}
	for _, test := range tests {
		if err := complete(spec, test.results, test.console); (err == nil) != test.ok {
			t.Errorf("%s: %v, want ok %v", test.name, err, test.ok)
		}
	}
	if _, err := parse([]byte("{\"Name\":\"a\"}\n{\"Na")); err == nil {
		t.Error("a truncated line was parsed as a result")
	}
}

func TestUnknownMachine(t *testing.T) {
	if _, _, err := Boot(t.Context(), t.TempDir(), Spec{Kind: Kind{Arch: "pdp11"}}); err == nil || !strings.Contains(err.Error(), `"pdp11"`) {
		t.Errorf("error %v, want the architecture in it", err)
	}
}

// TestBootAgain: a guest that does not start is booted again, and its console is that of the boot
// that did; the last boot has no limit. A guest that fails after its first line is not booted again.
func TestBootAgain(t *testing.T) {
	dir := t.TempDir()
	emulator, boots := filepath.Join(dir, "emulator"), filepath.Join(dir, "boots")
	// The first boots hang until the test has seen two of them.
	script := `#!/bin/sh
echo x >>"$1/boots"
n=0
while [ ! -e "$1/go" ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done
echo "` + wire.FirstLine + `"
echo x >>"$1/started"
exit 3
`
	if err := os.WriteFile(emulator, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		for {
			if text, _ := os.ReadFile(boots); len(text) >= len("x\nx\n") {
				os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	var limits []time.Duration
	for limit := 20 * time.Millisecond; limit < 10*time.Second; limit *= 2 {
		limits = append(limits, limit)
	}
	console, err := emulate(t.Context(), []string{emulator, dir}, limits)
	close(ended)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || console != wire.FirstLine+"\n" {
		t.Errorf("console %q, error %v", console, err)
	}
	if text, err := os.ReadFile(boots); err != nil || len(text) < len("x\nx\n") {
		t.Errorf("boots: %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "started")); err != nil || string(text) != "x\n" {
		t.Errorf("started: %q, %v", text, err)
	}
}
