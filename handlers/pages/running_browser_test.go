package pages

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	devnet "github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"sluice/e2e/need"
	"sluice/flow"
)

// runTab is a page in a real browser.
type runTab struct {
	t   *testing.T
	ctx context.Context
}

// oneChromium lets one browser run at a time: what it measures is its own.
var oneChromium sync.Mutex

// runPatience bounds what a page is waited for; a loaded machine needs seconds.
const runPatience = 30 * time.Second

// runChromium opens a page in a tab that is signed in as the browser is.
func (b *browser) runChromium(path string) *runTab {
	b.t.Helper()
	program, err := exec.LookPath("chromium")
	need.Tool(b.t, "no Chromium is installed", err == nil)
	oneChromium.Lock()
	b.t.Cleanup(oneChromium.Unlock)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1440, 900), chromedp.Flag("disable-quic", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	b.t.Cleanup(func() { end(); stop() })
	p := &runTab{b.t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		b.t.Fatalf("start %s: %v", program, err)
	}
	base, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(base) {
		runCommand(p, devnet.SetCookie, devnet.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.base})
	}
	p.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(b.base+path))
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

func (p *runTab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, runPatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval carries a statement out in the page.
func (p *runTab) eval(js string) { p.t.Helper(); p.do(chromedp.Evaluate[chromedp.Void](js)) }

func (p *runTab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// until waits for a condition of the page.
func (p *runTab) until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, runPatience)
	defer cancel()
	if err := poll(ctx, js, runPatience-time.Second); err != nil {
		p.look("failed")
		p.t.Fatalf("waited for %s: %v", js, err)
	}
}

// look takes a picture where SLUICE_PICTURES says, for people to see.
func (p *runTab) look(name string) {
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
	p := b.runChromium("/flows/" + id)
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
	runCommand(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	p.look("run-dark")
	p.do(chromedp.EmulateViewport(375, 760), chromedp.Sleep(500*time.Millisecond))
	p.look("run-phone")
}

// A failure is gone to, and says what to do; text of a step stands in its node
// as it comes; a large value unfolds when it is opened.
func TestRunFailsInTheBuilder(t *testing.T) {
	t.Parallel()
	h := setup(t, func(c *Config) { c.Runner = &talking{Runner: c.Runner} })
	b := h.as(flow.MemberEditor)
	id, let := h.waiting()
	p := b.runChromium("/flows/" + id)
	p.until(`document.querySelector("#canvas[ready]") !== null`)
	p.eval(`document.querySelector("#run-button").click()`)
	p.until(`document.querySelector("#node-get .said-text .caret") !== null && document.querySelector("#node-get .said-text").textContent.includes("Thanks for")`)
	p.until(`document.querySelector("#node-get").dataset.state === "running" && document.querySelector(".run-bar [data-command=stop]") !== null`)
	p.look("run-streams")
	let <- http.StatusTeapot
	p.until(`document.querySelector("#node-get .said-error") !== null && document.querySelector(".run-bar").dataset.state === "failed"`)
	p.until(`document.querySelector("#canvas").selection.nodes.has("get") && document.querySelector("#node-data .note.bad") !== null`)
	p.until(`document.querySelector("#live").textContent.startsWith("The run has failed")`)
	p.look("run-failed")

	p.eval(`document.querySelector(".run-bar [data-command=rerun]").click()`)
	p.until(`document.querySelector(".run-bar [data-command=stop]") !== null`)
	p.eval(`document.querySelector(".run-bar [data-command=stop]").click()`)
	p.until(`document.querySelector(".run-bar").dataset.state === "canceled"`)
	p.eval(`document.querySelector(".run-bar [data-command=leave-run]").click()`)
	p.until(`document.querySelector(".run-bar") === null && !document.querySelector("#node-get").dataset.state`)
}

func TestLargeValueUnfolds(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	id := h.flow(`{"schema":"sluice.flow/v1","name":"Big","nodes":[{"id":"in","kind":"input","config":{"name":"in","type":"json"}},{"id":"out","kind":"output","config":{"name":"out"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
	run := h.ran(b, id, url.Values{"filled": {"1"}, "in.in": {`{"deep":{"notes":"` + strings.Repeat("x", 9000) + `","word":"found"},"small":[1,[2]]}`}})
	p := b.runChromium("/flows/" + id + "?run=" + run.ID)
	p.until(`document.querySelector("#node-out")?.dataset.state === "succeeded"`)
	p.eval(`document.querySelector("#canvas").selection.set(["out"]); document.querySelector("#drawer-fold").click(); document.querySelector("#tab-data").click()`)
	p.until(`document.querySelector("#node-data .tree .later") !== null && !document.querySelector("#node-data").textContent.includes("found")`)
	p.eval(`document.querySelector("#node-data .tree details:has(> .later)").open = true`)
	p.until(`document.querySelector("#node-data .tree").textContent.includes("found")`)
	p.look("run-tree")
}

// talking is a runner whose steps say something while they work.
type talking struct{ Runner }

func (r *talking) WatchText(runID string) flow.Watch {
	w, texts, said := r.Runner.WatchText(runID), make(chan struct{}, 1), false
	texts <- struct{}{}
	w.Texts = texts
	w.Read = func(ready func(string, int) bool) []flow.Delta {
		if said || !ready("get", 1) {
			return nil
		}
		said = true
		return []flow.Delta{{Path: "get", Attempt: 1, Text: "Thanks for letting us know, and sorry about the double charge. I have asked our billing team to"}}
	}
	return w
}

// wantLate measures how long after its record a step was on the canvas.
func (p *runTab) wantLate() {
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
