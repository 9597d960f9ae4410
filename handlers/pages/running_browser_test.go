package pages

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	devnet "github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"sluice/e2e/need"
	"sluice/flow"
)

// tab is a page in a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// patience bounds what a page is waited for; a loaded machine needs seconds.
const patience = 30 * time.Second

// chromium opens a page in a tab that is signed in as the browser is.
func (b *browser) chromium(path string) *tab {
	b.t.Helper()
	program, err := exec.LookPath("chromium")
	need.Tool(b.t, "no Chromium is installed", err == nil)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1440, 900), chromedp.Flag("disable-quic", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	b.t.Cleanup(func() { end(); stop() })
	p := &tab{b.t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		b.t.Fatalf("start %s: %v", program, err)
	}
	base, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(base) {
		command(p, devnet.SetCookie, devnet.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.base})
	}
	p.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(b.base+path))
	return p
}

// command sends one command of the protocol.
func command[P, R any](p *tab, cmd cdp.Command[P, R], params P) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, cmd, params); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval carries a statement out in the page.
func (p *tab) eval(js string) { p.t.Helper(); p.do(chromedp.Evaluate[chromedp.Void](js)) }

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// until waits for a condition of the page.
func (p *tab) until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](js, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience-time.Second))); err != nil {
		p.look("failed")
		p.t.Fatalf("waited for %s: %v", js, err)
	}
}

// look takes a picture where SLUICE_PICTURES says, for people to see.
func (p *tab) look(name string) {
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

// ticketRouting routes a ticket, as the starter does.
const ticketRouting = `{"schema":"sluice.flow/v1","name":"Route a support ticket","nodes":[
 {"id":"ticket","kind":"input","position":{"x":0,"y":20},"config":{"name":"ticket","type":"text","example":"I was charged twice for October and need the second payment back. This is urgent."}},
 {"id":"team","kind":"classify","label":"Which team","position":{"x":300,"y":0},"config":{"labels":["billing","technical","legal"]}},
 {"id":"words","kind":"template","label":"Write a reply","position":{"x":300,"y":260},"config":{"template":"Thanks for letting us know.\nYou wrote:\n\n{{ticket}}\n\nWe look into it."}},
 {"id":"legal","kind":"condition","label":"Needs a person?","position":{"x":600,"y":120},"config":{"expression":"value == \"legal\""}},
 {"id":"ask","kind":"template","label":"Tell legal","position":{"x":900,"y":0},"config":{"template":"{{value}}"}},
 {"id":"reply","kind":"output","position":{"x":600,"y":320},"config":{"name":"reply"}},
 {"id":"out","kind":"output","position":{"x":900,"y":200},"config":{"name":"team"}}],
 "edges":[{"from":"ticket.value","to":"team.text"},{"from":"ticket.value","to":"words.ticket"},{"from":"team.label","to":"legal.value"},
 {"from":"legal.true","to":"ask.value"},{"from":"words.text","to":"reply.value"},{"from":"legal.false","to":"out.value"}]}`

func TestRunInTheBuilder(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(ticketRouting)
	p := b.chromium("/flows/" + id)
	p.until(`document.querySelector("#canvas[ready]") !== null`)

	p.click("#run-button")
	p.until(`document.querySelector("#run-dialog").open`)
	p.eval(`document.querySelector("#run-form").requestSubmit()`)
	p.until(`document.querySelector("#run-dialog [aria-invalid]") !== null`)
	p.look("run-missing")
	p.click("[data-fill-examples]")
	p.eval(`document.querySelector("#run-form").requestSubmit()`)
	p.until(`document.querySelector(".run-bar")?.dataset.state === "succeeded"`)
	p.until(`document.querySelector("#node-team").dataset.state === "succeeded" && document.querySelector("#node-ask").dataset.state === "skipped"`)
	p.until(`document.querySelector("#node-team meter") && document.querySelector("#node-reply .said-text").textContent.includes("charged twice")`)
	p.until(`document.querySelector("#node-team .node-badge").textContent.includes("ms")`)
	p.wantLate()

	p.eval(`document.querySelector("#canvas").selection.set(["reply"]); document.querySelector("#drawer-fold").click(); document.querySelector("#tab-data").click()`)
	p.until(`document.querySelector("#node-data .values")?.textContent.includes("charged twice")`)
	p.click("#tab-runs")
	p.until(`document.querySelector("#flow-runs [data-replay]") !== null`)
	p.look("run-done")

	p.do(chromedp.Reload())
	p.until(`document.querySelector("#node-team")?.dataset.state === "succeeded" && document.querySelector(".run-bar") !== null`)
	p.eval(`window.before = document.querySelector(".run-bar").dataset.run; document.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true}))`)
	p.until(`document.querySelector(".run-bar") && document.querySelector(".run-bar").dataset.run !== window.before && document.querySelector(".run-bar").dataset.state === "succeeded"`)
	p.eval(`document.querySelector("#canvas").selection.set(["words"]); document.activeElement.blur(); document.dispatchEvent(new KeyboardEvent("keydown", {key: "p", bubbles: true}))`)
	p.until(`document.querySelector("#node-words [data-pinned]") !== null`)
	p.look("run-pinned")
	if os.Getenv("SLUICE_PICTURES") == "" {
		return
	}
	command(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	p.look("run-dark")
	p.do(chromedp.EmulateViewport(375, 760), chromedp.Sleep(500*time.Millisecond))
	p.look("run-phone")
}

// wantLate measures how long after its record a step was on the canvas.
func (p *tab) wantLate() {
	p.t.Helper()
	p.until(`performance.getEntriesByName("run:painted").length > 0`)
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
