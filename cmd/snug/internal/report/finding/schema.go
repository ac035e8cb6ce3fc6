// SPDX-License-Identifier: Apache-2.0

package finding

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// schemas holds a JSON Schema for each struct of the documents, by name. A test makes it from the types and their
// comments.
//
//go:embed schema.json
var schemas []byte

const reference = "#/$defs/"

// Kinds returns the kinds of documents, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(types)) }

// Schema returns the JSON Schema (draft 2020-12) of a kind of document, indented; "" if there is
// no such kind.
func Schema(kind string) string {
	t := types[kind]
	if t == nil {
		return ""
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(schemas, &all); err != nil {
		panic(err) // a test reads it
	}
	used := map[string]any{}
	var use func(name string)
	use = func(name string) {
		if used[name] != nil {
			return
		}
		used[name] = all[name]
		each(all[name], use)
	}
	schema := maps.Clone(all[t.Name()])
	each(schema, use)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	if len(used) > 0 {
		schema["$defs"] = used
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// About returns what each kind of document is, in sentences: the description in its schema.
func About() map[string]string {
	var all map[string]struct {
		Description string `json:"description"`
	}
	if err := json.Unmarshal(schemas, &all); err != nil {
		panic(err) // a test reads it
	}
	about := map[string]string{}
	for kind, t := range types {
		about[kind] = all[t.Name()].Description
	}
	return about
}

// each calls use for the name of each definition that a schema refers to.
func each(schema any, use func(name string)) {
	switch v := schema.(type) {
	case map[string]any:
		for key, value := range v {
			if to, ok := value.(string); ok && key == "$ref" {
				use(strings.TrimPrefix(to, reference))
			}
			each(value, use)
		}
	case []any:
		for _, value := range v {
			each(value, use)
		}
	}
}
