// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// invalid says where a value does not match a schema; "" = it does. It knows what snug's schemas
// use.
func invalid(at string, v any, schema, defs map[string]any) string {
	if to, ok := schema["$ref"].(string); ok {
		schema = defs[strings.TrimPrefix(to, "#/$defs/")].(map[string]any)
	}
	if list, ok := schema["anyOf"].([]any); ok {
		for _, s := range list {
			if invalid(at, v, s.(map[string]any), defs) == "" {
				return ""
			}
		}
		return at + ": matches none of its types"
	}
	if c, ok := schema["const"]; ok && c != v {
		return fmt.Sprintf("%s: %v, want %v", at, v, c)
	}
	is := map[string]bool{}
	switch v := v.(type) {
	case nil:
		is["null"] = true
	case bool:
		is["boolean"] = true
	case string:
		is["string"] = true
	case json.Number:
		_, err := v.Int64()
		is["number"], is["integer"] = true, err == nil || !strings.ContainsAny(v.String(), ".eE")
	case []any:
		is["array"] = true
		for i, e := range v {
			if items, ok := schema["items"].(map[string]any); ok {
				if bad := invalid(fmt.Sprintf("%s[%d]", at, i), e, items, defs); bad != "" {
					return bad
				}
			}
		}
	case map[string]any:
		is["object"] = true
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s, ok := properties[name].(map[string]any)
			if more, all := schema["additionalProperties"].(map[string]any); !ok && all {
				s, ok = more, true
			}
			if !ok && properties != nil {
				return at + "." + name + ": not in the schema"
			}
			if bad := invalid(at+"."+name, v[name], s, defs); bad != "" {
				return bad
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return at + "." + name.(string) + ": missing"
			}
		}
	}
	var types []any
	switch t := schema["type"].(type) {
	case string:
		types = []any{t}
	case []any:
		types = t
	default:
		return ""
	}
	for _, t := range types {
		if is[t.(string)] {
			return ""
		}
	}
	return fmt.Sprintf("%s: %T, want %v", at, v, types)
}

// undescribed says how a document differs from the schema of its kind; "" = not.
func undescribed(document []byte) string {
	var head finding.Head
	if err := json.Unmarshal(document, &head); err != nil {
		return err.Error()
	}
	var schema map[string]any
	if err := json.Unmarshal([]byte(finding.Schema(head.Kind)), &schema); err != nil {
		return head.Kind + ": " + err.Error()
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	defs, _ := schema["$defs"].(map[string]any)
	return invalid(head.Kind, v, schema, defs)
}

// TestSavedDocuments: documents that were ever saved here can be read, and written again as the
// schemas describe. It leaves out those of more than 16 KiB.
func TestSavedDocuments(t *testing.T) {
	seen := map[string]int{}
	for _, pattern := range []string{"internal/report/testdata/*.json", "../../experiments/*/*.json.gz", "../../experiments/*/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > 16<<10 {
				continue
			}
			if strings.HasSuffix(file, ".gz") {
				r, err := gzip.NewReader(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if text, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
			for len(bytes.TrimSpace(text)) > 0 && bytes.HasPrefix(bytes.TrimSpace(text), []byte(`{"snug":`)) {
				var d finding.Document
				if d, text, err = finding.DecodeLine(text); err != nil {
					t.Errorf("%s: %v", file, err)
					break
				}
				again, err := finding.Encode(d)
				if err != nil {
					t.Errorf("%s: %v", file, err)
					break
				}
				seen[finding.KindOf(d)]++
				if bad := undescribed(again); bad != "" {
					t.Errorf("%s: %s", file, bad)
				}
			}
		}
	}
	if seen[finding.KindBench] < 20 || seen[finding.KindTune] < 1 {
		t.Errorf("documents by kind: %v", seen)
	}
}
