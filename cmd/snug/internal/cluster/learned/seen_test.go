// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestOfAgents: what agents measured becomes peaks, rounded to the safe side; what they did not is left out with the reason.
func TestOfAgents(t *testing.T) {
	day := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	peaks, long, left := OfAgents([]finding.OtherMemory{
		{Namespace: "shop", Workload: "Deployment/web", Container: "app", Most: new(100.5), Seconds: 90.9},
		{Namespace: "shop", Workload: "Deployment/two", Container: "app", Why: "up to 2 Go processes share a container"},
		{Namespace: "shop", Workload: "Pod/db-*", Container: "app", Most: new(1.0), Seconds: 1},
		{Namespace: "shop", Workload: "Deployment/" + strings.Repeat("a", 253), Container: "app", Most: new(1.0), Seconds: 1},
	}, day)
	if len(peaks) != 1 || len(long) != 1 || len(left) != 2 {
		t.Fatalf("%v, %q, %v", peaks, long, left)
	}
	if m := peaks.Of("shop", "Deployment/web", "app"); m.Peak != 101 || m.Seconds != 90 || m.Until != day {
		t.Errorf("%v", m)
	}
	if l := left[0]; l.Name != "shop/Deployment/two app" || !strings.HasSuffix(l.Why, "unknown, up to 2 Go processes share a container") || !strings.HasPrefix(left[1].Why, "it has no controller") {
		t.Errorf("%v", left)
	}
	for _, o := range []finding.OtherMemory{
		{Namespace: "Shop", Workload: "Deployment/web", Container: "app", Most: new(1.0), Seconds: 1},
		{Namespace: "shop", Workload: "web", Container: "app", Most: new(1.0), Seconds: 1},
		{Namespace: "shop", Workload: "Deployment/web", Container: "app", Most: new(-1.0), Seconds: 1},
		{Namespace: "shop", Workload: "Deployment/web", Container: "app", Most: new(math.NaN()), Seconds: 1},
		{Namespace: "shop", Workload: "Deployment/web", Container: "app", Most: new(1e18), Seconds: 1},
		{Namespace: "shop", Workload: "Deployment/web", Container: "app", Most: new(1.0), Seconds: 0.9},
		{Namespace: "shop", Workload: "Deployment/web", Container: "app", Most: new(1.0), Seconds: math.Inf(1)},
	} {
		if peaks, _, left := OfAgents([]finding.OtherMemory{o}, day); len(peaks) > 0 || len(left) != 1 || left[0].Why == "" {
			t.Errorf("%+v: %v, %v", o, peaks, left)
		}
	}
}
