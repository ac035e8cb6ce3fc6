// SPDX-License-Identifier: Apache-2.0

// Package figures reads snug's documents into types of the reader's own.
package figures

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal for a document of snug. A figure, which is a number, "none" or null, is
// a pointer to a number in v: nil if it is "none" or null. In all other fields "none" is a text.
func Unmarshal(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		return err
	}
	plain, err := json.Marshal(withoutNone(document, reflect.TypeOf(v)))
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

// withoutNone returns a value of JSON with null for each "none" where typ has a pointer to a number.
func withoutNone(value any, typ reflect.Type) any {
	number := false
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
		number = typ.Kind() >= reflect.Int && typ.Kind() <= reflect.Float64
	}
	switch v := value.(type) {
	case string:
		if number && v == "none" {
			return nil
		}
	case []any:
		if typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
			for i := range v {
				v[i] = withoutNone(v[i], typ.Elem())
			}
		}
	case map[string]any:
		switch typ.Kind() {
		case reflect.Map:
			for name := range v {
				v[name] = withoutNone(v[name], typ.Elem())
			}
		case reflect.Struct:
			fields(v, typ)
		}
	}
	return value
}

// fields does the same to the fields of an object.
func fields(object map[string]any, typ reflect.Type) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			fields(object, f.Type)
			continue
		}
		if name == "" {
			name = f.Name
		}
		for key := range object {
			if strings.EqualFold(key, name) {
				object[key] = withoutNone(object[key], f.Type)
			}
		}
	}
}
