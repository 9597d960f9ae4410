package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"sluice/flow"
)

// arrives waits for a condition of a page that may be the next one: what is asked
// while pages change is asked again.
func (p *tab) arrives(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	for ctx.Err() == nil {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+js+")")); err == nil && ok {
			return
		}
	}
	p.t.Fatalf("waited for %s", js)
}

// A phone fills the form in; the result comes by itself, with the page that was
// opened first and nothing loaded anew.
func TestFormInABrowser(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, gate := h.slowForm()
	every := h.formOf(everyInput)
	p := h.stranger().tab(chromium(t), 375, 700)
	p.open("/f/" + every)
	p.want(`document.documentElement.scrollWidth`, "375")
	p.do(chromedp.Evaluate[chromedp.Void](`const j = document.querySelector("[data-json]"); j.value = '{"a": '; j.dispatchEvent(new Event("change", { bubbles: true }))`))
	p.until(`document.querySelector("#in-extra-said")?.textContent.includes("not valid JSON") && !document.querySelector("#ask").checkValidity()`)

	p.open("/f/" + id)
	p.click(`button[type="submit"]`)
	p.arrives(`document.querySelector(".form-state .much")?.textContent.includes("of 2 steps") && document.querySelector("[data-state]").dataset.state === "running"`)
	p.do(chromedp.Evaluate[chromedp.Void](`window.stays = true`))
	gate <- http.StatusOK
	p.until(`document.querySelector("[data-state]").dataset.state === "succeeded" && document.querySelector("#output-o").textContent.trim() === "done"`)
	p.until(`document.querySelector("#live").textContent === "Done"`)
	p.want(`[window.stays, document.documentElement.scrollWidth]`, `[true,375]`)

	p.open("/f/" + id)
	p.click(`button[type="submit"]`)
	p.arrives(`(window.button ??= document.querySelector(".form-state ~ .bar button")) && document.querySelector("[data-state]").dataset.state === "running"`)
	p.want(`window.button.isConnected`, "true") // a press on it at this moment is not lost
	p.click(`.bar button`)
	p.arrives(`document.querySelector(".note")?.textContent.includes("This was canceled.")`)
}

// Without scripts the page of a result loads itself anew until it is there.
func TestFormInABrowserWithoutScripts(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, gate := h.slowForm()
	p := h.stranger().tab(chromium(t), 375, 700)
	send(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.open("/f/" + id)
	p.click(`button[type="submit"]`)
	p.arrives(`document.querySelector(".form-state .much")?.textContent.includes("of 2 steps")`)
	gate <- http.StatusOK
	p.arrives(`document.querySelector("#output-o")?.textContent.trim() === "done"`)
}

// A form inside a page of another site is sent from there, as the frame is of
// our own origin.
func TestFormInAFrame(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, gate := h.slowForm()
	gate <- http.StatusOK
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,"><iframe src=%q width="700" height="600" onload="this.dataset.loaded=1"></iframe>`, h.http.URL+"/f/"+id)
	}))
	t.Cleanup(elsewhere.Close)
	f, err := h.store.FindForm(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1) // another site to browsers
	f.Origins = []string{other}
	if err := h.store.SaveForm(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	p := h.stranger().tab(chromium(t), 800, 700)
	p.do(chromedp.Navigate(other))
	p.until(`document.querySelector("iframe").dataset.loaded === "1"`)
	for end := time.Now().Add(browserPatience); h.countRuns(id) == 0 && time.Now().Before(end); {
		at := spot{350, 165} // the button, below one line of title
		p.mouse(input.DispatchMouseEventTypeMousePressed, at)
		p.mouse(input.DispatchMouseEventTypeMouseReleased, at)
	}
	if run := h.lastRun(id); run.Trigger != flow.TriggerForm {
		t.Errorf("run %+v", run)
	}
}
