// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// armJSON is an Arm as written in documents: null is none, and numeric GOMAXPROCS and
// GOGC are numbers.
type armJSON struct {
	Workload   string   `json:"workload"`
	Quota      *float64 `json:"quota_cores"`
	Burst      *int64   `json:"burst_micros"`
	Memory     *int64   `json:"memory_bytes"`
	Replicas   *int     `json:"replicas"`
	GOMAXPROCS knob     `json:"gomaxprocs"`
	GOGC       knob     `json:"gogc"`
	GOMEMLIMIT knob     `json:"gomemlimit"`
	Vars       Vars     `json:"env"`
	Load       string   `json:"load"`
}

// knob is the value of a Go environment variable: a number, a word, or null for unset.
type knob string

func (k knob) MarshalJSON() ([]byte, error) {
	if k == "" {
		return []byte("null"), nil
	}
	if n, err := strconv.ParseInt(string(k), 10, 64); err == nil {
		return json.Marshal(n)
	}
	return json.Marshal(string(k))
}

func (k *knob) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*k = ""
	case string:
		*k = knob(v)
	case float64:
		*k = knob(strconv.FormatFloat(v, 'f', -1, 64))
	default:
		return typed(json.Unmarshal(data, new(string)), *k)
	}
	return nil
}

// orNull returns nil for zero.
func orNull[T comparable](x T) *T {
	var zero T
	if x == zero {
		return nil
	}
	return &x
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// plainCell is a Cell without methods, so that encoding/json sees its fields. In
// cellJSON the fields of armJSON shadow those of its Arm, which are one level deeper.
type plainCell Cell

type cellJSON struct {
	armJSON
	plainCell
}

// MarshalJSON writes null for zero values of the arm.
func (c Cell) MarshalJSON() ([]byte, error) {
	return json.Marshal(cellJSON{armJSON{
		c.Workload, orNull(c.Quota), orNull(c.Burst), orNull(c.Memory), orNull(c.Replicas),
		knob(c.GOMAXPROCS), knob(c.GOGC), knob(c.GOMEMLIMIT), c.Vars, c.Load,
	}, plainCell(c)})
}

// UnmarshalJSON reads the output of MarshalJSON; it also takes 0 and "" as none.
func (c *Cell) UnmarshalJSON(data []byte) error {
	var both cellJSON
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	*c = Cell(both.plainCell)
	a := both.armJSON
	c.Arm = Arm{
		Workload: a.Workload, Quota: orZero(a.Quota), Burst: orZero(a.Burst), Memory: orZero(a.Memory),
		Replicas: orZero(a.Replicas), Load: a.Load,
		Knobs: Knobs{string(a.GOMAXPROCS), string(a.GOGC), string(a.GOMEMLIMIT), a.Vars},
	}
	return nil
}

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
	return Vars(strings.Join(slices.Sorted(maps.Values(last)), "\x00"))
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
