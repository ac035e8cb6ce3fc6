// SPDX-License-Identifier: Apache-2.0

// Package browser checks snug's pages in a real Chromium.
package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// documents matches the documents of the renderer's tests.
const documents = "../../../cmd/snug/internal/report/testdata/*.json"

// build builds the tool.
func build(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "snug")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir = "../../../cmd/snug"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return exe
}

// render makes the page of a document with `snug report`.
func render(t *testing.T, exe, document string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(document), ".json")+".html")
	if out, err := exec.Command(exe, "report", "--html", file, document).CombinedOutput(); err != nil {
		t.Fatalf("snug report --html %s: %v\n%s", document, err, out)
	}
	return file
}

func TestPages(t *testing.T) {
	gate.Need(t, "browser")
	found, err := filepath.Glob(documents)
	if err != nil || len(found) < 5 {
		t.Fatalf("%d documents below %s, %v", len(found), documents, err)
	}
	exe, chromium := build(t), open(t)
	for _, document := range found {
		name := strings.TrimSuffix(filepath.Base(document), ".json")
		file := render(t, exe, document)
		for _, s := range screens {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				p := load(t, chromium, file, s)
				shot(t, p, name+"-"+s.name)
				for _, complaint := range ask[[]string](t, p, rules) {
					t.Error(complaint)
				}
				p.quiet(t, file)
			})
		}
		t.Run(name+"/everything is seen somewhere", func(t *testing.T) { seen(t, chromium, file) })
		t.Run(name+"/pdf", func(t *testing.T) { pdf(t, chromium, file, name) })
		t.Run(name+"/download", func(t *testing.T) { download(t, chromium, file, document) })
	}
}

// seen checks that every drawing is visible on the desk or on the phone.
func seen(t *testing.T, chromium context.Context, file string) {
	const shown = `[...document.querySelectorAll("svg")].map(s => s.getBoundingClientRect().width > 0)`
	desk := ask[[]bool](t, load(t, chromium, file, screens[0]), shown)
	phone := ask[[]bool](t, load(t, chromium, file, screens[2]), shown)
	for i := range desk {
		if !desk[i] && !phone[i] {
			t.Errorf("drawing %d is hidden on every screen", i)
		}
	}
}

func pdf(t *testing.T, chromium context.Context, file, name string) {
	p := load(t, chromium, file, screens[0])
	data, err := chromedp.Run(p, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground(), chromedp.PDFPreferCSSPageSize()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("%PDF-")) || len(data) < 5000 {
		t.Errorf("no PDF: %d bytes", len(data))
	}
	if dir := os.Getenv("SNUG_SHOTS"); dir != "" {
		save(t, dir, name+".pdf", data)
	}
}

// download clicks the link: the file must be the compressed document.
func download(t *testing.T, chromium context.Context, file, document string) {
	p := load(t, chromium, file, screens[0])
	dir := t.TempDir()
	done := make(chan string, 1)
	err := chromedp.ListenBrowser(p, func(event any) {
		if e, ok := event.(*browser.EventDownloadProgress); ok && e.State != browser.DownloadProgressStateInProgress {
			select {
			case done <- e.GUID + " " + string(e.State):
			default:
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	events := true
	if _, err := chromedp.CallBrowser(p, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: dir, EventsEnabled: &events}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(p, chromedp.Click(chromedp.CSS("a.download"))); err != nil {
		t.Fatal(err)
	}
	select {
	case state := <-done:
		guid, how, _ := strings.Cut(state, " ")
		if how != string(browser.DownloadProgressStateCompleted) {
			t.Fatalf("download %s", how)
		}
		packed, err := os.ReadFile(filepath.Join(dir, guid))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("not compressed by gzip: %v: %.20q", err, packed)
		}
		got, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("downloaded %d bytes that differ from the document's %d", len(got), len(want))
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("no download")
	}
}
