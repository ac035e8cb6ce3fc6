// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"strings"
	"testing"
	"time"
)

// FuzzReadRows: rows that are accepted make a ConfigMap that can be read, and errors have a line.
func FuzzReadRows(f *testing.F) {
	f.Add("shop Deployment web app 300MiB 604800\n")
	f.Add("# a comment\n\nshop Deployment web app 1 1\nshop Deployment web app 2 1")
	f.Fuzz(func(t *testing.T, text string) {
		peaks, long, err := ReadRows(strings.NewReader(text), time.Unix(1e9, 0))
		if err == nil && len(peaks)+len(long) > strings.Count(text, "\n")+1 {
			t.Errorf("%d rows of %q", len(peaks)+len(long), text)
		}
		for key, m := range peaks {
			if m.Peak < 0 || m.Seconds < 0 || strings.ContainsAny(key, " \n") {
				t.Errorf("%q: %+v", key, m)
			}
		}
		if a, ok := ParseAgents(text); ok != (a != nil) {
			t.Errorf("%q: %t", text, ok)
		}
	})
}
