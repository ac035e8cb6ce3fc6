// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestAgentPage checks the page of an agent after a few scans of this machine's processes, one of
// which has a finding.
func TestAgentPage(t *testing.T) {
	gate.Need(t, "browser")
	exe, chromium := build(t), open(t)
	wrong := exec.Command(exe, "agent", "--listen", "127.0.0.1:0", "--interval", "1h")
	wrong.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=off", "SECRET=hunter2")
	if err := wrong.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wrong.Process.Kill(); wrong.Wait() })
	agent := exec.Command(exe, "agent", "--listen", "127.0.0.1:0", "--interval", "1s")
	agent.Env = append(os.Environ(), "NODE_NAME=node-1")
	stderr, err := agent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Process.Kill(); agent.Wait() })
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	m := regexp.MustCompile(`listening on (\S+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q, %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	var text string
	for late := time.Now().Add(3 * time.Minute); !strings.Contains(text, "gogc-off") || !strings.Contains(text, "<svg"); time.Sleep(200 * time.Millisecond) {
		r, err := http.Get("http://" + m[1] + "/?sort=memory&reverse=1")
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if text = string(all); time.Now().After(late) {
			t.Fatalf("no finding, or no drawing:\n%s", text)
		}
	}
	for _, secret := range []string{"hunter2", "--interval"} {
		if strings.Contains(text, secret) {
			t.Errorf("the page has %s", secret)
		}
	}
	file := filepath.Join(t.TempDir(), "agent.html")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			p := load(t, chromium, file, s)
			shot(t, p, "agent-"+s.name)
			for _, complaint := range ask[[]string](t, p, rules) {
				t.Error(complaint)
			}
			p.quiet(t, file)
			if n := ask[int](t, p, `document.querySelectorAll("th[aria-sort=ascending]").length`); n != 1 {
				t.Errorf("%d columns are marked as sorted ascending", n)
			}
		})
	}
	t.Run("a click sorts", func(t *testing.T) {
		const want = "?reverse=1&sort=procs"
		p := load(t, chromium, file, screens[0])
		href := ask[string](t, p, `[...document.querySelectorAll("thead a")].find(a => a.textContent === "GOMAXPROCS").getAttribute("href")`)
		if href != "?sort=procs" {
			t.Errorf("%q", href)
		}
		r, err := http.Get("http://" + m[1] + "/" + href)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		all, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(all), strings.ReplaceAll(want, "&", "&amp;")) {
			t.Errorf("error %v, or no link to reverse the order", err)
		}
	})
}
