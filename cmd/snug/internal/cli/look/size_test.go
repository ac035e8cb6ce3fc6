// SPDX-License-Identifier: Apache-2.0

package look

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
)

func TestParsePrice(t *testing.T) {
	for text, want := range map[string]size.Price{"": size.Fargate, "0.04,0.004": {Core: 0.04, GiB: 0.004}, "1,2": {Core: 1, GiB: 2}} {
		if got, err := size.ParsePrice(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "1,", ",1", "1,2,3", "0,1", "1,-1", "NaN,1", "1,Inf", "a,b", "1e9,1", "1,1e-300"} {
		if got, err := size.ParsePrice(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
