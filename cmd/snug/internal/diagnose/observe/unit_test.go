// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/snug-go/snug/limits"
)

func TestUnit(t *testing.T) {
	for path, want := range map[string]string{
		"/system.slice/prometheus.service":                          "prometheus.service",
		"/system.slice/system-postgres.slice/postgres@16-a.service": "postgres@16-a.service",
		"/system.slice/docker-0123.scope":                           "",
		"/system.slice/a.service/payload":                           "", // its own groups: the unit's name is not the last
		"/user.slice/a b.service":                                   "", // no shell word
		"/":                                                         "",
	} {
		l := limits.Limits{}
		l.CPU.Levels = []limits.CPULevel{{Source: limits.Source{Level: path}}}
		if got := unit(&l); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := unit(&limits.Limits{}); got != "" {
		t.Errorf("no group: %q", got)
	}
}

func TestPackaged(t *testing.T) {
	for file, want := range map[string]bool{"/usr/bin/prometheus": true, "/usr/local/bin/server": false, "/app/server": false, "": false} {
		if got := packaged(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}
