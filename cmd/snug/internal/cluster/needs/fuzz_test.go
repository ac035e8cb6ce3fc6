// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"testing"
	"time"
)

// FuzzDecode: what is accepted can be written and read again.
func FuzzDecode(f *testing.F) {
	good, err := (&Document{Node: "a", At: time.Unix(0, 0).UTC(), Workloads: []*Workload{{}}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"kind":"snug-needs","version":1,"workloads":[{"has":{"limit":{"n":1,"sum":1e300}}},null]}`))
	f.Add([]byte(`{"kind":"snug-needs","version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Decode(text)
		if err != nil {
			return
		}
		again, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil && len(again) <= MaxBytes {
			t.Fatalf("%v: %s", err, again)
		}
	})
}
