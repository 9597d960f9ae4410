// Package chrome drives a real Chromium for tests, through the DevTools protocol. It
// owns finding and starting the browser and the actions of a tab. Whatever goes wrong
// in a page fails the test: exceptions, logged errors and violations of the content
// security policy. It must not know the pages.
package chrome

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sluice/e2e/need"
)

// WaitTimeout bounds every wait for a page. It only ends a test that hangs.
const WaitTimeout = 2 * time.Minute

// Browser is a profile of a Chromium: its tabs share cookies, storage and permissions with each
// other only.
type Browser struct{ ctx context.Context }

// Names of programs, best first. A headless shell has the same engine without the windows and
// pages of the browser itself, which take more than half of the time of most tests.
var (
	complete = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
	shells   = append([]string{"chromium-headless-shell", "chrome-headless-shell"}, complete...)
)

// Path returns the path of this machine's Chromium, or skips the test. With -short it skips the
// test too: the race detector would slow down the server and find nothing in a browser.
func Path(t testing.TB) string {
	t.Helper()
	return program(t, shells)
}

func program(t testing.TB, names []string) string {
	t.Helper()
	need.Time(t)
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	need.Tool(t, "no Chromium is installed", false)
	return ""
}

// shared is the Chromium of this process. It is started when the first test needs it, because
// starting one takes longer than most tests.
var shared struct {
	mu  sync.Mutex
	ctx context.Context
	end func()
}

// Start returns a new profile, which ends with the test, of the Chromium that all tests of
// this process share. The TestMain of the package calls Stop.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := Path(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx == nil {
		shared.ctx, shared.end = launch(t, path)
	}
	profile, err := cdp.Call(shared.ctx, chromedp.FromContext(shared.ctx).Browser, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := cdp.Call(shared.ctx, chromedp.FromContext(shared.ctx).Browser, target.DisposeBrowserContext, target.DisposeBrowserContextParams(profile))
		if err != nil {
			t.Errorf("end a profile of Chromium: %v", err)
		}
	})
	ctx, end := chromedp.NewContext(shared.ctx, chromedp.WithExistingBrowserContext(profile.BrowserContextID))
	t.Cleanup(end)
	return &Browser{ctx}
}

// StartAlone starts a complete Chromium that ends with the test. Tests that read the clipboard
// need it, because all profiles share that, and so do tests of what a headless shell does
// differently: requests that outlive their page, and focus in frames.
func StartAlone(t testing.TB) *Browser {
	t.Helper()
	ctx, end := launch(t, program(t, complete))
	t.Cleanup(end)
	return &Browser{ctx}
}

// Stop stops the Chromium that Start started.
func Stop() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx != nil {
		shared.end()
	}
}

// unused are features of Chromium that only take time: spare processes, and pages of the address
// bar of each window.
const unused = "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess,PreloadTopChromeWebUI,WebUIOmniboxPopup,WebUIOmniboxAimPopup"

// launch starts a Chromium.
func launch(t testing.TB, path string) (ctx context.Context, end func()) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1440, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-features", unused))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	end = func() { cancel(); stop() }
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx, end
}

// Context returns the parent of chromedp contexts for new tabs.
func (b *Browser) Context() context.Context { return b.ctx }

// Tab is a page and its faults.
type Tab struct {
	acts Acts
	t    testing.TB
	ctx  context.Context

	Faults
}

// Open opens an address in a new tab. At the end of the test, every fault of the tab that Allow does not permit is an error.
func (b *Browser) Open(t testing.TB, url string) *Tab {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	t.Cleanup(end)
	p := &Tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Report(t) })
	Call(p, log.Enable, cdp.Empty{})
	// Tabs in the background get keys and frames too.
	Call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.Size(1440, 900)
	p.Go(url)
	return p
}

// hear records exceptions, console errors and failed requests of the page as faults.
// chromedp calls it on the goroutine of the connection.
func (p *Tab) hear(ev any) {
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		p.Add("threw: " + thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.Add("logged an error: " + said(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.Add(string(e.Entry.Source) + ": " + e.Entry.Text + " " + e.Entry.URL)
		}
	}
}

func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}

func said(args []*runtime.RemoteObject) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(a.Description + string(a.Value) + " ")
	}
	return b.String()
}

// Faults are what happened in a page and must not. Its methods are safe for concurrent use.
type Faults struct {
	mu            sync.Mutex
	list, allowed []string
}

// Add records a fault, as what the page did: "threw: …". Report reports it at the end of the test,
// because a page can fail between two steps.
func (f *Faults) Add(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, text)
}

// Allow permits faults that contain a text, such as the status of an error that the
// test provokes.
func (f *Faults) Allow(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.allowed = append(f.allowed, text)
}

// Report fails the test for each fault that is not allowed.
func (f *Faults) Report(t testing.TB) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range f.list {
		if !slices.ContainsFunc(f.allowed, func(text string) bool { return strings.Contains(fault, text) }) {
			t.Errorf("the page %s", fault)
		}
	}
}

// Call sends a command of the DevTools protocol.
func Call[P, R any](p *Tab, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, WaitTimeout)
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}
