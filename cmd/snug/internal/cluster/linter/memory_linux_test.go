// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hostile are manifests that take much more memory than their text, if all that they say is believed.
func hostile() map[string]string {
	repeat := strings.Repeat
	each := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const head = "kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, value: x}]}]}\n"
	bomb := func(width, depth int) string {
		text := "x0: &x0 []\n"
		for i := 1; i <= depth; i++ {
			text += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(repeat(fmt.Sprintf("*x%d,", i-1), width), ","))
		}
		return text
	}
	return map[string]string{
		variables:            repeat("GOGC=0\n", 37_000),
		"variables by alias": "kind: List\nitems:\n- kind: Pod\n  spec:\n    containers:\n    - &c\n      name: a\n      env:\n" + each(1500, "      - {name: V%d, value: x}\n") + repeat("    - *c\n", 1500),
		"pods by alias":      "kind: List\nitems:\n- &p {kind: Pod, spec: {containers: [{name: a, env: [{name: GOGC, value: x}]}]}}\n" + repeat("- *p\n", 20000),
		"laughs in metadata": bomb(18, 5) + "metadata: *x5\n" + head,
		"laughs":             bomb(10, 9) + head,
		"many items":         head + "x: [" + repeat("a,", 500_000) + "]\n",
		"many variables":     "kind: Pod\nspec: {containers: [{name: a, env: [" + repeat("{name: V},", 100_000) + "]}]}\n",
		"lines of variables": "kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n" + repeat("    - {name: GOGC}\n", 60_000),
		"a large ConfigMap":  "kind: ConfigMap\ndata: {" + each(80_000, "GOGC%x: 1Gi,") + "}\n",
		"dense findings":     "kind: Pod\nmetadata: {name: n}\nspec:\n  containers:\n" + repeat("  - {name: c,env: [{name: GOGC,value: 0}],resources: {limits: {cpu: .5}}}\n", 20_000),
		"findings in a list": "kind: List\nitems:\n" + each(10_000, "- {kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: a, env: [{name: GOMEMLIMIT, value: 9Gi}], resources: {limits: {memory: 1Gi}}}]}}\n"),
	}
}

// variables is the name of what is in 30 files of variables.
const variables = "files of variables"

// TestMemory: a manifest takes at most 40 MB and 60 times its size.
func TestMemory(t *testing.T) {
	if file := os.Getenv("SNUG_TEST_LINT"); file != "" {
		l := New(Options{Tree: true, Note: func(string, ...any) {}})
		if err := l.Gather([]string{file}); err != nil {
			t.Fatal(err)
		}
		l.Check()
		d := l.Document()
		fmt.Fprintln(io.Discard, d)
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		fmt.Println("peak", strings.Fields(peak)[0], len(d.Findings))
		return
	}
	for name, text := range hostile() {
		dir, file, files := t.TempDir(), "manifest.yaml", 1
		if name == variables {
			file, files = "%d.env", 30
		}
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, strings.Replace(file, "%d", strconv.Itoa(i), 1)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		size, peak, findings := files*len(text), int64(math.MaxInt64), int64(0)
		bound := int64(40e6 + 60*size)
		for try := 0; try < 3 && peak > bound; try++ { // on a busy machine the collector is late
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
			cmd.Env = append(os.Environ(), "SNUG_TEST_LINT="+dir)
			out, err := cmd.CombinedOutput()
			var now int64
			if _, scan := fmt.Sscanf(string(out), "peak %d %d", &now, &findings); err != nil || scan != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			peak = min(peak, now<<10)
		}
		t.Logf("%-22s %7d bytes, %5d findings, peak %5.1f MB, bound %5.1f MB", name, size, findings, float64(peak)/1e6, float64(bound)/1e6)
		if peak > bound || findings > maxFound {
			t.Errorf("%s: %d bytes with %d findings take %d MB, want at most %d MB", name, size, findings, peak/1e6, bound/1e6)
		}
	}
}
