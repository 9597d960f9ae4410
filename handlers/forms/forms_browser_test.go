package forms_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestForm_on_phone submits the form on a phone; the result appears automatically, without
// reloading the page.
func TestForm_on_phone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, gate := h.SlowForm()
	every := h.FormOf(everyInput)
	p := h.Anonymous().Tab(webtest.Chromium(t), 375, 700)
	p.Open("/f/" + every)
	p.Want(`document.documentElement.scrollWidth`, "375")
	p.Do(chromedp.Evaluate[chromedp.Void](`const j = document.querySelector("[data-json]"); j.value = '{"a": '; j.dispatchEvent(new Event("change", { bubbles: true }))`))
	p.Until(`document.querySelector("#in-extra-error")?.textContent.includes("not valid JSON") && !document.querySelector("#ask").checkValidity()`)

	p.Open("/f/" + id)
	p.Click(`button[type="submit"]`)
	p.Eventually(`document.querySelector(".form-state .much")?.textContent.includes("of 2 steps") && document.querySelector("[data-state]").dataset.state === "running"`)
	p.Do(chromedp.Evaluate[chromedp.Void](`window.stays = true`))
	gate <- http.StatusOK
	p.Until(`document.querySelector("[data-state]").dataset.state === "succeeded" && document.querySelector("#output-o").textContent.trim() === "done"`)
	p.Until(`document.querySelector("#live").textContent === "Done"`)
	p.Want(`[window.stays, document.documentElement.scrollWidth]`, `[true,375]`)

	p.Open("/f/" + id)
	p.Click(`button[type="submit"]`)
	p.Eventually(`(window.button ??= document.querySelector(".form-state ~ .bar button")) && document.querySelector("[data-state]").dataset.state === "running"`)
	p.Want(`window.button.isConnected`, "true") // a press on it at this moment is not lost
	p.Click(`.bar button`)
	p.Eventually(`document.querySelector(".note")?.textContent.includes("The run was canceled.")`)
}

// Without scripts, the page of a result reloads itself until the run has ended.
func TestForm_result_reloads_without_scripts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, gate := h.SlowForm()
	p := h.Anonymous().Tab(webtest.Chromium(t), 375, 700)
	p.DisableScripts()
	p.Open("/f/" + id)
	p.Click(`button[type="submit"]`)
	p.Eventually(`document.querySelector(".form-state .much")?.textContent.includes("of 2 steps")`)
	gate <- http.StatusOK
	p.Eventually(`document.querySelector("#output-o")?.textContent.trim() === "done"`)
}

// A form in a frame of another site can be submitted, because the frame has our
// origin.
func TestForm_in_frame_of_another_site(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, gate := h.SlowForm()
	gate <- http.StatusOK
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,"><iframe src=%q width="700" height="600" onload="this.dataset.loaded=1"></iframe>`, h.Http.URL+"/f/"+id)
	}))
	t.Cleanup(elsewhere.Close)
	f, err := h.Store.FindForm(t.Context(), flow.FlowID(id))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1) // another site to browsers
	f.Origins = []string{other}
	if err := h.Store.SaveForm(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	p := h.Anonymous().Tab(webtest.Chromium(t), 800, 700)
	p.Do(chromedp.Navigate(other))
	p.Until(`document.querySelector("iframe").dataset.loaded === "1"`)
	for end := time.Now().Add(webtest.BrowserPatience); countRuns(h, id) == 0 && time.Now().Before(end); {
		at := webtest.Point{X: 350, Y: 165} // the button, below one line of title
		p.Mouse(input.DispatchMouseEventTypeMousePressed, at)
		p.Mouse(input.DispatchMouseEventTypeMouseReleased, at)
	}
	if run := lastRun(h, id); run.Trigger != flow.TriggerForm {
		t.Errorf("run %+v", run)
	}
}
