// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// aFigure is a *figure.Of of any type.
type aFigure interface {
	Known() bool
	Unread() (source, why string, ok bool)
	Unknown(source, why string)
	None()
}

// Gaps lists the unknown figures of a part of a document. file is the Gap.File of figures
// without a source.
func Gaps(part any, file string) []Gap {
	gaps := []Gap{}
	figures(reflect.ValueOf(part).Elem(), "", func(field string, f aFigure) {
		if source, why, unknown := f.Unread(); unknown {
			if source == "" {
				source = file
			}
			gaps = append(gaps, Gap{Field: field, File: UTF8(source), Why: UTF8(why)})
		}
	})
	return gaps
}

// Settle lets the gaps of a part of a document decide which figures without a number are
// unknown: those that gaps lists. The others become none.
func Settle(part any, gaps []Gap) {
	settle(reflect.ValueOf(part).Elem(), gaps)
}

func settle(part reflect.Value, gaps []Gap) {
	byField := make(map[string]*Gap, len(gaps))
	for i := range gaps {
		byField[gaps[i].Field] = &gaps[i]
	}
	figures(part, "", func(field string, f aFigure) {
		if gap := byField[field]; gap != nil {
			f.Unknown(gap.File, gap.Why)
		} else {
			f.None()
		}
	})
}

// figures calls visit for each figure of a struct that has no number, not for those in its
// lists. field is the path in JSON, such as "cpu.quota_cores".
func figures(part reflect.Value, above string, visit func(field string, f aFigure)) {
	name := func(i int) string { // only for few: it is most of the cost
		name, _, _ := strings.Cut(part.Type().Field(i).Tag.Get("json"), ",")
		return above + name
	}
	for i := range part.NumField() {
		v := part.Field(i)
		if !v.CanInterface() { // not exported
			continue
		}
		if f, ok := v.Addr().Interface().(aFigure); ok {
			if !f.Known() {
				visit(name(i), f)
			}
			continue
		}
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		switch {
		case v.Kind() != reflect.Struct:
		case part.Type().Field(i).Anonymous:
			figures(v, above, visit)
		default:
			figures(v, name(i)+".", visit)
		}
	}
}

// settleAll settles each struct of a document that has a list of gaps.
func settleAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			settleAll(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			settleAll(v.Index(i))
		}
	case reflect.Struct:
		if l, ok := v.Addr().Interface().(*Limits); ok {
			l.Settle()
			return
		}
		if list := v.FieldByName("Unknown"); list.IsValid() {
			if gaps, ok := list.Interface().([]Gap); ok {
				settle(v, gaps)
			}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				settleAll(v.Field(i))
			}
		}
	}
}

// UTF8 escapes bytes that are not UTF-8 as \xff, because JSON cannot hold them.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
