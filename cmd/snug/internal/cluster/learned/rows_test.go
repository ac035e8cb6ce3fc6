// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestRows: what is printed is read back, as the webhook reads it.
func TestRows(t *testing.T) {
	day := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	long := strings.Repeat("a", 253)
	peaks, left, err := ReadRows(strings.NewReader(`# a comment
shop Deployment web app 300MiB 3600

 shop  Deployment web	app 100Mi 604800
1e3 CronJob night.v1 0 0 1
shop StatefulSet `+long+" app 1MiB 1\n"), day)
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0], "shop_StatefulSet_a") || len(peaks) != 2 || !peaks.Fits() {
		t.Fatalf("%v, %q, %v", peaks, left, err)
	}
	var o struct {
		Kind     string
		Metadata struct{ Name, Namespace any }
		Data     map[string]any
	}
	if err := yaml.Unmarshal([]byte(peaks.YAML("1e3", "42")), &o); err != nil || o.Kind != "ConfigMap" || o.Metadata.Name != "42" || o.Metadata.Namespace != "1e3" {
		t.Fatalf("%v, %v", o, err)
	}
	data := map[string]string{}
	for key, text := range o.Data {
		data[key] = text.(string)
	}
	again, wrong := ReadPeaks(data)
	if len(wrong) > 0 || len(again) != 2 {
		t.Fatalf("%v, wrong %q", again, wrong)
	}
	if m := again.Of("shop", "Deployment/web", "app"); m.Peak != 300<<20 || m.Seconds != 604800 || m.Until != day {
		t.Errorf("%v", m)
	}
	if m := again.Of("1e3", "CronJob/night.v1", "0"); m.Peak != 0 || m.Seconds != 1 {
		t.Errorf("%v", m)
	}
}

func TestRowsRefused(t *testing.T) {
	const good = "shop Deployment web app 1MiB 1\n"
	for text, want := range map[string]struct {
		line int
		what string
	}{
		"":                                              {0, "no rows"},
		"# nothing\n\n":                                 {0, "no rows"},
		good + "shop Deployment web app 1\n":            {2, "5 words, not "},
		good + "shop Deployment web app 1 1 1":          {2, "7 words, not "},
		"\nShop Deployment web app 1 1":                 {2, "not a namespace: Shop"},
		"shop Deploy/ment web app 1 1":                  {1, "not a kind: Deploy/ment"},
		"shop Deployment web_1 app 1 1":                 {1, "not the name of a workload: web_1"},
		"shop Deployment web a.b 1 1":                   {1, "not the name of a container: a.b"},
		"shop Deployment web app -1 1":                  {1, "not a size: -1"},
		"shop Deployment web app 297.8 1":               {1, "less than any Go program has: 297.8"},
		"shop Deployment web app 50% 1":                 {1, "not a size: 50%"},
		"shop Deployment web app 1000000000000000000 1": {1, "not a size: 1000000000000000000"},
		"shop Deployment web app 1 0":                   {1, "not a number of seconds: 0"},
		"shop Deployment web app 1 1.5":                 {1, "not a number of seconds: 1.5"},
		"shop Deployment web app 1 10000000000":         {1, "not a number of seconds: 10000000000"},
		"shop deployment web app 1 1":                   {1, "not a kind: deployment"},
		good + strings.Repeat("x", 1<<20):               {2, "a line of more than 64 KiB"},
	} {
		_, _, err := ReadRows(strings.NewReader(text), time.Time{})
		var wrong *Wrong
		if !errors.As(err, &wrong) || wrong.Line != want.line || !strings.HasPrefix(wrong.What, want.what) {
			t.Errorf("%.60q: %v, want line %d, %s", text, err, want.line, want.what)
		}
	}
}
