// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestCellJSON(t *testing.T) {
	tests := []struct {
		name string
		arm  Arm
		want string
	}{
		{"all defaults", Arm{Workload: "http", Quota: 1, Load: "saturated"},
			`{"workload":"http","quota_cores":1,"burst_micros":null,"memory_bytes":null,"replicas":null,"gomaxprocs":null,"gogc":null,"gomemlimit":null,"env":null,"load":"saturated","labels":["default"],`},
		{"everything", Arm{"http", 0.5, 50000, 1 << 20, 5, Knobs{"2", "400", "124MiB", NewVars([]string{"B=x=y", "A=", "A=1,2"})}, "80%"},
			`{"workload":"http","quota_cores":0.5,"burst_micros":50000,"memory_bytes":1048576,"replicas":5,"gomaxprocs":2,"gogc":400,"gomemlimit":"124MiB","env":{"A":"1,2","B":"x=y"},"load":"80%","labels":["default"],`},
		{"a word", Arm{Workload: "command", Knobs: Knobs{GOGC: "off"}, Load: "batch"},
			`{"workload":"command","quota_cores":null,"burst_micros":null,"memory_bytes":null,"replicas":null,"gomaxprocs":null,"gogc":"off","gomemlimit":null,"env":null,"load":"batch","labels":["default"],`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Cell{Arm: test.arm, Labels: []string{"default"}, RPS: new(2.5), Rounds: []Run{{Round: 3}}}
			data, err := json.Marshal(c)
			if err != nil || !strings.HasPrefix(string(data), test.want) {
				t.Fatalf("%v\ngot  %s\nwant %s...", err, data, test.want)
			}
			if n := strings.Count(string(data), `"gomaxprocs"`); n != 1 {
				t.Errorf("gomaxprocs stands there %d times", n)
			}
			var back Cell
			if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, c) {
				t.Errorf("%v: reads back as %+v", err, back)
			}
		})
	}
	if v := NewVars([]string{"A=1", "A=2"}); v.List()[0] != "A=2" || len(v.List()) != 1 {
		t.Errorf("the last of two with one name counts: %q", v)
	}
	if got, ok := NewVars([]string{"AB=1", "B="}).Get("B"); got != "" || !ok {
		t.Errorf("B= is %q, %t", got, ok)
	}
	// Older documents have 0 and "".
	var old Cell
	text := `{"workload":"http","quota_cores":1,"burst_micros":0,"memory_bytes":0,"replicas":0,"gomaxprocs":"2","gogc":"","gomemlimit":"","load":"saturated"}`
	if err := json.Unmarshal([]byte(text), &old); err != nil || old.Arm != (Arm{Workload: "http", Quota: 1, Knobs: Knobs{GOMAXPROCS: "2"}, Load: "saturated"}) {
		t.Errorf("%v: %+v", err, old.Arm)
	}
	if err := json.Unmarshal([]byte(`{"gogc":[1]}`), &old); err == nil {
		t.Error("a list is no GOGC")
	}
}
