// SPDX-License-Identifier: Apache-2.0

package tmpl

import (
	"html/template"
	"strings"
	"testing"
	"testing/fstest"
)

// TestAsGo compares with html/template, which escapes as much in these places.
func TestAsGo(t *testing.T) {
	type inner struct {
		Text string
		N    *int
		List []string
	}
	n := 7
	data := map[string]any{
		"Name": "a <b> & 'c' \"d\"", "No": false, "Yes": true, "Zero": 0, "Nil": (*int)(nil), "N": &n, "F": 1.5,
		"In": &inner{"text", &n, []string{"x", "<y>"}}, "Empty": []string{}, "All": []inner{{Text: "1"}, {Text: "2", List: []string{"z"}}},
	}
	for _, text := range []string{
		"plain, {{/* not shown */}}{{.Name}} <i title=\"{{.Name}}\">", "{{- if .Yes}} yes {{- else}} no {{end}}", "{{if .No}}a{{else if .Zero}}b{{else}}c{{end}}",
		"{{if not .No}}{{.N}} {{.F}}{{end}}", "{{with .In}}{{.Text}} {{.N}} {{$.Yes}}{{end}}{{with .Nil}}x{{else}}none{{end}}",
		"{{range .In.List}}[{{.}}]{{end}}{{range .Empty}}x{{else}}empty{{end}}", "{{range $i, $v := .In.List}}{{if $i}}, {{end}}{{$v}}{{end}}",
		"{{range $one := .All}}{{$one.Text}}{{range .List}}{{.}}{{end}};{{end}}", "{{index .In.List 1}} {{(index .All 1).Text}}",
		"{{define \"part\"}}({{.Text}}{{$.Text}}){{end}}{{template \"part\" .In}}{{range .All}}{{template \"part\" .}}{{end}}",
		"{{$x := .In}}{{$x.Text}}{{with $y := .N}}{{$y}}{{end}}", "{{.Missing}}{{.F}}", "{{if eq .Zero 0}}eq{{end}}{{if gt (len .All) 1}}gt{{end}}{{if or .Empty .No}}x{{else}}{{or .Empty .Yes}}{{end}}", "{{upper .In.Text}}{{.In.Text | upper}}",
	} {
		want := template.Must(template.New("t").Funcs(template.FuncMap{"upper": strings.ToUpper}).Parse(text))
		var a, b strings.Builder
		if err := want.Execute(&a, data); err != nil {
			t.Fatal(err)
		}
		got := Must(Parse(fstest.MapFS{"t": {Data: []byte(text)}}, "t", true, Funcs{"upper": func(args ...any) (any, error) { return strings.ToUpper(args[0].(string)), nil }}))
		if err := got.Write(&b, "t", data); err != nil || a.String() != b.String() {
			t.Errorf("%s: %v\n%q, want\n%q", text, err, b.String(), a.String())
		}
	}
}

// TestWrong: these mistakes are errors.
func TestWrong(t *testing.T) {
	for _, text := range []string{
		"{{.A.B}}", "{{range .N}}{{end}}", "{{template \"none\"}}", "{{index .List 5}}", "{{index .N 0}}", "{{.N.Text}}", "{{define \"t2\"}}{{template \"t2\" .}}{{end}}{{template \"t2\" .}}",
		"{{not}}", "{{.N 1}}", "{{break}}", "{{gt .List 1}}", "{{len .N}}", "{{eq .N}}", "{{eq .List .List}}", "{{$x := 1}}{{$x = 2}}", "{{2.5}}",
	} {
		got, err := Parse(fstest.MapFS{"t": {Data: []byte(text)}}, "t", true, nil)
		if err == nil {
			err = got.Write(&strings.Builder{}, "t", struct {
				N    int
				A    *struct{ B int }
				List []int
			}{N: 3})
		}
		if err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	if _, err := Parse(fstest.MapFS{}, "*", false, nil); err == nil {
		t.Error("no file is no error")
	}
	x := Must(Parse(fstest.MapFS{"t": {Data: []byte("{{.}}")}}, "t", true, nil))
	if err := x.Write(&strings.Builder{}, "other", 1); err == nil {
		t.Error("an unknown name is no error")
	}
	var b strings.Builder
	if err := x.Write(&b, "t", HTML("<b>")); err != nil || b.String() != "<b>" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
