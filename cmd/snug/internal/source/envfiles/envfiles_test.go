// SPDX-License-Identifier: Apache-2.0

package envfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func words(all []Setting) string {
	var said []string
	for _, s := range all {
		if s.Unknown {
			s.Value += "?"
		}
		said = append(said, fmt.Sprintf("%d:%d:%s=%s%s", s.Stage, s.Line, s.Name, s.Value, strings.Join(s.Ignores, "!")))
	}
	return strings.Join(said, " ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name string
		kind Kind
		text string
		want string
	}{
		{"env", Dockerfile, "FROM a\nENV GOGC=off A=b GOMAXPROCS=2\n", "1:2:GOGC=off 1:2:GOMAXPROCS=2"},
		{"the old form", Dockerfile, "FROM a\nenv GOMEMLIMIT 512Mi\r\n", "1:2:GOMEMLIMIT=512Mi"},
		{"over lines", Dockerfile, "FROM a\nENV A=\"b c\" \\\n  # a comment\n  GOGC=\"200\" \\\n\tGODEBUG='a=1,b=2'\nRUN x\n", "1:4:GOGC=200 1:5:GODEBUG=a=1,b=2"},
		{"two stages", Dockerfile, "FROM a AS build\nENV GOGC=off\nFROM b\nENV GOGC=50\n", "1:2:GOGC=off 2:4:GOGC=50"},
		{"not for the process", Dockerfile, "FROM a\nARG GOGC=off\nRUN GOGC=off go build\n# ENV GOGC=1\n", ""},
		{"from a variable", Dockerfile, "FROM a\nENV GOMEMLIMIT=${LIMIT} GOGC=$X\n", "1:2:GOMEMLIMIT=? 1:2:GOGC=?"},
		{"silenced", Dockerfile, "FROM a\n# snug:ignore gogc-zero it is a test\nENV GOGC=0\n", "1:3:GOGC=0gogc-zero"},
		{"silenced without a reason", Dockerfile, "# snug:ignore gogc-zero\nENV GOGC=0\n", "0:2:GOGC=0"},
		{"another escape", Dockerfile, "# escape=`\nFROM a\nENV A=c:\\ `\n GOGC=1\n", "1:4:GOGC=1"},
		{"an end in the middle", Dockerfile, "ENV A=b \\", ""},
		{"a quote without an end", Dockerfile, "ENV GOGC=\"1", ""},
		{"unit", Unit, "[Unit]\nEnvironment=GOGC=1\n[Service]\nEnvironment=GOGC=2 \"GOMEMLIMIT=1 G\"\nEnvironment = 'GODEBUG=a=1'\n", "1:4:GOGC=2 1:4:GOMEMLIMIT=1 G 1:5:GODEBUG=a=1"},
		{"unit over lines", Unit, "[Service]\nEnvironment=A=b \\\n# comment\n  GOGC=3\n", "1:4:GOGC=3"},
		{"unit cleared", Unit, "[Service]\nEnvironment=GOGC=2\nEnvironment=\n", ""},
		{"unit with a specifier", Unit, "[Service]\nEnvironment=GOMEMLIMIT=%m\n", "1:2:GOMEMLIMIT=?"},
		{"dotenv", Dotenv, "# c\nexport GOGC=\"off\" # c\nGOMEMLIMIT = 1g # c\nA=$B\nGOMAXPROCS=$B\n", "1:2:GOGC=off 1:3:GOMEMLIMIT=1g 1:5:GOMAXPROCS=?"},
		{"compose", Compose, "services:\n  a:\n    environment:\n      GOGC: \"200%\"\n      A: b\n  b:\n    environment:\n      - GOMEMLIMIT=512m\n      - 'GOMAXPROCS=2'\n", "1:4:GOGC=200% 2:8:GOMEMLIMIT=512m 2:9:GOMAXPROCS=2"},
		{"compose from the shell", Compose, "environment:\n  - GOGC\n  - GOMEMLIMIT=${L}\nenvironment:\n  GOMEMLIMIT:\n", "1:2:GOGC=? 1:3:GOMEMLIMIT=? 2:5:GOMEMLIMIT=?"},
		{"byte order mark", Dockerfile, "\ufeffENV GOGC=0\n", "0:1:GOGC=0"},
		{"byte order mark", Dotenv, "\ufeffGOGC=0\n", "1:1:GOGC=0"},
		{"byte order mark", Unit, "\ufeff[Service]\nEnvironment=GOGC=0\n", "1:2:GOGC=0"},
		{"byte order mark before a directive", Dockerfile, "\ufeff# escape=`\nENV A=`\n GOGC=1\n", "0:3:GOGC=1"},
		{"binary", Dotenv, "GOGC=1\x00", ""},
		{"too long", Dotenv, "GOGC=1\n" + strings.Repeat("#", maxBytes), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := words(Parse(c.kind, c.text)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name string
		kind Kind
		text string
		want string
	}{
		{"off alone", Dotenv, "GOGC=off", "1 gogc-off-alone"},
		{"off with a limit", Dotenv, "GOGC=off\nGOMEMLIMIT=1GiB", ""},
		{"off with a limit that is filled in later", Dockerfile, "FROM a\nENV GOGC=off GOMEMLIMIT=${LIMIT}", ""},
		{"off with a limit of the shell's", Compose, "environment:\n  GOGC: off\n  GOMEMLIMIT:\n", ""},
		{"off while it is built", Dockerfile, "FROM a\nENV GOGC=off\nFROM b\nENV A=b", ""},
		{"the same Ps in every container", Dockerfile, "FROM a AS b\nENV GOMAXPROCS=2\nFROM scratch\nENV GOMAXPROCS=3\nENV GOMAXPROCS=4", "5 gomaxprocs-constant"},
		{"Ps of a stage that it is built from", Dockerfile, "FROM --platform=x a AS Base\nENV GOMAXPROCS=2\nFROM c AS d\nFROM base", "2 gomaxprocs-constant"},
		{"one P exceeds no quota", Dockerfile, "FROM a\nENV GOMAXPROCS=1", ""},
		{"Ps while it is built", Dockerfile, "FROM golang AS b\nENV GOMAXPROCS=2\nFROM scratch AS c\nENV X=1", ""},
		{"off while another is built", Dockerfile, "FROM a\nENV GOGC=off\nFROM b\nENV GOGC=50", ""},
		{"as Kubernetes writes it", Unit, "[Service]\nEnvironment=GOMEMLIMIT=512Mi", "2 gomemlimit-malformed"},
		{"silenced", Dotenv, "# snug:ignore gomaxprocs-malformed read by a script\nGOMAXPROCS=auto", ""},
		{"fine", Dotenv, "GOMAXPROCS=4\nGOGC=200\nGOMEMLIMIT=1GiB\nGODEBUG=gctrace=1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			for _, f := range Judge(c.kind, Parse(c.kind, c.text)) {
				said = append(said, fmt.Sprint(f.Line, " ", f.ID))
			}
			if got := strings.Join(said, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"Dockerfile", "deploy/a.service", "deploy/.env", "vendor/Dockerfile", "nested/Dockerfile", ".git/Dockerfile", "deploy/Dockerfile.md"} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		text := "ENV GOGC=0\n[Service]\nEnvironment=GOGC=0\n"
		if strings.HasSuffix(file, ".env") {
			text = "GOGC=0\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "nested/go.mod"), []byte("module m\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "deploy/b.env")); err != nil {
		t.Fatal(err)
	}
	for deep, want := range map[bool]int{true: 3, false: 1} {
		if got, _ := Scan(t.Context(), dir, deep); len(got) != want {
			t.Errorf("deep %v: %v, want %d", deep, got, want)
		}
	}
	if got, skipped := Scan(t.Context(), filepath.Join(dir, "absent"), true); got != nil || skipped != nil {
		t.Errorf("absent: %v, %v", got, skipped)
	}
}

// TestSkipped checks that unread files are reported and that nothing blocks.
func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Dockerfile":   "ENV GOGC=0\n#" + strings.Repeat("x", maxBytes),
		"a.env":        "GOGC=0\n\x00",
		"b.service":    "\xff\xfe[\x00S\x00", // UTF-16
		"fits.env":     "GOGC=0\n#" + strings.Repeat("x", maxBytes-10),
		"marked.env":   "\ufeffGOGC=0\n",
		"x/Dockerfile": "\ufeffENV GOGC=0\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"dangling.env": "absent", "zero.env": os.DevNull, "same.env": "marked.env", "dir.env": "x", "round.env": "round.env"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	found, skipped := Scan(t.Context(), dir, true)
	var said []string
	for _, f := range found {
		said = append(said, filepath.Base(f.File)+" "+f.ID)
	}
	if want := "fits.env gogc-zero, marked.env gogc-zero, same.env gogc-zero, Dockerfile gogc-zero"; strings.Join(said, ", ") != want {
		t.Errorf("found %s, want %s", strings.Join(said, ", "), want)
	}
	why := map[string]string{}
	for _, s := range skipped {
		why[filepath.Base(s.File)] = s.Why
	}
	for name, want := range map[string]string{
		"Dockerfile": "more than 256 KiB", "a.env": "NUL byte", "b.service": "NUL byte",
		"dangling.env": "", "zero.env": LinkOut, "round.env": "",
	} {
		if got, ok := why[name]; !ok || !strings.Contains(got, want) || strings.Contains(got, dir) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(why) != 6 {
		t.Errorf("skipped %q", why)
	}
}

// FuzzParse: whatever a file holds, settings are of known names, plain and in the file.
func FuzzParse(f *testing.F) {
	f.Add("FROM a\nENV GOGC=off \\\n GODEBUG='a=1'\n")
	f.Add("[Service]\nEnvironment=\"GOGC=1\" \\\n GOMEMLIMIT=1g\n")
	f.Add("environment:\n- 'GOGC=1'\nGOGC: \"2\" # c\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []Kind{None, Dockerfile, Unit, Dotenv, Compose} {
			settings := Parse(kind, text)
			lines := strings.Count(text, "\n") + 1
			for _, s := range settings {
				if !knob(s.Name) || !plain(s.Value) || s.Unknown && s.Value != "" || s.Line < 1 || s.Line > lines {
					t.Errorf("%d: %+v of %d lines", kind, s, lines)
				}
			}
			Judge(kind, settings)
		}
	})
}
