package editor_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	devnet "github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"sluice/e2e/need"
	"sluice/handlers/webtest"
)

// runTab is a page in a real browser.
type runTab struct {
	t   *testing.T
	ctx context.Context
}

// oneChromium serializes the browsers, so that they do not distort measurements.
var oneChromium sync.Mutex

// runPatience bounds each wait for a page; a loaded machine needs seconds.
const runPatience = 2 * time.Minute

// runChromium opens a page in a tab that is signed in as the browser is.
func runChromium(b *webtest.Browser, path string) *runTab {
	b.T.Helper()
	program, err := exec.LookPath("chromium")
	need.Tool(b.T, "no Chromium is installed", err == nil)
	oneChromium.Lock()
	b.T.Cleanup(oneChromium.Unlock)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1440, 900), chromedp.Flag("disable-quic", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	b.T.Cleanup(func() { end(); stop() })
	p := &runTab{b.T, ctx}
	if err := chromedp.Do(ctx); err != nil {
		b.T.Fatalf("start %s: %v", program, err)
	}
	base, err := url.Parse(b.Base)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, c := range b.Client.Jar.Cookies(base) {
		runCommand(p, devnet.SetCookie, devnet.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.Base})
	}
	p.Do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(b.Base+path))
	return p
}

// runCommand sends one command of the protocol.
func runCommand[P, R any](p *runTab, cmd cdp.Command[P, R], params P) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, runPatience)
	defer cancel()
	if _, err := chromedp.Call(ctx, cmd, params); err != nil {
		p.t.Fatal(err)
	}
}

func (p *runTab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, runPatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Eval executes a statement in the page.
func (p *runTab) Eval(js string) { p.t.Helper(); p.Do(chromedp.Evaluate[chromedp.Void](js)) }

func (p *runTab) Click(selector string) {
	p.t.Helper()
	p.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Until waits for a condition of the page.
func (p *runTab) Until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, runPatience)
	defer cancel()
	if err := webtest.Poll(ctx, js, runPatience-time.Second); err != nil {
		p.Look("failed")
		p.t.Fatalf("waited for %s: %v", js, err)
	}
}

// Look saves a screenshot to the directory in SLUICE_PICTURES, for manual review.
func (p *runTab) Look(name string) {
	p.t.Helper()
	dir := os.Getenv("SLUICE_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// WantLate measures the delay between the record of a step and its display.
func (p *runTab) WantLate() {
	p.t.Helper()
	p.Until(`performance.getEntriesByName("run:painted").length > 0`)
	late, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]float64](`performance.getEntriesByName("run:painted").map((m) => m.detail.late)`))
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(late)
	p95 := late[len(late)*95/100]
	p.t.Logf("%d steps on the canvas, p95 %.0f ms after their record", len(late), p95)
	if p95 > 2000 { // the promise is 150; a machine that is busy with other tests takes longer
		p.t.Errorf("p95 is %.0f ms", p95)
	}
}
