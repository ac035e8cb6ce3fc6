// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// open starts a Chromium that makes no network requests of its own.
func open(t *testing.T) context.Context {
	t.Helper()
	alloc, stop := chromedp.NewExecAllocator(t.Context(),
		chromedp.Flag("headless", true),
		chromedp.NoSandbox, // the sandbox may be unavailable to root
		chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.UserDataDir(profile(t)),
		chromedp.WSURLReadTimeout(3*time.Minute),
	)
	t.Cleanup(stop)
	ctx, shut := chromedp.NewContext(alloc)
	t.Cleanup(shut)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("closing the browser: %v", err)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("no browser: %v", err)
	}
	return ctx
}

// profile returns a directory for a browser. The browser's helper processes outlive it briefly and
// still write there, so the first removal may fail.
func profile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "snug-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		for late := time.Now().Add(time.Minute); err != nil && time.Now().Before(late); err = os.RemoveAll(dir) {
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return dir
}

// tab is a loaded page, and what the browser reported about it.
type tab struct {
	context.Context
	mu       sync.Mutex
	requests []string
	trouble  []string
}

// screen is a reader's screen or paper.
type screen struct {
	name   string
	width  int64
	scale  float64
	scheme string // prefers-color-scheme
	media  string // "" or print
}

var screens = []screen{
	{"desk", 1100, 1, "light", ""},
	{"dark", 1100, 1, "dark", ""},
	{"phone", 360, 2, "light", ""},
	{"phone-dark", 360, 2, "dark", ""},
	{"paper", 760, 1, "dark", "print"}, // a dark screen must not give dark paper
}

// load shows one of snug's pages on a screen.
func load(t *testing.T, browser context.Context, file string, s screen) *tab {
	t.Helper()
	return visit(t, browser, "file://"+file, "footer", s)
}

// visit shows an address on a screen and waits for an element.
func visit(t *testing.T, browser context.Context, address, element string, s screen) *tab {
	t.Helper()
	ctx, shut := chromedp.NewContext(browser)
	t.Cleanup(shut)
	p := &tab{Context: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			p.requests = append(p.requests, e.Request.URL)
		case *runtime.EventExceptionThrown:
			p.trouble = append(p.trouble, "exception: "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			p.trouble = append(p.trouble, "console: "+string(e.Type))
		case *log.EventEntryAdded:
			p.trouble = append(p.trouble, fmt.Sprintf("log: %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call(t, ctx, network.Enable, network.EnableParams{})
	call(t, ctx, log.Enable, cdp.Empty{})
	call(t, ctx, runtime.Enable, cdp.Empty{})
	call(t, ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: 800, DeviceScaleFactor: s.scale, Mobile: s.width < 500})
	call(t, ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: s.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
	if err := chromedp.Do(ctx, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS(element))); err != nil {
		t.Fatalf("%s on %s: %v", filepath.Base(address), s.name, err)
	}
	return p
}

// call sends one command of the DevTools protocol.
func call[P, R any](t *testing.T, ctx context.Context, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(p, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%v in %s", err, short(expression, 80))
	}
	return v
}

// quiet checks that the page made no further request and that the browser logged nothing.
func (p *tab) quiet(t *testing.T, file string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) != 1 || p.requests[0] != "file://"+file {
		t.Errorf("requests: %s, want the page alone", short(strings.Join(p.requests, " "), 300))
	}
	for _, m := range p.trouble {
		t.Errorf("the browser reports: %s", m)
	}
}

// shot saves a picture of the whole page in the directory SNUG_SHOTS, if set.
func shot(t *testing.T, p *tab, name string) {
	t.Helper()
	dir := os.Getenv("SNUG_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	save(t, dir, name+".png", png)
}

func save(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func short(s string, maxLen int) string {
	if len(s) > maxLen {
		return s[:maxLen] + "..."
	}
	return s
}
