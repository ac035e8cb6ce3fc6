// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

func TestPeakKeeper(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	var data map[string]string
	var failing error
	var notes []string
	k := &PeakKeeper{Name: "snug/snug-learned", Note: func(text string) { notes = append(notes, text) },
		Load: func(context.Context) (map[string]string, error) { return data, failing }}
	if peaks, ok := k.Peaks(); ok || peaks.Of("shop", "Deployment/web", "app").Known() {
		t.Errorf("before it is loaded: %v", peaks)
	}
	loaded := func() Peaks { p, _ := k.Peaks(); return p }
	keep := func(step string, err error, want ...string) {
		t.Helper()
		notes = nil
		if got := k.Keep(t.Context(), now); !errors.Is(got, err) || !slices.Equal(notes, want) {
			t.Errorf("%s: %v, notes %q, want %q", step, got, notes, want)
		}
	}
	keep("no ConfigMap", nil)
	data = map[string]string{"shop_Deployment_web_app": "314572800 bytes in 604800 s until 2026-11-27", "shop_Job_a_b": "1 bytes in 5 s until 2026-09-01", "x": "1Gi", "a": ""}
	const (
		wrong = `2 of 4 values of the ConfigMap snug/snug-learned cannot be read and are ignored, the first of the key "a"`
		aged  = "1 of 4 values of the ConfigMap snug/snug-learned were measured more than 30 days ago, and still decide"
	)
	keep("values", nil, wrong, aged)
	keep("the same", nil)
	if m := loaded().Of("shop", "Deployment/web", "app"); m.Peak != 314572800 || m.Seconds != 604800 {
		t.Errorf("%v", m)
	}
	for _, other := range [][3]string{{"shop", "Deployment/web", "b"}, {"pay", "Deployment/web", "app"}, {"shop", "StatefulSet/web", "app"}, {"shop", "", "app"}} {
		if m := loaded().Of(other[0], other[1], other[2]); m.Known() {
			t.Errorf("%v: %v", other, m)
		}
	}
	failing = errors.New("refused")
	keep("a failure", failing)
	if !loaded().Of("shop", "Job/a", "b").Known() {
		t.Error("a failure forgets what was loaded")
	}
	failing, data = nil, nil
	keep("deleted", nil)
	if m := loaded().Of("shop", "Deployment/web", "app"); m != (podpatch.Measured{}) {
		t.Errorf("deleted: %v", m)
	}
}
