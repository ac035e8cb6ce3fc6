// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// TestRate: a client waits for what it spends beyond the burst, and no other client does.
func TestRate(t *testing.T) {
	synctest.Test(t, testRate)
}

func testRate(t *testing.T) {
	r := &Rate{Share: 0.1, Burst: time.Second}
	client := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for _, c := range []struct {
		after, spend, wait time.Duration
	}{
		{0, 0, 0}, {0, time.Second, 0}, {0, time.Second, 10 * time.Second}, {4 * time.Second, 0, 6 * time.Second},
		{6 * time.Second, 0, 0}, {time.Hour, time.Second, 0}, {0, 100 * time.Millisecond, time.Second},
	} {
		time.Sleep(c.after)
		r.Spend(client(1), c.spend)
		if got := r.Wait(client(1)); got != c.wait || r.Wait(client(2)) != 0 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if r.Refused() != 3 {
		t.Errorf("%d refused", r.Refused())
	}
	time.Sleep(time.Hour)
	for i := range 3 * maxDebtors { // the first has no debt, and the others keep theirs while there is room
		r.Spend(client(i), 2*time.Second)
		if r.Wait(client(i)) == 0 || len(r.by) > maxDebtors {
			t.Fatalf("client %d: %d are remembered", i, len(r.by))
		}
	}
}
