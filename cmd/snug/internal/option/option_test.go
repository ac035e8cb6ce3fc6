// SPDX-License-Identifier: Apache-2.0

package option

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/internal/plan"
)

const root = "../../../../"

// names returns one kind of name of all options, without "".
func names(of func(Option) string) (all []string) {
	for _, o := range Table {
		if name := of(o); name != "" {
			all = append(all, name)
		}
	}
	return all
}

func variable(o Option) string { return o.Variable }

// same checks that two lists have the same members.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s lack %s", what, name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s have %s, which Table has not", what, name)
		}
	}
}

// TestVariables checks that the library reads the variables of the table, and that package plan
// describes the values of each.
func TestVariables(t *testing.T) {
	ours := slices.DeleteFunc(names(variable), func(name string) bool { return !strings.HasPrefix(name, "SNUG") })
	read := slices.DeleteFunc(slices.Clone(plan.Variables[:]), func(name string) bool { return name == "SNUG_RUN" }) // not for people
	same(t, "the variables that are read", read, ours)
	for _, name := range ours {
		if plan.Want(name) == "" {
			t.Errorf("%s: plan.Want does not say what it wants", name)
		}
	}
}

// TestFields checks that the table has each field of the library's options.
func TestFields(t *testing.T) {
	var fields []string
	add := func(prefix string, of reflect.Type, only ...string) {
		for f := range of.Fields() {
			if !f.Anonymous && (only == nil || slices.Contains(only, f.Name)) {
				fields = append(fields, prefix+f.Name)
			}
		}
	}
	add("", reflect.TypeFor[snug.Options]())
	add("WatchOptions.", reflect.TypeFor[snug.WatchOptions](), "Poll", "OnPlan")
	add("adapt.", reflect.TypeFor[adapt.Options](), "Memory", "GCShare")
	same(t, "the fields of options", fields, names(func(o Option) string { return o.Field }))
}

// TestFlags checks that a flag accepts, refuses and sets the same as its variable.
func TestFlags(t *testing.T) {
	good := map[string]string{
		"round": "floor", "min-procs": "3", "max-procs": "4", "reserve-cpus": "500m", "request-factor": "1.5", "gomemlimit": "80%",
		"cpu-limit": "2", "cpu-request": "0.5", "memory-limit": "1GiB", "gomaxprocs": "5", "gogc": "off",
	}
	seen := 0
	for _, o := range Table {
		if o.Help == "" {
			continue
		}
		seen++
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		var given []Setter
		Flags(fs, func(s Setter) { given = append(given, s) })
		if err := fs.Set(o.Flag, "nonsense"); err == nil || len(given) > 0 {
			t.Errorf("--%s nonsense: %v", o.Flag, err)
		}
		if err := fs.Set(o.Flag, good[o.Flag]); err != nil || len(given) != 1 {
			t.Errorf("--%s %s: %v", o.Flag, good[o.Flag], err)
			continue
		}
		var byFlag, byVariable plan.Policy
		var flagHints, variableHints plan.Hints
		given[0](&byFlag, &flagHints)
		if strings.HasPrefix(o.Variable, "SNUG_") {
			plan.Set(o.Variable, good[o.Flag], new(plan.Mode), &byVariable, &variableHints)
			if !reflect.DeepEqual(byFlag, byVariable) || !reflect.DeepEqual(flagHints, variableHints) {
				t.Errorf("--%s: %+v, %+v; %s: %+v, %+v", o.Flag, byFlag, flagHints, o.Variable, byVariable, variableHints)
			}
		}
		if reflect.DeepEqual(byFlag, plan.Policy{}) && reflect.DeepEqual(flagHints, plan.Hints{}) {
			t.Errorf("--%s changes nothing", o.Flag)
		}
	}
	if seen != len(good) {
		t.Errorf("%d flags, want %d", seen, len(good))
	}
}

// TestReadme checks that the tables of docs/config.md have every variable and every field, and no other.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(root + "docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	var variables, fields []string
	name := regexp.MustCompile("`(SNUG[A-Z_]*|[A-Z][A-Za-z.]+)[=`]")
	for _, table := range strings.Split(string(text), "| variable | field | meaning |\n")[1:] {
		for line := range strings.Lines(table) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				break
			}
			for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
				variables = append(variables, m[1])
			}
			for _, m := range name.FindAllStringSubmatch(cells[2], -1) {
				fields = append(fields, m[1])
			}
		}
	}
	want := slices.DeleteFunc(names(variable), func(name string) bool { return !strings.HasPrefix(name, "SNUG") })
	same(t, "docs/config.md: the tables of variables", variables, want)
	want = names(func(o Option) string { return strings.TrimPrefix(o.Field, "adapt.") })
	same(t, "docs/config.md: the tables of fields", slices.DeleteFunc(fields, func(name string) bool { return name == "GC" || name == "CPU" }), want) // beside Memory
}

// TestChart checks that the chart's schema has the options of the policy's configuration, within
// the bounds of their variables.
func TestChart(t *testing.T) {
	text, err := os.ReadFile(root + "deploy/helm/snug/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct {
				Enum             []any
				Minimum, Maximum *float64
				Pattern          string
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	config := schema.Properties["config"].Properties
	if len(config) == 0 {
		t.Fatal("no properties of config in the schema")
	}
	for _, o := range Table {
		if o.Chart == "" {
			continue
		}
		p, ok := config[o.Chart]
		if !ok {
			t.Errorf("the schema has no %s", o.Chart)
			continue
		}
		takes := func(text string) bool {
			return plan.Set(o.Variable, text, new(plan.Mode), &plan.Policy{}, &plan.Hints{})
		}
		for _, word := range p.Enum {
			word, _ := word.(string)
			if !takes(word) {
				t.Errorf("%s: the schema takes %s, %s does not", o.Chart, word, o.Variable)
			}
		}
		if p.Maximum != nil {
			most, _ := json.Marshal(*p.Maximum)
			above, _ := json.Marshal(*p.Maximum + 1)
			if !takes(string(most)) || takes(string(above)) {
				t.Errorf("%s: the schema takes up to %s, %s does not", o.Chart, most, o.Variable)
			}
		}
	}
}
