package console_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestKeysInABrowser creates a key with one click, copies its secret, finds it no longer
// shown after returning, and revokes the key.
func TestKeysInABrowser(t *testing.T) {
	h := webtest.Setup(t)
	path := "/flows/" + h.Flow(webtest.PublishGreeting) + "/keys"
	p := h.Open(chrome.Start(t), flow.MemberEditor, path)
	p.Has("#flow-keys", "No key can call this flow yet")
	p.Eval(`document.addEventListener("key:made", (e) => { document.body.dataset.made = e.detail.text; })`)
	p.Click("#flow-keys .headline button")
	p.Has("#flow-keys .once-key", "Copy this key now. It is only shown once.")
	p.Until(`document.querySelector("[data-new-key]").textContent === document.body.dataset.made && /^slu_[0-9A-Za-z]{36}$/.test(document.body.dataset.made)`)
	p.Until(`document.querySelectorAll(".key-list > li").length === 1 && !document.querySelector(".key-list").textContent.includes(document.body.dataset.made)`)
	p.Eval(`navigator.clipboard.writeText = async (text) => { document.body.dataset.copied = text; }`)
	p.Click("#flow-keys .once-key .copy")
	p.Until(`document.body.dataset.copied === document.body.dataset.made`)
	p.Shot("flow-key-made")

	p.Go(h.Http.URL + "/flows")
	p.Eval(`setTimeout(() => history.back())`)
	p.Until(`location.pathname === "` + path + `"`)
	p.Has("#flow-keys .key-list", "Key 1")
	p.Until(`!/slu_[0-9A-Za-z]{36}/.test(document.documentElement.outerHTML)`)

	p.Go(h.Http.URL + path)
	p.Click(".key-list summary")
	p.Click(".key-list .btn.danger")
	p.Has("dialog[open]", "It has never been used.")
	p.Shot("flow-key-revoke")
	p.Click("dialog[open] .btn.danger")
	p.Has("#flow-keys", "No key can call this flow yet")
	p.Has("#toasts", "was revoked")
}
