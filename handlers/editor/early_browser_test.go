package editor_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestEarlyPress_waits_for_scripts presses controls that only scripts answer while the script of the
// page is held back. The press is answered when it arrives, and once.
func TestEarlyPress_waits_for_scripts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, press, answered string }{
		"a tab of the builder":    {"/flows/FLOW", "#tab-runs", `document.querySelector("#tab-runs").ariaSelected === "true" && document.querySelector("#pane-runs").checkVisibility()`},
		"a command of the canvas": {"/flows/FLOW", "[data-command=zoom-out]", `Math.abs(document.querySelector("flow-canvas").view?.transform[2] - 1 / 1.2) < 0.01`},
		"a tab of a sample":       {"/docs/webhooks", ".docs-text [role=tab][aria-selected=false]", `document.querySelectorAll(".docs-text [role=tab]")[1].ariaSelected === "true"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := webtest.Setup(t)
			path := strings.Replace(c.path, "FLOW", h.Flow(greeting), 1)
			p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900)
			release := holdScript(h, "/assets/app-")
			webtest.Send(p, page.Navigate, page.NavigateParams{URL: h.Http.URL + path})
			p.Until(`document.querySelector('` + c.press + `')`)
			p.Click(c.press)
			p.Until(`!document.querySelector("flow-canvas[ready]")`)
			release()
			p.Until(c.answered)
		})
	}
}

// holdScript holds back scripts whose path begins with a prefix until it is released, or the test ends.
func holdScript(h *webtest.Env, prefix string) (release func()) {
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	h.T.Cleanup(release)
	next := h.Http.Config.Handler
	h.Http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, prefix) && strings.HasSuffix(r.URL.Path, ".js") {
			<-held
		}
		next.ServeHTTP(w, r)
	})
	return release
}
