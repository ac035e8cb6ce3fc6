// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"strings"
	"testing"
)

// testCheck: --check ends with 3 where another setting takes a fraction of the time, and with 0 where it
// takes more. stderr says what
// is worse than what, and has the line to paste; the document has it in all forms.
func testCheck(t *testing.T, l *faultLab) {
	const command = "sleep ${T:-0.3}"
	flags := strings.Fields("bench --check --json --cpus 1 --gomaxprocs default --set T=0.05 --rounds 6 --")
	o := l.start(t, "", append(flags, "sh", "-c", command)...).wait(t)
	if o.code != 3 {
		t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
	}
	for _, want := range []string{"\nsnug: check: the default is worse than T=0.05, which takes ", " less time\nsnug: hint: paste: export T=0.05\n"} {
		if !strings.Contains("\n"+o.stderr, want) {
			t.Errorf("no %q in stderr:\n%s", want, o.stderr)
		}
	}
	if strings.Contains(o.stderr, "error:") {
		t.Errorf("a finding is no error:\n%s", o.stderr)
	}
	d := benchDocument(t, o)
	if d.Environment == nil || d.Environment.Kubernetes != "env:\n  - name: T\n    value: \"0.05\"\n" {
		t.Errorf("the document has %+v", d.Environment)
	}
	o = l.start(t, "", append(flags, "sh", "-c", "sleep ${T:-0.01}")...).wait(t) // the default takes less time
	if o.code != 0 || benchDocument(t, o).Environment != nil {
		t.Errorf("exit code %d beside a setting that is worse, stderr:\n%s", o.code, o.stderr)
	}
}
