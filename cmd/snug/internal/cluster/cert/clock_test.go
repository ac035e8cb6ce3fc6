// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"testing"
	"time"
)

// TestClockWasWrong: a certificate that was made by a clock ahead is replaced, and is not
// taken for a good one until then.
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
		if err != nil || !due || len(more) != len(all) || more[0].ahead(now) || more[len(more)-1] == ahead {
			t.Errorf("%v, due %t, %d", err, due, len(more))
		}
		if _, due, err := more.renewed(names, now, life); due || err != nil {
			t.Errorf("%v, due again %t", err, due)
		}
	}
	if k := (&Keeper{all: generations{ahead}, told: true}); k.Ready() == nil {
		t.Error("ready with a certificate that is not valid yet")
	}
	if k := (&Keeper{all: generations{ahead, good}, told: true}); k.Ready() != nil {
		t.Error("not ready though the older one is valid")
	}
	// The next one is told of before it is shown.
	if next, err := generate(names, now.Add(Notice(life)), life); err != nil || next.ahead(now) {
		t.Errorf("%v: the next one is taken for a mistake", err)
	}
}
