// SPDX-License-Identifier: Apache-2.0

package figures

import "testing"

func TestUnmarshal(t *testing.T) {
	type part struct {
		Cores *float64
	}
	var d struct {
		part
		Name    string
		Bytes   *int64 `json:"hard_bytes"`
		Unread  *int64
		Large   *uint64
		Text    *string
		Parts   []part
		ByName  map[string]*int
		Ignored int `json:"-"`
	}
	err := Unmarshal([]byte(`{"cores":"none","name":"none","hard_bytes": "none","unread":null,"large":18446744073709551615,`+
		`"text":"none","parts":[{"cores":0.5},{"cores":"none"}],"byname":{"a":"none","b":2},"more":"none"}`), &d)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case d.Cores != nil, d.Name != "none", d.Bytes != nil, d.Unread != nil, *d.Large != 1<<64-1, *d.Text != "none",
		len(d.Parts) != 2, *d.Parts[0].Cores != 0.5, d.Parts[1].Cores != nil, d.ByName["a"] != nil, *d.ByName["b"] != 2:
		t.Errorf("%+v", d)
	}
	if err := Unmarshal([]byte(`{"large":"some"}`), &d); err == nil {
		t.Error("a text is no number")
	}
}
