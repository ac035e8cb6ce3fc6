// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"encoding/json"
	"slices"
	"strings"
)

// Vars are environment variables other than Go's, in a comparable form: NAME=VALUE,
// sorted by name and separated by NUL, which cannot occur in an environment. In JSON
// they are an object, or null if there are none.
type Vars string

// NewVars returns Vars for NAME=VALUE entries; the last entry of a name wins.
func NewVars(entries []string) Vars {
	last := map[string]string{}
	for _, e := range entries {
		name, _, _ := strings.Cut(e, "=")
		last[name] = e
	}
	list := make([]string, 0, len(last))
	for _, e := range last {
		list = append(list, e)
	}
	slices.Sort(list)
	return Vars(strings.Join(list, "\x00"))
}

// List returns the entries as NAME=VALUE.
func (v Vars) List() []string {
	if v == "" {
		return nil
	}
	return strings.Split(string(v), "\x00")
}

// Get returns the value of a variable; ok is false if it is not set.
func (v Vars) Get(name string) (value string, ok bool) {
	for _, e := range v.List() {
		if value, ok = strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (v Vars) MarshalJSON() ([]byte, error) {
	if v == "" {
		return []byte("null"), nil
	}
	m := map[string]string{}
	for _, e := range v.List() {
		name, value, _ := strings.Cut(e, "=")
		m[name] = value
	}
	return json.Marshal(m)
}

func (v *Vars) UnmarshalJSON(data []byte) error {
	var m map[string]string
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	entries := make([]string, 0, len(m))
	for name, value := range m {
		entries = append(entries, name+"="+value)
	}
	*v = NewVars(entries)
	return nil
}
