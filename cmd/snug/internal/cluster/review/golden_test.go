// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is answered into testdata/answers.txt")

// TestAnswers: the answers to recorded reviews are unchanged, byte for byte.
func TestAnswers(t *testing.T) {
	const file = "testdata/answers.txt"
	var b strings.Builder
	all := recorded(t)
	for _, config := range []string{"", "mode: observe", "inject: all\nround: floor\nminProcs: 2\nmemory: 50%\nrequestFactor: 2\nenvFrom: add"} {
		r := &Reviewer{Config: configured(t, config)}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for path, answer := range []func([]byte) ([]byte, Outcome){
				func(q []byte) ([]byte, Outcome) { return r.Fit(q, ByPod) },
				func(q []byte) ([]byte, Outcome) { return r.Fit(q, ByNamespace) },
			} {
				text, outcome := answer(all[name])
				var a answered
				if err := json.Unmarshal(text, &a); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%q %s %s: %s %q %s\n", config, name, [...]string{"by pod", "by namespace"}[path], outcome, a.Response.Warnings, a.Response.Patch)
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		got, before := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(got), len(before)) {
			if got[i] != before[i] {
				t.Errorf("\ngot  %s\nwant %s", got[i], before[i])
			}
		}
	}
}
