// Package chrome drives a real Chromium for tests. It owns how one is found,
// what a tab is asked to do, and that nothing goes wrong in it unseen: what a
// page throws, logs as an error or tries against its policy fails the test. It
// knows nothing of the pages.
package chrome

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"sluice/e2e/need"
)

// Patience bounds what a page is waited for; a loaded machine needs seconds.
const Patience = 2 * time.Minute

// Browser is one Chromium.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Path finds the Chromium of this machine, or leaves the test out.
func Path(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	need.Tool(t, "no Chromium is installed", false)
	return ""
}

// Start starts a Chromium that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := Path(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1440, 900))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() { end(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return &Browser{t, ctx}
}

// Tab is one page and what went wrong in it.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu      sync.Mutex
	faults  []string
	allowed []string
}

// Open opens an address in a new tab; tabs of one browser share cookies. At
// the end of the test every fault of the tab that was not allowed is an error.
func (b *Browser) Open(t testing.TB, url string) *Tab {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	t.Cleanup(end)
	p := &Tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.judge)
	Call(p, log.Enable, cdp.Empty{})
	// Tabs in the background get keys and frames too.
	Call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.Size(1440, 900)
	p.Go(url)
	return p
}

func (p *Tab) hear(ev any) {
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		p.fault("threw: " + thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.fault("logged an error: " + said(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.fault(string(e.Entry.Source) + ": " + e.Entry.Text + " " + e.Entry.URL)
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

func (p *Tab) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, text)
}

// Allow lets faults pass that contain the text, such as the status of an
// answer that the test asks for.
func (p *Tab) Allow(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, text)
}

func (p *Tab) judge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		fine := false
		for _, text := range p.allowed {
			fine = fine || strings.Contains(fault, text)
		}
		if !fine {
			p.t.Errorf("the page %s", fault)
		}
	}
}

// Call sends one command of the protocol.
func Call[P, R any](p *Tab, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}
