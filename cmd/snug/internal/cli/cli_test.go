// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
	"github.com/snug-go/snug/limits"
)

// TestDocumentsRoundTrip writes the documents of every situation down, reads
// them back, and renders both.
func TestDocumentsRoundTrip(t *testing.T) {
	all, err := fixture.LoadAll(os.DirFS("../../../../testdata/situations"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			at := place{root: textFlag(s.Name + fixture.Ext), fsys: s.FS}
			q := question{at: &at, policy: &policyFlags{}}
			l, p, err := q.answer(func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			d := limitsDocument(l, at.target())
			for _, d := range []finding.Document{d, p, &finding.Verdict{Head: finding.NewHead(finding.KindVerdict), Limits: d, Plan: p}} {
				roundTrip(t, d)
			}
			checkNulls(t, l, d)
		})
	}
}

func roundTrip(t *testing.T, d finding.Document) {
	t.Helper()
	line, err := finding.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := finding.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, again) {
		t.Errorf("read back\n%+v\nwant\n%+v", again, d)
	}
	var a, b bytes.Buffer
	if err := errors.Join(report.Text(&a, d), report.Text(&b, again)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Errorf("renders as\n%s\nwant\n%s", b.String(), a.String())
	}
	if strings.ContainsFunc(a.String(), func(r rune) bool { return r != '\n' && r < ' ' || r == 0x7f }) {
		t.Errorf("control characters in %q", a.String())
	}
	if bytes.Contains(line, []byte("\"unknown\":null")) || bytes.Contains(line, []byte("\"warnings\":null")) || bytes.Contains(line, []byte("\"ignored\":null")) {
		t.Errorf("null for an empty list: %s", line)
	}
}

// checkNulls holds that what is unknown is null or too wide, and listed.
func checkNulls(t *testing.T, l *limits.Limits, d *finding.Limits) {
	t.Helper()
	listed := map[string]bool{}
	for _, g := range d.Unknown {
		listed[g.Field] = true
	}
	for _, f := range []struct {
		name    string
		unknown bool
	}{
		{"cpu.quota_cores", l.CPU.Quota.State == limits.Unknown},
		{"cpu.affinity_cpus", l.CPU.Affinity.State == limits.Unknown},
		{"memory.hard_bytes", l.Memory.Hard.State == limits.Unknown},
		{"memory.soft_bytes", l.Memory.Soft.State == limits.Unknown},
	} {
		if f.unknown && !listed[f.name] {
			t.Errorf("%s is unknown and not listed", f.name)
		}
	}
}

// TestEveryCodeIsExplained compares explain.md with the constants of packages
// plan and limits.
func TestEveryCodeIsExplained(t *testing.T) {
	codes := map[string]string{}
	collectCodes(t, codes, "../../../../internal/plan", func(string) bool { return true })
	collectCodes(t, codes, "../../../../internal/law", func(string) bool { return true })
	collectCodes(t, codes, "../../../../limits", func(name string) bool { return strings.HasPrefix(name, "Warn") })
	warns := func(name string) bool { return strings.HasPrefix(name, "Warn") }
	collectCodes(t, codes, "../prove/search", warns)
	collectCodes(t, codes, ".", warns)
	if len(codes) < 30 {
		t.Fatalf("found only %d codes", len(codes))
	}
	explained := map[string]bool{}
	for _, e := range parseExplanations(explainText) {
		if explained[e.ID] {
			t.Errorf("%s is explained twice", e.ID)
		}
		explained[e.ID] = true
		if codes[e.ID] == "" && e.Class != "term" {
			t.Errorf("%s is explained and nothing gives it", e.ID)
		}
		if e.Title == "" || len(e.Text) < 40 || strings.HasSuffix(e.Title, ".") || !regexp.MustCompile(`^(reason|warning|reason, warning|term)$`).MatchString(e.Class) {
			t.Errorf("%s: class %q, title %q, text %q", e.ID, e.Class, e.Title, e.Text)
		}
	}
	for code, name := range codes {
		if !explained[code] {
			t.Errorf("%s (%s) has no section in explain.md", code, name)
		}
	}
}

// collectCodes finds the string constants of a package that look like codes.
func collectCodes(t *testing.T, codes map[string]string, dir string, want func(name string) bool) {
	t.Helper()
	code := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i >= len(v.Values) || !name.IsExported() || !want(name.Name) {
						continue
					}
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						if text, err := strconv.Unquote(lit.Value); err == nil && code.MatchString(text) {
							codes[text] = filepath.Base(dir) + "." + name.Name
						}
					}
				}
			}
		}
	}
}

// TestEveryCodeHasText holds that no reason and no warning is printed as its
// bare code.
func TestEveryCodeHasText(t *testing.T) {
	for _, e := range parseExplanations(explainText) {
		from := limits.Source{File: "FILE", Level: "LEVEL", Raw: "RAW"}
		if strings.Contains(e.Class, "reason") {
			if text := watch.Text(plan.Reason{Code: e.ID, Number: 3, Source: from}, 2); text == e.ID {
				t.Errorf("reason %s has no text", e.ID)
			}
		}
		ofExperiment := strings.HasPrefix(e.ID, "bench-") || strings.HasPrefix(e.ID, "tune-") // says its text itself
		if strings.Contains(e.Class, "warning") && !ofExperiment {
			if text := plan.WarningText(limits.Warning{Code: e.ID, Source: from}); strings.HasPrefix(text, e.ID) {
				t.Errorf("warning %s has no text", e.ID)
			}
		}
	}
}

// TestOnlyKnownVariablesLeave holds that no other variable of a process than
// those of Go and snug can be asked for.
func TestOnlyKnownVariablesLeave(t *testing.T) {
	tree := fixture.NewFS()
	environ := "SECRET=a\x00GOMAXPROCS=3\x00GOMAXPROCS=4\x00SNUG_ROUND=floor\x00SNUG=observe\x00GODEBUG=x\x00GOFLAGS=b\x00SNUGGLE=c\x00broken\x00"
	if err := tree.Set("proc/7/environ", environ); err != nil {
		t.Fatal(err)
	}
	at := place{root: "tree", fsys: tree, pid: 7}
	own := func(name string) string {
		return map[string]string{"SNUG_ROUND": "ceil", "GOMEMLIMIT": "1GiB"}[name]
	}
	getenv, _, gaps := at.environ(own)
	for name, want := range map[string]string{
		"GOMAXPROCS": "3", // the first wins, as in Go
		"SNUG":       "observe",
		"GODEBUG":    "x",
		"SNUG_ROUND": "ceil", // whoever asks wins
		"GOMEMLIMIT": "",     // and is not who is asked about
		"SECRET":     "",
		"GOFLAGS":    "",
		"SNUGGLE":    "",
		"broken":     "",
	} {
		if got := getenv(name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if len(gaps) != 0 {
		t.Errorf("unknown %v", gaps)
	}
	if err := tree.Deny("proc/7/environ"); err != nil {
		t.Fatal(err)
	}
	if _, _, gaps = at.environ(own); len(gaps) != 1 || gaps[0].Field != "environment" || gaps[0].Why != "permission denied" {
		t.Errorf("unknown %v", gaps)
	}
}

// TestTreesThatCannotBeRead covers what a script run by root cannot: missing
// permissions, and a process that ends while it is read.
func TestTreesThatCannotBeRead(t *testing.T) {
	tree := func(change func(*fixture.FS) error) *fixture.FS {
		f := fixture.NewFS()
		for name, text := range map[string]string{
			"proc/self/cgroup": "0::/\n",
			"proc/7/cgroup":    "0::/\n",
			"proc/7/status":    "Cpus_allowed:\t3\n",
			"proc/1/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		} {
			if err := f.Set(name, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := change(f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		name       string
		fsys       *fixture.FS
		pid        pidFlag
		what, hint string
	}{
		{"proc is closed", tree(func(f *fixture.FS) error { return f.Deny("proc") }), 0,
			"permission denied, proc/self of TREE", ownerHint},
		{"the process ends meanwhile", tree(func(f *fixture.FS) error { return f.Fail("proc/7/status", syscall.ESRCH) }), 7,
			"no such process, pid 7 of TREE", "it may have ended, or belong to another PID namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := place{root: "TREE", fsys: c.fsys, pid: c.pid}
			err := at.check()
			if err == nil {
				_, err = at.read()
			}
			var f *failure
			if !errors.As(err, &f) || f.code != exitFailed || f.what != c.what || f.hint != c.hint {
				t.Errorf("error %+v, want %s, %s", f, c.what, c.hint)
			}
		})
	}
}

func TestUnopenedRoot(t *testing.T) {
	for err, want := range map[error]failure{
		syscall.EACCES:  {exitFailed, "permission denied, DIR", ownerHint},
		syscall.ENOENT:  {exitFailed, "no such file or directory, DIR", rootHint},
		syscall.ENOTDIR: {exitFailed, syscall.ENOTDIR.Error() + ", DIR", rootHint},
	} {
		var f *failure
		if !errors.As(unopened("DIR", &os.PathError{Op: "open", Path: "DIR", Err: err}), &f) || *f != want {
			t.Errorf("%v: %+v, want %+v", err, f, want)
		}
	}
}

// closedPipe is a reader that went away.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestClosedPipeIsQuiet(t *testing.T) {
	var talk bytes.Buffer
	if code := Main([]string{"explain"}, strings.NewReader(""), closedPipe{}, &talk); code != exitFine || talk.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, talk.String())
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{
		"/host":    "/host",
		"":         "''",
		"a b":      "'a b'",
		"it's":     `'it'\''s'`,
		"$(x)":     "'$(x)'",
		"v1.txtar": "v1.txtar",
	} {
		if got := shellQuote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestRulesExplained: the id of a finding explains that finding, and nothing else.
func TestRulesExplained(t *testing.T) {
	for _, r := range rules.All() {
		var said []finding.Explanation
		for _, e := range explanations() {
			if e.ID == r.ID {
				said = append(said, e)
			}
		}
		if len(said) != 1 || said[0].Title != r.Title || said[0].Class != "rule" {
			t.Errorf("%s: %+v, want the rule's own text", r.ID, said)
		}
	}
}
