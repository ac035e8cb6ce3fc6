// SPDX-License-Identifier: Apache-2.0

package names

import (
	"strings"
	"testing"
)

// FuzzLinked: a name of a link is taken apart without loss, or not at all.
func FuzzLinked(f *testing.F) {
	f.Add("web-5d4f8c7b9-x2x4z_shop_app-" + strings.Repeat("0a", 32) + ".log")
	f.Add("a_b_-" + strings.Repeat("0", 64) + ".log")
	f.Fuzz(func(t *testing.T, link string) {
		id, n, ok := linked(link)
		if ok && n.Pod+"_"+n.Namespace+"_"+n.Container+"-"+id+".log" != link || !ok && n != (Named{}) {
			t.Errorf("%q: %q, %+v", link, id, n)
		}
	})
}
