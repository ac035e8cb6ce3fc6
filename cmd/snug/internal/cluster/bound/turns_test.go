// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// as returns the context of a request of a client.
func as(ctx context.Context, client byte) context.Context {
	return context.WithValue(ctx, key{}, &Conn{client: netip.AddrFrom4([4]byte{127, 0, 0, client})})
}

// TestTurns: a client has a quarter of the turns and waits for its own, whoever else waits.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(8)
		left := map[byte][]func(){}
		take := func(client byte, ctx context.Context, wait time.Duration) bool {
			leave, ok := turns.Take(as(ctx, client), wait)
			if ok {
				left[client] = append(left[client], leave)
			}
			return ok
		}
		leave := func(client byte) {
			end := left[client][0]
			left[client] = left[client][1:]
			end()
			synctest.Wait()
		}
		gone, stop := context.WithCancel(t.Context())
		stop()
		for i, want := range []bool{true, true, false} {
			if take(0, t.Context(), time.Hour) != want {
				t.Errorf("turn %d of a client: want %v", i+1, want)
			}
		}
		if take(0, gone, time.Hour) || !take(1, t.Context(), time.Hour) {
			t.Error("want two turns for each client")
		}
		for client := range byte(3) {
			take(client+1, t.Context(), time.Hour)
			take(client+2, t.Context(), time.Hour)
		}
		var got []byte
		for _, client := range []byte{0, 9} { // 0 waits for its own turn, and 9 for one of all
			go func() {
				if take(client, t.Context(), 24*time.Hour) {
					got = append(got, client)
				}
			}()
			synctest.Wait()
		}
		if leave(2); string(got) != "\x09" {
			t.Errorf("the turns are of %v, want 9", got)
		}
		if leave(0); string(got) != "\x09\x00" {
			t.Errorf("the turns are of %v, want 9 and 0", got)
		}
		for client, all := range left {
			for range all {
				leave(client)
			}
		}
		if len(turns.all) != 0 || len(turns.by) != 0 {
			t.Errorf("%d taken, %v", len(turns.all), turns.by)
		}
	})
}
