// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
)

// said summarizes a file: its objects, their containers and variables with positions, its problems.
func said(f *manifest.File) string {
	var s []string
	for _, o := range f.Objects {
		at := o.At()
		s = append(s, fmt.Sprintf("%s@%d:%d", o.Title(), at.Line, at.Column))
		for i := range o.Data {
			s = append(s, variable(o, &o.Data[i]))
		}
		for _, p := range o.Pods {
			for _, c := range p.Containers {
				at := c.At()
				s = append(s, fmt.Sprintf("%s%s@%d:%d", []string{"", "init:", "sidecar:", "ephemeral:"}[c.Role], c.Name, at.Line, at.Column))
				for i := range c.Env {
					s = append(s, variable(o, &c.Env[i]))
				}
			}
		}
	}
	for _, p := range f.Problems {
		s = append(s, fmt.Sprintf("!%d:%s", p.Line, p.Why))
	}
	return strings.Join(s, " ")
}

func variable(o *manifest.Object, e *manifest.Env) string {
	at := o.EnvAt(e)
	value := e.Value.Text
	if e.From == manifest.Resource {
		value = "<" + e.Resource.Text + "/" + e.Divisor.Text
	}
	return fmt.Sprintf("%s=%s@%d:%d", e.Name, value, at.Line, at.Column)
}

const container = "containers: [{name: a, image: i, env: [{name: GOGC, value: '1'}]}]"

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"pod", "kind: Pod\nmetadata: {name: p, namespace: n}\nspec:\n  " + container, "Pod n/p@1:1 a@4:16 GOGC=1@4:62"},
		{"cron job", "kind: CronJob\nspec: {jobTemplate: {spec: {template: {spec: {" + container + "}}}}}", "CronJob @1:1 a@2:60 GOGC=1@2:106"},
		{"an unknown kind", "apiVersion: example.org/v1\nkind: Machine\nspec: {parts: [{pod: {" + container + "}}]}", "Machine @1:1 a@3:36 GOGC=1@3:82"},
		{"no kind", "spec: {" + container + "}", ""},
		{"several documents", "# nothing\n---\nkind: Pod\nspec: {" + container + "}\n--- # next\nkind: Pod\nspec: {" + container + "}\n---\n", "Pod @3:1 a@4:21 GOGC=1@4:67 Pod @6:1 a@7:21 GOGC=1@7:67"},
		{"one of them broken", "kind: Pod\nspec: {containers: [}\n---\nkind: Pod\nspec: {" + container + "}", "Pod @4:1 a@5:21 GOGC=1@5:67 !1:invalid YAML: did not find expected node content"},
		{"broken after a carriage return", "kind: Pod\nx: containers\r\n---\nkind: Pod # containers\r\ny: [}\n", "!4:invalid YAML: did not find expected node content"},
		{"broken, in a line that only YAML begins", "kind: Pod # containers\rx: y\r- z", "!1:invalid YAML: did not find expected key"},
		{"line feeds with carriage returns", "kind: Pod\r\nspec:\r\n  " + container + "\r\n", "Pod @1:1 a@3:16 GOGC=1@3:62"},
		{"a byte order mark", "\ufeffkind: Pod\nspec:\n  " + container, "Pod @1:4 a@3:16 GOGC=1@3:62"},
		{"other alphabets", "kind: Pod\nspec: {é: 'ü', " + container + "}", "Pod @1:1 a@2:31 GOGC=1@2:77"},
		{"line separators that only YAML knows", "kind: Pod\nmetadata: {name: \"a\u2028b\"}\nspec: {" + container + "}", "Pod a\u2028b@1:1 a@3:21 GOGC=1@3:67"},
		{"a list", "kind: List\nitems:\n- kind: Pod\n  spec: {" + container + "}\n- kind: PodList\n  items: [{kind: Pod, spec: {" + container + "}}]", "Pod @3:3 a@4:23 GOGC=1@4:69 Pod @6:11 a@6:43 GOGC=1@6:89"},
		{"JSON", `{"kind":"Pod","spec":{"containers":[{"name":"a","env":[{"name":"GOGC","value":"1"}]}]}}`, "Pod @1:1 a@1:37 GOGC=1@1:79"},
		{"JSON after JSON", "{\"kind\":\"Pod\",\n\"spec\":{\"containers\":[{\"name\":\"a\"}]}}\n{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"b\"}]}}\n", "Pod @1:1 a@2:23 Pod @3:1 b@3:37"},
		{"JSON with tabs", "{\n\t\"kind\": \"Pod\",\n\t\"spec\": {\"containers\": [{\"name\": \"a\"}]}\n}\n", "Pod @1:1 a@3:26"},
		{"roles", "kind: Pod\nspec:\n  initContainers:\n  - name: a\n  - {name: b, restartPolicy: Always}\n  containers: [{name: c}]\n  ephemeralContainers: [{name: d}]", "Pod @1:1 init:a@4:5 sidecar:b@5:5 c@6:16 ephemeral:d@7:25"},
		{"aliases and merges", "kind: Pod\nx: &env [{name: GOGC, value: '1'}]\ny: &base {image: i, env: *env}\nspec:\n  containers:\n  - {<<: *base, name: a}\n  - {<<: [*base], name: b, env: []}", "Pod @1:1 a@6:5 GOGC=1@2:30 b@7:5"},
		{"reference", "kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n    - name: X\n      valueFrom: {resourceFieldRef: {divisor: 1m, resource: limits.cpu}}", "Pod @1:1 a@4:5 X=<limits.cpu/1m@7:47"},
		{"config map", "kind: ConfigMap\ndata: {GOGC: 'off', SECRET: x}", "ConfigMap @1:1 GOGC=off@2:14"},
		{"a list of config maps", "kind: List\nitems: [{kind: ConfigMap, data: {GOGC: '1'}}]", "ConfigMap @2:9 GOGC=1@2:40"},
		{"a definition", "kind: CustomResourceDefinition\nspec: {" + container + "}", ""},
		{"a schema", "kind: Thing\nspec: {properties: {containers: {type: array}}}", ""},
		{"status", "kind: Pod\nspec: {}\nstatus: {x: {" + container + "}}", ""},
		{"nothing about a container", "kind: Service\nspec: {ports: [}", ""},
		{"the source of a template", "kind: Pod\nspec:\n  {{- with .Values.x }}\n  " + container + "\n  {{- end }}", "!2:the source of a template"},
		{"binary", "kind: Pod\xff\nspec: containers", "!1:not text in UTF-8"},
		{"UTF-16", "\xff\xfek\x00", "!1:text in UTF-16, not UTF-8"},
		{"UTF-16 without a mark", "k\x00i\x00n\x00d\x00:\x00", "!1:a NUL byte, so not text in UTF-8"},
		{"empty", "", ""},
		{"only markers", "---\n---\n...\n---", ""},
		{"names that are not text", "kind: Pod\nspec:\n  containers:\n  - name: [a]\n  - name: 1\n    env: {a: b}\n  - x\n  - name: b\n    env: [x, {name: {}}, {value: y}, {name: Z, value: {}}]", "Pod @1:1 @4:5 1@5:5 b@8:5 Z=@9:55"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(manifest.Parse("f", []byte(c.text))); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHostile: the expansion of aliases is bounded, and so is the input.
func TestHostile(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("kind: List\na0: &a0 {kind: Pod, spec: {" + container + "}}\n")
	for i := range 12 {
		fmt.Fprintf(&bomb, "a%d: &a%d {kind: List, items: [%s]}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 40), ", "))
	}
	bomb.WriteString("items: [*a12]\n")
	var deep strings.Builder
	deep.WriteString("kind: Pod\nspec: {containers: [{name: a}], x: &l0 [1]")
	for i := range 30 {
		fmt.Fprintf(&deep, ", l%d: &l%d [%s]", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 30), ", "))
	}
	deep.WriteString("}\n")
	for name, text := range map[string]string{
		"a bomb of lists":     bomb.String(),
		"a bomb of aliases":   strings.Replace(deep.String(), "kind: Pod\nspec: {containers: [{name: a}], ", "kind: Thing\nspec: {y: containers, ", 1),
		"an alias of itself":  "kind: Thing\nspec: &a {x: *a, containers: no}\n",
		"a deep nest":         "kind: Pod\ncontainers: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"too deep a nest":     "kind: Pod\ncontainers: " + strings.Repeat("[", 20000),
		"very many nodes":     "kind: Pod\ncontainers: [" + strings.Repeat("a,", 2_000_000) + "]",
		"merges of merges":    "kind: Pod\na: &a {<<: *a}\nspec: {<<: *a, containers: [{name: x, <<: *a}]}\n",
		"a very long line":    "kind: Pod\nspec: {containers: [{name: " + strings.Repeat("x", 1<<20) + "}]}",
		"thousands of pieces": strings.Repeat("---\n", 100_000),
	} {
		f := manifest.Parse("f", []byte(text))
		if len(f.Objects) > 100_000 {
			t.Errorf("%s: %d objects", name, len(f.Objects))
		}
		for _, o := range f.Objects {
			o.At()
		}
	}
	if _, err := new(manifest.Batch).Read("f", endless{}, 0); err != manifest.ErrTooLarge {
		t.Errorf("without an end: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestEdits: edits change only what they should, with any line endings, and are refused if they cannot
// be made.
func TestEdits(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"line feeds with carriage returns", "kind: Pod\r\nspec:\r\n  containers:\r\n  - name: a\r\n    env:\r\n    - name: GOGC\r\n      valueFrom:\r\n        resourceFieldRef:\r\n          resource: limits.cpu\r\n",
			"kind: Pod\r\nspec:\r\n  containers:\r\n  - name: a\r\n    env:\r\n    - name: GOGC\r\n      valueFrom:\r\n        resourceFieldRef:\r\n          resource: limits.cpu\r\n          divisor: \"1\"\r\n"},
		{"no last line feed", "kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n    - name: GOGC\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu",
			"kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n    - name: GOGC\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: \"1\""},
		{"no last line feed, after carriage returns", "kind: Pod\r\nspec:\r\n  containers:\r\n  - name: a\r\n    env:\r\n    - name: GOGC\r\n      valueFrom:\r\n        resourceFieldRef:\r\n          resource: limits.cpu",
			"kind: Pod\r\nspec:\r\n  containers:\r\n  - name: a\r\n    env:\r\n    - name: GOGC\r\n      valueFrom:\r\n        resourceFieldRef:\r\n          resource: limits.cpu\r\n          divisor: \"1\""},
		{"minified", `{"kind":"Pod","spec":{"containers":[{"name":"a","env":[{"name":"GOGC","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}}`,
			`{"kind":"Pod","spec":{"containers":[{"name":"a","env":[{"name":"GOGC","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1"}}}]}]}}`},
		{"JSON by lines", "{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"GOGC\",\"valueFrom\":{\"resourceFieldRef\":{\n  \"resource\": \"limits.cpu\"\n}}}]}]}}",
			"{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"GOGC\",\"valueFrom\":{\"resourceFieldRef\":{\n  \"resource\": \"limits.cpu\",\n  \"divisor\": \"1\"\n}}}]}]}}"},
		{"an empty divisor", "kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: ''}}}]}]}\n",
			"kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '1'}}}]}]}\n"},
		{"an anchor", "kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: &d 1m}}}]}]}\n", ""},
		{"a tag", "kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: !!str 1m}}}]}]}\n", ""},
		{"a block", "kind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n    - name: GOGC\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: |-\n            1m\n", ""},
		{"through an alias", "kind: Pod\nx: &r {resource: limits.cpu, divisor: 1m}\nspec: {containers: [{name: a, env: [{name: GOGC, valueFrom: {resourceFieldRef: *r}}]}]}\n",
			"kind: Pod\nx: &r {resource: limits.cpu, divisor: \"1\"}\nspec: {containers: [{name: a, env: [{name: GOGC, valueFrom: {resourceFieldRef: *r}}]}]}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := manifest.Parse("f", []byte(c.text))
			o := f.Objects[0]
			e, ok := o.SetDivisor(&o.Pods[0].Containers[0].Env[0])
			if ok != (c.want != "") {
				t.Fatalf("can be made: %v", ok)
			}
			if !ok {
				return
			}
			after, err := f.Apply([]manifest.Edit{e})
			if err != nil || string(after.Text) != c.want {
				t.Errorf("%v\ngot  %q\nwant %q", err, after.Text, c.want)
			}
		})
	}
}

// TestApplyRefuses: Apply refuses an edit whose text does not match its change of the tree.
func TestApplyRefuses(t *testing.T) {
	f := manifest.Parse("f", []byte("kind: Pod\nspec: {containers: [{name: a, image: 'x', env: [{name: GOGC, value: 200%}]}]}\n"))
	c := f.Objects[0].Pods[0].Containers[0]
	one, ok := f.Objects[0].Replace(c.Env[0].Value, "200")
	if !ok {
		t.Fatal("cannot be made")
	}
	if after, err := f.Apply([]manifest.Edit{one, one}); err == nil {
		t.Errorf("made twice: %s", after.Text)
	}
}

// TestEditsTogether: edits of a list and of its items work together, in any order.
func TestEditsTogether(t *testing.T) {
	f := manifest.Parse("f", []byte(`kind: Pod
spec:
  resources: {}
  containers:
  - name: a
    image: x
    env:
    - name: A
      value: a
    - name: GOGC
      value: 200%
    - name: B
      value: b
    - name: GOMAXPROCS
      valueFrom:
        resourceFieldRef:
          resource: limits.cpu
`))
	o := f.Objects[0]
	p := o.Pods[0]
	a := p.Containers[0]
	var edits []manifest.Edit
	add := func(e manifest.Edit, ok bool) {
		if !ok {
			t.Fatalf("edit %d cannot be made", len(edits))
		}
		edits = append(edits, e)
	}
	add(a.RemoveEnv(&a.Env[2]))
	add(o.Replace(a.Env[1].Value, "200"))
	add(o.SetDivisor(&a.Env[3]))
	add(a.RemoveEnv(&a.Env[0]))
	add(p.RemoveResources())
	const want = `kind: Pod
spec:
  containers:
  - name: a
    image: x
    env:
    - name: GOGC
      value: "200"
    - name: GOMAXPROCS
      valueFrom:
        resourceFieldRef:
          resource: limits.cpu
          divisor: "1"
`
	for range 2 {
		after, err := f.Apply(edits)
		if err != nil || string(after.Text) != want {
			t.Fatalf("%v\ngot  %s\nwant %s", err, after.Text, want)
		}
		slices.Reverse(edits)
	}
}

// TestRemoveEnv: a variable is removed if nothing else of its container uses its value.
func TestRemoveEnv(t *testing.T) {
	const head, gone = "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: x\n", "    - name: GOMAXPROCS\n      value: \"2\"\n"
	for _, c := range []struct{ name, before, after string }{
		{"used in args", "    args: [\"--workers=$(GOMAXPROCS)\"]\n    env:\n" + gone + "    - name: B\n      value: b\n", ""},
		{"used in a shell's words", "    command: [sh, -c, \"exec app -n ${GOMAXPROCS}\"]\n    env:\n" + gone + "    - name: B\n      value: b\n", ""},
		{"used in a later variable", "    env:\n" + gone + "    - name: B\n      value: $(GOMAXPROCS)\n", ""},
		{"the only one", "    env:\n" + gone, ""},
		{"used in another's name only", "    env:\n" + gone + "    - name: X_GOMAXPROCS\n      value: GOMAXPROCS\n",
			"    env:\n    - name: X_GOMAXPROCS\n      value: GOMAXPROCS\n"},
		{"shared with another container", "    env: &e\n" + gone + "    - name: B\n      value: b\n  - name: b\n    env: *e\n",
			"    env: &e\n    - name: B\n      value: b\n  - name: b\n    env: *e\n"},
	} {
		f := manifest.Parse("f", []byte(head+c.before))
		a := f.Objects[0].Pods[0].Containers[0]
		e, ok := a.RemoveEnv(&a.Env[0])
		if ok != (c.after != "") {
			t.Errorf("%s: removed %v", c.name, ok)
		}
		if !ok {
			continue
		}
		if after, err := f.Apply([]manifest.Edit{e}); err != nil || string(after.Text) != head+c.after {
			t.Errorf("%s: %v\n%s", c.name, err, after.Text)
		}
	}
}

// FuzzParse: any text is parsed without a panic, and positions are in the text.
func FuzzParse(f *testing.F) {
	seeds, _ := filepath.Glob("../lint/*/*.yaml")
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		text, err := os.ReadFile(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]\nkind: Pod\nspec: {<<: *a, containers: *a}\n"))
	f.Add([]byte(`{"kind":"Pod","spec":{"containers":[{"name":"\u00e9"}]}}{"kind":"Pod"}`))
	f.Add([]byte("[Service]\nExecStart=/a\nEnvironment=GOGC=1 \\\n GOMEMLIMIT=1\nAllowedCPUs=0-1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		half := len(text) / 2
		for _, file := range []*manifest.File{
			manifest.Parse("f", text),
			manifest.ParseUnit(manifest.Text{Name: "a.service", Text: text[:half]}, manifest.Text{Name: "b", Text: text[half:]}),
			manifest.ParseEnvFile(manifest.Text{Name: "e", Text: text}),
		} {
			places(t, file)
		}
	})
}

// places checks that positions are in the text.
func places(t *testing.T, file *manifest.File) {
	text := file.Text
	lines := strings.Count(string(text), "\n") + 1
	inside := func(at manifest.Pos) {
		if at.Line < 1 || at.Line > lines || at.Column < 1 || at.Column > len(text)+1 {
			t.Errorf("%+v of %d lines", at, lines)
		}
	}
	for _, p := range file.Problems {
		inside(manifest.Pos{Line: p.Line, Column: 1})
	}
	for _, o := range file.Objects {
		inside(o.At())
		for _, p := range o.Pods {
			for _, c := range p.Containers {
				inside(c.At())
				for i := range c.Env {
					inside(o.EnvAt(&c.Env[i]))
				}
				for _, f := range c.Resources.Limits {
					inside(o.FieldAt(f))
				}
			}
		}
		for i := range o.Data {
			inside(o.EnvAt(&o.Data[i]))
		}
	}
}

// TestComments: comments are distinguished from text in scalars.
func TestComments(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"alone and after text", "# a\nk: v # b\n", "1:1 a alone, 2:6 b"},
		{"no space before it", "k: v#b\nl: 'v'#c\n", ""},
		{"quoted", "k: \"a # b\" # c\nl: 'it''s # d' # e\nm: \"\\\" # f\"\n", "1:12 c, 2:16 e"},
		{"quoted over lines", "k: \"a\n  # b\n  c\" # d\n", "3:6 d"},
		{"quotes in a plain scalar", "k: it's # a\nl: say \"b # c\n", "1:9 a, 2:11 c"},
		{"literal", "k: | # a\n  # b\n\n  c\n# d\nl: >-\n   e # f\n  # g\nm: h # i\n", "1:6 a, 5:1 d alone, 8:3 g alone, 9:6 i"},
		{"literal that begins deeper", "k: |2\n    a\n  # b\n # c\n", "4:2 c alone"},
		{"empty literal", "- k: |\n  # a\n  l: v # b\n", "2:3 a alone, 3:8 b"},
		{"literal in a list", "- |\n # a\n- b # c\n", "3:5 c"},
		{"literal at the top", "--- |\n# a\n# b\n--- # c\n", "4:5 c"},
		{"flow", "{a: [b,'c # d'], # e\n \"f\":\"g # h\"} # i\n", "1:18 e, 2:15 i"},
		{"a bar in a flow", "[a, |b] # c\n# d\n", "1:9 c, 2:1 d alone"},
		{"anchors and tags", "k: &a !!str \"# b\" # c\nl: *a # d\n", "1:19 c, 2:7 d"},
		{"CR LF", "k: v # a\r\n# b\r\n", "1:6 a, 2:1 b alone"},
	} {
		var said []string
		for _, m := range manifest.Parse("a.yaml", []byte(c.text)).Comments() {
			one := fmt.Sprintf("%d:%d%s", m.At.Line, m.At.Column, strings.TrimRight(m.Text, " "))
			if m.Alone {
				one += " alone"
			}
			said = append(said, one)
		}
		if got := strings.Join(said, ", "); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}
