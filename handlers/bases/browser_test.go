package bases_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestNewcomer_adds_documents_and_searches_them makes a base, chooses files and asks, with mouse and keyboard, and looks at it on a phone.
func TestNewcomer_adds_documents_and_searches_them(t *testing.T) {
	h := webtest.Setup(t)
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/knowledge")
	p.Click(".empty .btn.primary")
	p.Type("#field-name", "Help center")
	p.Click(".base-form .btn.primary")
	p.Has("#documents", "No documents yet.")
	choose := func(name, text string) string {
		return `{ const files = new DataTransfer(), field = document.getElementById("files");
			files.items.add(new File([` + string(flow.EncodeJSON(text)) + `], "` + name + `", {type: "text/markdown"}));
			field.files = files.files;
			field.dispatchEvent(new Event("change", {bubbles: true})); }`
	}
	p.Eval(choose("refunds.md", refunds))
	p.Until(`document.querySelectorAll("#documents [data-state=succeeded]").length === 1`)
	// A file that was chosen before the scripts of the page were loaded is sent too.
	p.Early(`if (location.hash === "#early") ` + choose("shipping.md", "# Shipping\n\nParcels arrive within a week."))
	p.Eval(`location.hash = "early"; location.reload()`)
	p.Until(`document.querySelectorAll("#documents [data-state=succeeded]").length === 2 && document.querySelector("#documents [data-hx-get]") === null`)
	p.Until(`document.querySelector("#base-facts dd").textContent === "2"`)
	p.Shot("base")
	p.Click("[name=q]")
	p.Keys("how long does a refund take" + kb.Enter)
	p.Has(".hits", "five working days")
	p.Until(`document.querySelector(".hits mark") !== null`)
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("base-phone")
	p.Click(".missing summary")
	p.Type("[name=expect]", "shipping")
	p.Keys(kb.Enter)
	p.Has(".expected", "Shipping")
	p.Theme("dark")
	p.Size(1440, 900)
	p.Shot("base-dark")
}

// TestPages_hold_long_names opens the pages of a base whose name and document are long, without a space, in Hebrew and
// with emoji. None scrolls sideways.
func TestPages_hold_long_names(t *testing.T) {
	t.Parallel()
	e := setup(t)
	long := strings.Repeat("Unbroken", 11) + "שלום עולם 🚀👩‍👩‍👧"
	e.b.Post("/knowledge", url.Values{"name": {long}, "slug": {strings.Repeat("b", 48)}, "description": {long}}).RedirectsTo("/knowledge/" + strings.Repeat("b", 48))
	e.b.SendForm("/knowledge/"+strings.Repeat("b", 48)+"/documents", nil, map[string]webtest.FormFile{"file": {Name: long + ".md", MIME: "text/markdown", Content: []byte("# " + long + "\n\n" + long)}}).RedirectsTo("/knowledge/" + strings.Repeat("b", 48))
	p := e.Open(chrome.Start(t), flow.MemberEditor, "/knowledge")
	for _, width := range []int64{375, 1440} {
		p.Size(width, 900)
		for _, path := range []string{"/knowledge", "/knowledge/" + strings.Repeat("b", 48), "/knowledge/" + strings.Repeat("b", 48) + "?q=Unbroken", "/knowledge/" + strings.Repeat("b", 48) + "/settings"} {
			p.Go(e.Http.URL + path)
			p.Until(`document.readyState === "complete"`)
			p.Shot("long-base-" + strconv.Itoa(int(width)))
			if wide := chrome.Value[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				t.Errorf("%s is %d px wider than %d px", path, wide, width)
			}
		}
	}
}
