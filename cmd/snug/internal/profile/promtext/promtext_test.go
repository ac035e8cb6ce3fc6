// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

var all = []string{"go_", "process_", "snug_"}

func TestRead(t *testing.T) {
	label := func(pairs ...string) (l []Label) {
		for i := 0; i < len(pairs); i += 2 {
			l = append(l, Label{pairs[i], pairs[i+1]})
		}
		return l
	}
	for name, c := range map[string]struct {
		line string
		want *Sample // nil: a bad line
	}{
		"plain":                   {"go_a 1", &Sample{"go_a", nil, 1}},
		"a time":                  {"go_a 1 1395066363000", &Sample{"go_a", nil, 1}},
		"OpenMetrics' time":       {"go_a 1 1395066363.5", &Sample{"go_a", nil, 1}},
		"spaces and tabs":         {" \tgo_a \t 1 \t 5\t", &Sample{"go_a", nil, 1}},
		"carriage return":         {"go_a 1\r", &Sample{"go_a", nil, 1}},
		"exponent":                {"go_a 1.5e+03", &Sample{"go_a", nil, 1500}},
		"infinite":                {"go_a -Inf", &Sample{"go_a", nil, math.Inf(-1)}},
		"labels, sorted":          {`go_a{b="1",a="2"} 1`, &Sample{"go_a", label("a", "2", "b", "1"), 1}},
		"a comma more":            {`go_a{a="2",} 1`, &Sample{"go_a", label("a", "2"), 1}},
		"spaces between":          {`go_a { a = "2" , b="3" } 1`, &Sample{"go_a", label("a", "2", "b", "3"), 1}},
		"no labels":               {`go_a{} 1`, &Sample{"go_a", nil, 1}},
		"no space after":          {`go_a{a="2"}1`, &Sample{"go_a", label("a", "2"), 1}},
		"escapes":                 {`go_a{a="\\n\"\n\t\\\"}"} 1`, &Sample{"go_a", label("a", "\\n\"\n\\t\\\"}"), 1}},
		"braces and # in a label": {`go_a{a="{#}, "} 1`, &Sample{"go_a", label("a", "{#}, "), 1}},
		"exemplar":                {`go_a{a="2"} 1 # {trace_id="x"} 0.67 5`, &Sample{"go_a", label("a", "2"), 1}},
		"name in quotes":          {`{"go_a.b", a="2"} 1`, &Sample{"go_a.b", label("a", "2"), 1}},
		"only a name in quotes":   {`{"go_a.b"} 1`, &Sample{"go_a.b", nil, 1}},
		"label in quotes":         {`go_a{"a.b"="2"} 1`, &Sample{"go_a", label("a.b", "2"), 1}},
		"no value":                {"go_a", nil},
		"no value after labels":   {`go_a{a="2"}`, nil},
		"a word":                  {"go_a one", nil},
		"hexadecimal":             {"go_a 0x10p1", nil},
		"underscore":              {"go_a 1_000", nil},
		"three numbers":           {"go_a 1 2 3", nil},
		"a time in words":         {"go_a 1 today", nil},
		"open labels":             {`go_a{a="2" 1`, nil},
		"open quotes":             {`go_a{a="2} 1`, nil},
		"ends in an escape":       {`go_a{a="2\`, nil},
		"no quotes":               {`go_a{a=2} 1`, nil},
		"no equals":               {`go_a{a} 1`, nil},
		"the same label twice":    {`go_a{a="1",a="2"} 1`, nil},
		"not UTF-8":               {"go_a{a=\"\xff\"} 1", nil},
		"two commas":              {`go_a{a="1",,b="2"} 1`, nil},
		"too many labels":         {"go_a{" + strings.Repeat(`a="",`, maxLabels+1) + "} 1", nil},
		"other characters":        {"go-a 1", nil},
		"too long":                {`go_a{a="` + strings.Repeat("x", maxLine) + `"} 1`, nil},
		"HTML":                    {"<html>", nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := Scrape{Lines: 2, Bad: 1}
			if c.want != nil {
				want = Scrape{Samples: []Sample{*c.want}, Lines: 3}
			}
			page := "# HELP go_a\n\nother{x=\"y\"} 5\n" + c.line + "\nup 1\n# EOF"
			if got, err := Read(strings.NewReader(page), all...); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	s, err := Read(strings.NewReader(strings.Repeat("go_a 1\n", maxSamples+5)), "go_")
	if err != nil || len(s.Samples) != maxSamples || s.Dropped != 5 || s.Lines != maxSamples+5 {
		t.Errorf("%d samples, %d dropped of %d, %v", len(s.Samples), s.Dropped, s.Lines, err)
	}
	line := `go_a{a="` + strings.Repeat("x", 60<<10) + "\"} 1\n"
	s, err = Read(strings.NewReader(strings.Repeat(line, 100)), "go_")
	if err != nil || len(s.Samples) == 0 || len(s.Samples)*len(line) > maxText || s.Dropped+len(s.Samples) != 100 {
		t.Errorf("%d samples, %d dropped, %v", len(s.Samples), s.Dropped, err)
	}
	broken := errors.New("broken")
	if s, err := Read(io.MultiReader(strings.NewReader("go_a 1\ngo_b 2"), iotest.ErrReader(broken)), "go_"); err != broken || len(s.Samples) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestPieces: the result does not depend on the sizes of the reads.
func TestPieces(t *testing.T) {
	page := read(t, "testdata/client_golang.openmetrics") + strings.Repeat("x", 3*maxLine) + "\ngo_a 1\n"
	whole, err := Read(strings.NewReader(page), all...)
	if err != nil || whole.Bad != 1 {
		t.Fatalf("%d bad lines, %v", whole.Bad, err)
	}
	for name, r := range map[string]io.Reader{
		"bytes":         iotest.OneByteReader(strings.NewReader(page)),
		"halves":        iotest.HalfReader(strings.NewReader(page)),
		"data with EOF": iotest.DataErrReader(strings.NewReader(page)),
	} {
		if got, err := Read(r, all...); err != nil || !reflect.DeepEqual(got, whole) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestGigabyte: nonsense of any length takes no memory.
func TestGigabyte(t *testing.T) {
	if testing.Short() {
		t.Skip("a gigabyte takes a second")
	}
	for name, c := range map[string]struct {
		pattern string
		size    int64
		memory  uint64
	}{
		"no newline":     {"x", 1 << 30, 1 << 20},
		"lines of other": {"other_metric_with_a_name{a=\"b\"} 1\n", 1 << 28, 1 << 20},
		"bad lines":      {"go_a{a=\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\", 1\n", 1 << 25, 256 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := Read(io.LimitReader(&again{pattern: []byte(strings.Repeat(c.pattern, 1<<16/len(c.pattern)))}, c.size), all...)
			runtime.ReadMemStats(&after)
			if err != nil || len(s.Samples) != 0 {
				t.Fatalf("%d samples, %v", len(s.Samples), err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > c.memory {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

type again struct {
	pattern []byte
	at      int
}

func (a *again) Read(b []byte) (int, error) {
	n := copy(b, a.pattern[a.at:])
	a.at = (a.at + n) % len(a.pattern)
	return n, nil
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"go_a 1", "go_a{a=\"\\n\"} 1 5 # {b=\"c\"} 1", "{\"go_a.b\",c=\"d\"} +Inf", "go_info{version=\"go1.26\"} 1\ngo_threads 5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, page string) {
		s, err := Read(strings.NewReader(page), "go_")
		if err != nil || s.Lines < len(s.Samples) || s.Lines+s.Bad > 1+strings.Count(page, "\n") {
			t.Fatalf("%+v, %v", s, err)
		}
		Go(s.Samples)
		// It is the same when printed and read again.
		again, err := Read(strings.NewReader(text(s.Samples)), "go_")
		if err != nil || again.Bad != 0 || text(again.Samples) != text(s.Samples) {
			t.Errorf("%q\n%q", text(s.Samples), text(again.Samples))
		}
	})
}
