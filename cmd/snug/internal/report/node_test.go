// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// nodeOf returns a node with containers that differ in everything a page sorts by.
func nodeOf() *finding.Node {
	c := func(id string, procs int, quota, throttled float64, used, limit int64, version string, severity finding.Severity) finding.Container {
		r := finding.Container{
			PodUID: new("0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f3" + id), ID: new(strings.Repeat(id, 64)), Quota: figure.New(quota, ""), Throttled: figure.New(throttled, ""), Used: figure.New(quota, ""),
			Unreclaimable: figure.New(used, ""), MemoryLimit: figure.New(limit, ""),
			Processes: []finding.NodeProcess{{Process: finding.Process{PID: 7, GoVersion: figure.New(version, ""), GOMAXPROCS: figure.New(procs, ""), GOMEMLIMIT: figure.New(limit, "")}, Name: "server", GC: figure.New(throttled, "")}},
		}
		if severity != "" {
			r.Processes[0].Findings = []finding.Finding{{ID: "x-" + string(severity), Severity: severity, Title: "T", Fix: "GOGC=100"}}
		}
		return r
	}
	return &finding.Node{
		Head: finding.NewHead(finding.KindAgent), Memory: true, Scan: finding.Scan{Go: 3, Processes: 9},
		Containers: []finding.Container{
			c("a", 2, 3, 0.1, 90, 100, "go1.9.1", finding.SeverityInfo),
			c("b", 8, 1, 0.9, 10, 100, "go1.26.8", finding.SeverityError),
			c("c", 4, 2, 0.5, 50, 300, "go1.24.13", ""),
		},
	}
}

// order returns the order of the rows of a page.
func order(t *testing.T, d *finding.Node, o page.NodePage) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.NodeHTML(&b, d, o); err != nil {
		t.Fatal(err)
	}
	body := b.String()
	body, _, _ = strings.Cut(body[strings.Index(body, "<tbody"):], "</tbody>")
	var ids string
	for _, row := range strings.Split(body, "<tr ")[1:] {
		_, name, _ := strings.Cut(row, "c2f3")
		if name == "" {
			_, name, _ = strings.Cut(row, "pod 0ad2ec32-5d7/")
		}
		ids += name[:1]
	}
	return ids
}

// TestNodeOrder: every column sorts, both ways.
func TestNodeOrder(t *testing.T) {
	want := map[string]string{
		"": "bac", "name": "abc", "worst": "bac", "go": "acb", "procs": "bca", "quota": "acb", "cpu": "acb",
		"throttled": "bca", "memory": "acb", "gomemlimit": "cab", "gc": "bca",
	}
	for _, word := range append(page.NodeOrders(), "") {
		if got := order(t, nodeOf(), page.NodePage{Order: word}); got != want[word] {
			t.Errorf("%q: %s, want %s", word, got, want[word])
		}
		if got := order(t, nodeOf(), page.NodePage{Order: word, Reverse: true}); word != "gomemlimit" && word != "" && word != "worst" && (got[0] != want[word][2] || got[2] != want[word][0]) {
			t.Errorf("%q reversed: %s", word, got)
		}
	}
	if got := order(t, nodeOf(), page.NodePage{Wrong: true}); got != "b" {
		t.Errorf("only those with a warning: %s", got)
	}
}

// TestNodeHostile: hostile names are shown, and have no effect.
func TestNodeHostile(t *testing.T) {
	const evil = "</title><script>alert(1)</script>\x1b[31m\" onload=x"
	d := nodeOf()
	d.Node = new(evil)
	d.Skipped = []finding.Left{{Reason: evil, Count: 1, Hint: evil}}
	d.Containers[0].ContainerNames = finding.ContainerNames{Namespace: new(evil), Pod: new(evil), Name: new(evil), Workload: new(evil), Image: new(evil), Digest: new(evil)}
	p := &d.Containers[0].Processes[0]
	p.Name, p.Exe, p.GoVersion = evil, evil, figure.New(evil, "")
	p.Findings = []finding.Finding{{ID: evil, Severity: evil, Title: evil, Fix: evil, Verify: evil, Evidence: []finding.Evidence{{What: evil}}},
		{ID: evil, Severity: finding.SeverityError, Title: evil, Fix: evil, Verify: evil}}
	var drawn, said bytes.Buffer
	o := page.NodePage{Ill: evil, Step: time.Second, Trend: func(*finding.Container) (a, b []float32) { return []float32{-1, 0, 1, -1}, []float32{5} }}
	if err := page.NodeHTML(&drawn, d, o); err != nil {
		t.Fatal(err)
	}
	if s := drawn.String(); strings.Contains(s, "<script") || strings.Contains(s, "\" onload") || strings.ContainsRune(s, 0x1b) {
		t.Errorf("%s", s)
	}
	if err := text.Write(&said, d); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(said.String(), 0x1b) {
		t.Errorf("%q", said.String())
	}
}

// TestNodeText: the container of a process, what was skipped, what is lost.
func TestNodeText(t *testing.T) {
	d := nodeOf()
	d.Memory, d.Lost = false, []string{"heap and collections"}
	d.Skipped = []finding.Left{{Reason: "denied", Count: 3, Hint: "run as root"}, {Reason: "zombie", Count: 1}}
	d.Containers[2].Namespace, d.Containers[2].Pod, d.Containers[2].Name = new("shop"), new("cart-1"), new("app")
	d.Next = "snug doctor 7"
	var b bytes.Buffer
	if err := text.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 Go processes in 3 containers, 1 with a warning or worse; 3 of 9 processes denied\n", "pod 0ad2ec32-5d7/aaaaaaaaaaaa  7    ", "shop/cart-1/app", "error: x-error\n",
		"skipped: 3 processes, denied (run as root)\n", "skipped: 1 process, zombie\n", "without memory: heap and collections\n", "next: snug doctor 7\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := text.Write(&b, &finding.Node{Head: finding.NewHead(finding.KindAgent), Scan: finding.Scan{Processes: 4}}); err != nil || b.String() != "no Go process among 4 processes\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestNodeDenied: if many processes could not be inspected, the verdict says so.
func TestNodeDenied(t *testing.T) {
	for _, c := range []struct {
		name             string
		all, denied, gos int
		want             string
		first            bool
	}{
		{"nearly all", 108, 107, 0, "1 of 108 processes could be inspected, no Go process among them; 107 denied", true},
		{"a tenth", 100, 10, 0, "90 of 100 processes could be inspected, no Go process among them; 10 denied", true},
		{"less", 100, 9, 0, "no Go process among 100 processes", false},
		{"none", 100, 0, 0, "no Go process among 100 processes", false},
		{"of many, with Go", 100, 50, 3, "3 Go processes in 2 containers and 1 other group, 1 with a warning or worse; 50 of 100 processes denied", true},
		{"of few, with Go", 100, 1, 3, "3 Go processes in 2 containers and 1 other group, 1 with a warning or worse", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := nodeOf()
			d.Containers[2].Unit, d.Containers[2].Group = new("a.service"), new("/system.slice/a.service")
			d.Scan = finding.Scan{Processes: c.all, Go: c.gos}
			d.Skipped = []finding.Left{{Reason: "ended", Count: 60}, {Reason: "denied", Count: c.denied, Hint: "run as root"}}
			if c.gos == 0 {
				d.Containers = nil
			}
			var said, drawn bytes.Buffer
			if err := text.Write(&said, d); err != nil {
				t.Fatal(err)
			}
			if line, _, _ := strings.Cut(said.String(), "\n"); line != c.want {
				t.Errorf("%q, want %q", line, c.want)
			}
			if err := page.NodeHTML(&drawn, d, page.NodePage{}); err != nil {
				t.Fatal(err)
			}
			body := drawn.String()
			_, h1, _ := strings.Cut(body, "<h1>")
			h1, _, _ = strings.Cut(h1, "</h1>")
			if got := plainText(h1); !strings.EqualFold(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if n := strings.Count(body, "What was not seen"); n != 1 || strings.Index(body, "What was not seen") < strings.Index(body, "with Go programs</h2>") != c.first {
				t.Errorf("%d times, or at the wrong place", n)
			}
			if got := strings.Contains(body, "Only those with a warning"); got != (c.gos > 0) {
				t.Errorf("a link to those with a warning: %t", got)
			}
		})
	}
}

// TestNodeOutsideContainers: groups of the node are not called containers, and a fix is text.
func TestNodeOutsideContainers(t *testing.T) {
	d := nodeOf()
	for i := range d.Containers {
		d.Containers[i].Unit, d.Containers[i].Group, d.Containers[i].PodUID, d.Containers[i].ID = new("a.service"), new("/a.service"), nil, nil
	}
	var said, drawn bytes.Buffer
	if err := errors.Join(text.Write(&said, d), page.NodeHTML(&drawn, d, page.NodePage{})); err != nil {
		t.Fatal(err)
	}
	if want := "3 Go processes in 3 groups outside of containers, 1 with a warning or worse\n"; !strings.HasPrefix(said.String(), want) {
		t.Errorf("no %q in %s", want, said.String())
	}
	for _, want := range []string{"<h2>Containers and other groups with Go programs</h2>", "<p>Fix: GOGC=100</p>", "<li>group /a.service</li>", `data-head="Quota"`} {
		if !strings.Contains(drawn.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// plainText returns the text of a piece of a page.
func plainText(s string) string {
	var b strings.Builder
	for in := false; s != ""; s = s[1:] {
		switch {
		case s[0] == '<':
			in = true
		case s[0] == '>':
			in = false
		case !in:
			b.WriteByte(s[0])
		}
	}
	return strings.ReplaceAll(html.UnescapeString(b.String()), "\u00a0", " ")
}
