// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write schema.json and docs/json.md")

// TestSchema: schema.json and the tables of docs/json.md are what the types and their comments
// say.
func TestSchema(t *testing.T) {
	m := &schemaMaker{comments: comments(t), defs: map[string]any{}}
	for _, kind := range Kinds() {
		m.define(t, types[kind])
	}
	text, err := json.MarshalIndent(m.defs, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const page = "../../../../../docs/json.md"
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := bytes.Cut(doc, []byte(tablesBelow))
	if !ok {
		t.Fatalf("%s has no line %q", page, tablesBelow)
	}
	made := append(append(head, tablesBelow...), m.tables()...)
	if *update {
		if err := os.WriteFile("schema.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(page, made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, schemas) {
		t.Error("schema.json is not what the types say: go test ./cmd/snug/internal/report/finding -run TestSchema -update")
	}
	if !bytes.Equal(made, doc) {
		t.Error("docs/json.md is not what the types say: go test ./cmd/snug/internal/report/finding -run TestSchema -update")
	}
}

const tablesBelow = "<!-- The tables below are made from the types. -->\n"

// comments returns the comment of each type, and of each field as "Type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	text := func(groups ...*ast.CommentGroup) string {
		var parts []string
		for _, g := range groups {
			if g != nil {
				parts = append(parts, strings.Join(strings.Fields(g.Text()), " "))
			}
		}
		return strings.Join(parts, " ")
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				s := spec.(*ast.TypeSpec)
				all[s.Name.Name] = withoutName(s.Name.Name, text(g.Doc, s.Doc))
				st, ok := s.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, f := range st.Fields.List {
					for _, name := range f.Names {
						all[s.Name.Name+"."+name.Name] = text(f.Doc, f.Comment)
					}
				}
			}
		}
	}
	return all
}

// withoutName returns a type's comment for readers who do not know the type: "X is a Y." and "X holds
// Y." without X.
func withoutName(name, comment string) string {
	comment = strings.TrimPrefix(comment, name+" ")
	return strings.TrimPrefix(strings.TrimPrefix(comment, "is "), "are ")
}

// TestSchemaWords: descriptions use the names that the JSON has, not those of Go.
func TestSchemaWords(t *testing.T) {
	var all map[string]struct {
		Description string
		Properties  map[string]struct{ Description string }
	}
	if err := json.Unmarshal(schemas, &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range all {
		if name != "CPU" {
			names = append(names, name)
		}
	}
	// A type's name in front, or in a sentence, or a field's of one of them.
	goName := regexp.MustCompile(`^(` + strings.Join(names, "|") + `) (is|are|holds|has|says|describes)\b|[a-z,(] (` + strings.Join(names, "|") +
		`|Arm|Knobs|Throttled|Unit)\b|\b[A-Z][a-z]+\[|\bnil\b`)
	check := func(where, text string) {
		if m := goName.FindString(text); m != "" {
			t.Errorf("%s: %q in %q", where, m, text)
		}
	}
	for name, def := range all {
		check(name, def.Description)
		for property, p := range def.Properties {
			check(name+"."+property, p.Description)
		}
	}
}

type schemaMaker struct {
	comments map[string]string
	defs     map[string]any
	order    []string // names of defs as they were met
}

// define adds the schema of a struct and of those it holds.
func (m *schemaMaker) define(t *testing.T, typ reflect.Type) {
	name := nameOf(typ)
	if m.defs[name] != nil {
		return
	}
	m.defs[name] = true // a struct may hold itself
	m.order = append(m.order, name)
	properties, required := map[string]any{}, []string{}
	for _, f := range fieldsOf(typ) {
		p := m.schema(t, f.Type)
		if comment := m.comment(f); comment != "" {
			p["description"] = comment
		}
		json, omitted := jsonName(f.StructField)
		properties[json] = p
		if !omitted {
			required = append(required, json)
		}
	}
	slices.Sort(required)
	def := map[string]any{"type": "object", "properties": properties, "required": required}
	if comment := m.comments[base(typ)]; comment != "" {
		def["description"] = comment
	}
	m.defs[name] = def
}

// base returns the name of a type in its source: Span of Span[int].
func base(typ reflect.Type) string {
	name, _, _ := strings.Cut(typ.Name(), "[")
	return name
}

// nameOf returns the name of a type in the schema, without a character that a reference or an anchor
// has to escape: SpanInt for Span[int].
func nameOf(typ reflect.Type) string {
	name, of, _ := strings.Cut(strings.TrimSuffix(typ.Name(), "]"), "[")
	if of != "" {
		of = strings.ToUpper(of[:1]) + of[1:]
	}
	return name + of
}

// field is a field of a struct in JSON, and the struct that declares it.
type field struct {
	reflect.StructField
	of reflect.Type
}

// comment returns the comment of a field; of a cell's copies of Arm the one of Arm or Knobs.
func (m *schemaMaker) comment(f field) string {
	for _, of := range []string{base(f.of), map[string]string{"plainCell": "Cell", "armJSON": "Arm"}[f.of.Name()], "Knobs"} {
		if c := m.comments[of+"."+f.Name]; c != "" && (of != "Knobs" || f.of.Name() == "armJSON") {
			if rest, ok := strings.CutPrefix(c, f.Name+" "); ok { // as Go's comments begin
				name, _ := jsonName(f.StructField)
				c = name + " " + rest
			}
			return c
		}
	}
	return ""
}

func jsonName(f reflect.StructField) (name string, omitted bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, strings.Contains(options, "omitempty")
}

// fieldsOf returns the fields as encoding/json writes them: those of embedded structs too, unless
// one nearer has the same name.
func fieldsOf(typ reflect.Type) []field {
	if typ == reflect.TypeFor[Cell]() {
		typ = reflect.TypeFor[cellJSON]()
	}
	type embedded struct {
		reflect.Type
		index []int
	}
	var all []field
	have := map[string]bool{}
	for level := []embedded{{typ, nil}}; len(level) > 0; {
		var below []embedded
		for _, at := range level {
			for i := range at.NumField() {
				f := at.Field(i)
				f.Index = append(slices.Clone(at.index), i)
				name, _ := jsonName(f)
				switch {
				case f.Anonymous && name == "":
					below = append(below, embedded{f.Type, f.Index})
				case name != "" && name != "-" && !have[name]:
					have[name] = true
					all = append(all, field{f, at.Type})
				}
			}
		}
		level = below
	}
	slices.SortFunc(all, func(a, b field) int { return slices.Compare(a.Index, b.Index) })
	return all
}

// schema returns the schema of a type.
func (m *schemaMaker) schema(t *testing.T, typ reflect.Type) map[string]any {
	null := func(s map[string]any) map[string]any {
		if one, ok := s["type"].(string); ok {
			s["type"] = []string{one, "null"}
			return s
		}
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	}
	switch {
	case typ == reflect.TypeFor[Amount]():
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"const": "off"}}}
	case typ == reflect.TypeFor[knob]():
		return map[string]any{"type": []string{"integer", "string", "null"}}
	case typ == reflect.TypeFor[Vars]():
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": map[string]any{"type": "string"}}
	case typ == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case strings.HasSuffix(typ.PkgPath(), "/figure"):
		n, _ := typ.FieldByName("N")
		return map[string]any{"anyOf": []any{m.schema(t, n.Type), map[string]any{"const": "none"}, map[string]any{"type": "null"}}}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return null(m.schema(t, typ.Elem()))
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": m.schema(t, typ.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": m.schema(t, typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": m.schema(t, typ.Elem())}
	case reflect.Struct:
		if typ.Implements(reflect.TypeFor[json.Marshaler]()) && typ != reflect.TypeFor[Cell]() {
			t.Errorf("%v has JSON of its own", typ)
		}
		m.define(t, typ)
		return map[string]any{"$ref": reference + nameOf(typ)}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Interface:
		return map[string]any{}
	}
	t.Errorf("no schema for %v", typ)
	return map[string]any{}
}

// tables returns a table for each kind and for each struct in it.
func (m *schemaMaker) tables() string {
	var b strings.Builder
	kindOf := map[string]string{}
	for _, kind := range Kinds() {
		kindOf[types[kind].Name()] = kind
	}
	table := func(title string, typ reflect.Type) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| field | type | meaning |\n|--|--|--|\n", title, sentence(strings.ReplaceAll(m.comments[base(typ)], "*", `\*`)))
		for _, f := range fieldsOf(typ) {
			name, omitted := jsonName(f.StructField)
			kind := inWords(f.Type)
			if omitted {
				kind += ", may be absent"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kind, strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(m.comment(f)))
		}
	}
	byName := map[string]reflect.Type{}
	var meet func(typ reflect.Type)
	meet = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if strings.HasSuffix(typ.PkgPath(), "/figure") {
			n, _ := typ.FieldByName("N")
			typ = n.Type
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[Head]().PkgPath() || byName[nameOf(typ)] != nil || typ == reflect.TypeFor[Amount]() {
			return
		}
		byName[nameOf(typ)] = typ
		for _, f := range fieldsOf(typ) {
			meet(f.Type)
		}
	}
	for _, kind := range Kinds() {
		meet(types[kind])
		table("`"+kind+"`", types[kind])
	}
	for _, name := range m.order {
		if kindOf[name] == "" {
			table(name, byName[name])
		}
	}
	return b.String()
}

// sentence returns a text with a capital first letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// inWords returns the name of a type in JSON.
func inWords(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[Amount]():
		return `number or "off"`
	case typ == reflect.TypeFor[knob]():
		return "number, text or null"
	case typ == reflect.TypeFor[Vars]():
		return "texts by name, or null"
	case typ == reflect.TypeFor[time.Time]():
		return "time, RFC 3339"
	case strings.HasSuffix(typ.PkgPath(), "/figure"):
		n, _ := typ.FieldByName("N")
		return inWords(n.Type) + ", none or null"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return inWords(typ.Elem()) + " or null"
	case reflect.Slice, reflect.Array:
		return "list of " + inWords(typ.Elem())
	case reflect.Map:
		return inWords(typ.Elem()) + " by name"
	case reflect.Struct:
		return "[" + nameOf(typ) + "](#" + strings.ToLower(nameOf(typ)) + ")"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Interface:
		return "any"
	}
	return "number"
}
