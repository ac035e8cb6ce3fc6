// SPDX-License-Identifier: Apache-2.0

package quantity_test

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
)

// TestOthers: Docker and systemd write amounts differently from Kubernetes: "512m" is half a
// gibibyte for Docker, and half a byte for Kubernetes.
func TestOthers(t *testing.T) {
	const none = -1
	quota := func(text string) (quantity.Quantity, bool) {
		q, p, _ := strings.Cut(text, "/")
		return quantity.Quota(q, p)
	}
	for _, c := range []struct {
		name string
		read func(string) (quantity.Quantity, bool)
		text string
		want int64 // thousandths
	}{
		{"docker", quantity.Docker, "512m", 512 << 20 * 1000},
		{"docker", quantity.Docker, "1.5gb", 3 << 29 * 1000},
		{"docker", quantity.Docker, "1GiB", 1 << 30 * 1000},
		{"docker", quantity.Docker, "1 g", 1 << 30 * 1000},
		{"docker", quantity.Docker, "536870912", 512 << 20 * 1000},
		{"docker", quantity.Docker, "536870912b", 512 << 20 * 1000},
		{"docker", quantity.Docker, "0", 0},
		{"docker", quantity.Docker, "-1", none},
		{"docker", quantity.Docker, "${MEM:-512m}", none},
		{"docker", quantity.Docker, "512x", none},
		{"docker", quantity.Docker, strings.Repeat("1", 90) + "m", none},
		{"systemd", quantity.Systemd, "512M", 512 << 20 * 1000},
		{"systemd", quantity.Systemd, "1.5G", 3 << 29 * 1000},
		{"systemd", quantity.Systemd, "512 M", 512 << 20 * 1000},
		{"systemd", quantity.Systemd, "1024B", 1024000},
		{"systemd", quantity.Systemd, "infinity", 0},
		{"systemd", quantity.Systemd, "50%", none},
		{"systemd", quantity.Systemd, "512m", none},
		{"systemd", quantity.Systemd, "512Mi", none},
		{"systemd", quantity.Systemd, "512MB", none},
		{"systemd", quantity.Systemd, "", none},
		{"cores", quantity.Cores, "0.50", 500},
		{"cores", quantity.Cores, "2", 2000},
		{"cores", quantity.Cores, "500m", none},
		{"cores", quantity.Cores, "1e3", none},
		{"percent", quantity.Percent, "150%", 1500},
		{"percent", quantity.Percent, "2.5%", 25},
		{"percent", quantity.Percent, "150", none},
		{"percent", quantity.Percent, "%", none},
		{"quota", quota, "50000", 500},
		{"quota", quota, "50000/25000", 2000},
		{"quota", quota, "75ms/50ms", 1500},
		{"quota", quota, "0.1s/100ms", 1000},
		{"quota", quota, "1/3", 334},
		{"quota", quota, "-1", 0},
		{"quota", quota, "0", 0},
		{"quota", quota, "50000/x", none},
		{"quota", quota, "x", none},
		{"quota", quota, "50000/0ms", none},
	} {
		q, ok := c.read(c.text)
		if ok != (c.want != none) || ok && q.Milli() != c.want {
			t.Errorf("%s %q: %d milli, %v; want %d", c.name, c.text, q.Milli(), ok, c.want)
		}
		if ok && c.name != "quota" && q.String() != c.text {
			t.Errorf("%s %q: says %q", c.name, c.text, q.String())
		}
	}
	if q, _ := quota("75000"); q.String() != "0.75" {
		t.Errorf("a quota says %q", q.String())
	}
	if q, _ := quota("200000"); q.String() != "2" {
		t.Errorf("a quota says %q", q.String())
	}
}

func TestCPUs(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-3,8": 5, "0 2-3\n": 3, "1,1,0-1": 2, "8191": 1, "": 0, "8192": 0, "3-1": 0, "-1": 0, "a": 0, "0-": 0, "all": 0} {
		if n, ok := quantity.CPUs(list); n != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", list, n, ok, want)
		}
	}
}

// FuzzOthers: an amount is 0 or more, and no list has more CPUs than Linux.
func FuzzOthers(f *testing.F) {
	for _, s := range []string{"512m", "1.5G", "150%", "50ms", "0-3,8", "infinity"} {
		f.Add(s, "100ms")
	}
	f.Fuzz(func(t *testing.T, text, period string) {
		quota := func(text string) (quantity.Quantity, bool) { return quantity.Quota(text, period) }
		for _, read := range []func(string) (quantity.Quantity, bool){quantity.Docker, quantity.Systemd, quantity.Cores, quantity.Percent, quota} {
			if q, ok := read(text); ok && q.Sign() < 0 || !ok && q.Sign() != 0 {
				t.Errorf("%q, %q: %d, %v", text, period, q.Milli(), ok)
			}
		}
		if n, ok := quantity.CPUs(text); n < 0 || n > quantity.MaxCPUs || ok != (n > 0) {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	})
}
