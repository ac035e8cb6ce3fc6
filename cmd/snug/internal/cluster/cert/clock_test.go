// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"testing"
	"time"
)

// TestClockWasWrong: a certificate from a clock that was ahead is not ready, and is replaced.
func TestClockWasWrong(t *testing.T) {
	names, now, life := []string{"x.y.svc"}, time.Now(), 90*24*time.Hour
	ahead, err := generate(names, now.Add(48*time.Hour), life)
	if err != nil {
		t.Fatal(err)
	}
	good, err := generate(names, now.Add(-life/2), life)
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []generations{{ahead}, {ahead, good}} {
		more, due, err := all.renewed(names, now, life)
		if err != nil || !due || len(more) != len(all) || more[0].notYetValid(now) || more[len(more)-1] == ahead {
			t.Errorf("%v, due %t, %d", err, due, len(more))
		}
		if _, due, err := more.renewed(names, now, life); due || err != nil {
			t.Errorf("%v, due again %t", err, due)
		}
	}
	if k := (&Keeper{all: generations{ahead}, published: true}); k.Ready() == nil {
		t.Error("ready with a certificate that is not valid yet")
	}
	if k := (&Keeper{all: generations{ahead, good}, published: true}); k.Ready() != nil {
		t.Error("not ready though the older one is valid")
	}
	// A regular renewal is valid before its first use.
	if next, err := generate(names, now.Add(Notice(life)), life); err != nil || next.notYetValid(now) {
		t.Errorf("%v: a regular renewal counts as not yet valid", err)
	}
}
