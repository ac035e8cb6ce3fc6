// SPDX-License-Identifier: Apache-2.0

package report

import (
	"reflect"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// poison replaces words in every text of a document.
func poison(d finding.Document, with *strings.Replacer) {
	walk(reflect.ValueOf(d), func(v reflect.Value) {
		if v.Kind() == reflect.String {
			v.SetString(with.Replace(v.String()))
		}
	})
}

// flood sets every number of a document to one value.
func flood(d finding.Document, x float64) {
	walk(reflect.ValueOf(d), func(v reflect.Value) {
		if v.Kind() == reflect.Float64 {
			v.SetFloat(x)
		}
	})
}

// walk visits every settable value in a document.
func walk(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			walk(value, visit)
			v.SetMapIndex(key, value)
		}
	default:
		if v.CanSet() {
			visit(v)
		}
	}
}
