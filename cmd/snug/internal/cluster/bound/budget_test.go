// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

// TestBudget: what is lost, by what clients open. A word is a client and what it holds, "a2"; "=0" uses the first
// share again, "=0:3" makes it hold 3, and "-0" closes it. Shares count from 0. After "!" the Budget refuses.
func TestBudget(t *testing.T) {
	thirty := ""
	for i := range 30 {
		thirty += string(rune('A'+i)) + "2 "
	}
	for _, c := range []struct {
		name string
		max  int64
		do   string
		lost string
		kept int64
		cut  Cut
		no   string // the words that may not
	}{
		{"nothing", 8, "a1 b1", "", 2, Cut{}, ""},
		{"a quarter", 8, "a1 a1", "", 2, Cut{}, ""},
		{"more than a quarter", 8, "a1 b1 a1 a1", "0", 3, Cut{Client: 1}, ""},
		{"used again", 8, "a1 a1 =0 a1", "1", 2, Cut{Client: 1}, ""},
		{"closed", 8, "a1 a1 -0 a1", "", 2, Cut{}, ""},
		{"closed twice", 8, "a1 -0 -0 =0 a1 a1", "", 2, Cut{}, ""},
		{"a fifth client", 8, "a1 a1 b1 b1 c1 c1 d1 d1 e1", "0", 8, Cut{Full: 1}, ""},
		{"a fifth, the first used again", 8, "a1 a1 b1 b1 c1 c1 d1 d1 =0 =1 e1", "2", 8, Cut{Full: 1}, ""},
		{"one has more than others", 8, "b1 c1 d1 e1 f1 g1 a1 a1 h1", "6", 8, Cut{Full: 1}, ""},
		{"each has one", 4, "a1 b1 c1 d1 e1 f1", "0 1", 4, Cut{Full: 2}, ""},
		{"little counts alike", 64, "b16 c16 d15 g1 e15 f0 a1 a1", "0", 49, Cut{Full: 1}, ""},
		{"little counts alike, and the oldest goes", 64, "h1 " + thirty + "a1 a1 g1 i1", "0", 64, Cut{Full: 1}, ""},
		{"nothing is not lost", 8, "a0 a1 a1 a1", "1", 2, Cut{Client: 1}, ""},
		{"more than anybody may", 8, "a1 a3 a1", "", 2, Cut{Client: 1}, "1"},
		{"growth", 16, "a1 a1 b1 =0:3 =0:4", "0", 2, Cut{Client: 1}, "4"},
		{"the oldest grows", 16, "a2 a2 =0 =0:3", "1", 3, Cut{Client: 1}, ""},
		{"one large for many small", 16, "a1 a1 a1 a1 a3", "0 1 2", 4, Cut{Client: 3}, ""},
		{"lost ones grow no more", 8, "a1 a1 a1 =0:1", "0", 2, Cut{Client: 1}, "3"},
		{"the one that grows is refused", 64, "! a8 a4 =0:12 =1:8 =0:10", "", 14, Cut{Client: 2}, "3 4"},
		{"large ones leave room for small ones", 64, "! a12 a4 a3 a1 a0 =4:1", "", 16, Cut{Client: 2}, "2 6"},
		{"less is never refused", 64, "! a12 a3 a1 =0:8", "", 12, Cut{}, ""},
		{"others lose for the one that grows", 64, "! a12 b12 c12 d12 e12 f8", "0", 56, Cut{Full: 1}, ""},
		{"all is taken, and it has most itself", 64, "! a8 a3 b11 c11 d11 e11 f9 =0:9", "", 64, Cut{Full: 1}, "8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Budget{Max: c.max}
			var shares []*Share
			var lost, no []string
			for i, word := range strings.Fields(c.do) {
				rest := word[1:]
				at, size, grows := strings.Cut(rest, ":")
				n, _ := strconv.Atoi(at)
				ok := true
				switch word[0] {
				case '!':
					b.Refuse = true
				case '=':
					if grows {
						n64, _ := strconv.ParseInt(size, 10, 64)
						ok = shares[n].Hold(n64)
					} else {
						shares[n].Used()
					}
				case '-':
					shares[n].Close()
				default:
					me := strconv.Itoa(len(shares))
					s := b.Open(netip.AddrFrom4([4]byte{127, 0, 0, word[0]}), func() { lost = append(lost, me) })
					shares = append(shares, s)
					ok = s.Hold(int64(n))
				}
				if !ok {
					no = append(no, strconv.Itoa(i))
				}
			}
			held, cut := b.Held()
			if got := strings.Join(lost, " "); got != c.lost || held != c.kept || cut != c.cut || strings.Join(no, " ") != c.no {
				t.Errorf("lost %q, %d held, %+v, refused %q", got, held, cut, no)
			}
			for _, s := range shares {
				s.Close()
			}
			if held, _ := b.Held(); held != 0 || len(b.clients) != 0 {
				t.Errorf("%d held of %d clients after all", held, len(b.clients))
			}
		})
	}
}

func TestClientAt(t *testing.T) {
	for at, want := range map[string]string{
		"10.0.0.1:80": "10.0.0.1", "[::ffff:10.0.0.1]:80": "10.0.0.1", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::",
		"[fe80::1%eth0]:80": "fe80::", "@": "invalid IP",
	} {
		addr := net.Addr(&net.UnixAddr{Name: at})
		if p, err := netip.ParseAddrPort(at); err == nil {
			addr = net.TCPAddrFromAddrPort(p)
		}
		if got := clientAt(addr).String(); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
}
