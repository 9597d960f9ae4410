package e2e

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"sluice/e2e/chrome"
)

// newcomerLimit is how long somebody without an account elsewhere may need from the list of flows to the first answer.
const newcomerLimit = 2 * time.Minute

// TestNewcomer_asks_own_documents takes the template for documents by mouse, drops three PDFs, publishes the flow, and asks in its form. The answer quotes
// a sentence with a footnote that names its file and page.
func TestNewcomer_asks_own_documents(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	tab := d.signIn(t, ownerEmail, "/flows")
	began := time.Now()

	tab.Go(d.base() + "/flows/templates")
	tab.Click(`button[value="answer-from-our-documents"]`)
	tab.Has("#documents", "No documents yet.")
	var files [][2]string
	for name, pages := range map[string][]string{
		"returns.pdf":  {"Returns are free for thirty days after the parcel has arrived.", "A refund takes five working days after we receive the parcel."},
		"shipping.pdf": {"Parcels leave our warehouse within two days.", "Large parcels are delivered by a carrier on weekdays."},
		"warranty.pdf": {"The warranty covers two years.", "Batteries are excluded from the warranty."},
	} {
		files = append(files, [2]string{name, base64.StdEncoding.EncodeToString(pdfOf(pages...))})
	}
	tab.Eval(`const dropped = new DataTransfer();
for (const [name, data] of ` + string(must1(json.Marshal(files))) + `) dropped.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name, {type: "application/pdf"}));
document.getElementById("files").files = dropped.files;
document.getElementById("files").dispatchEvent(new Event("change", {bubbles: true}))`)
	tab.Until(`document.querySelectorAll("#documents [data-state=succeeded]").length === 3`)
	tab.Shot("newcomer-documents")

	tab.Click(".base-flows a")
	tab.There("flow-canvas[ready]")
	tab.Click("#publish-button")
	tab.There("#publish-dialog[open] form")
	tab.Click(`#publish-dialog form button:is([type=submit], :not([type]))`)
	tab.Has("#publish-dialog", "v1 is live")
	tab.Click(`#publish-dialog a[href$="/form"]`)
	tab.Click("#field-on")
	tab.Click("#form-settings .btn.primary")
	tab.There(`.head a[target="_blank"]`)
	tab.Go(chrome.Value[string](tab, `document.querySelector('.head a[target="_blank"]').href`)) // it opens in another tab
	tab.Type(`[name="in.question"]`, "How long does a refund take?")
	tab.Click("#ask [type=submit]")
	tab.Has(`[data-output="answer"]`, "A refund takes five working days after we receive the parcel.")
	tab.There(`[data-output="answer"] sup.cite`)
	tab.Has(`[data-output="answer"] .footnotes`, "page 2")
	tab.Has(`[data-output="answer"] .footnotes`, "returns")
	took := time.Since(began)
	tab.Shot("newcomer-answer")
	t.Logf("the newcomer had an answer after %.1f s", took.Seconds())
	if took > newcomerLimit {
		t.Errorf("the answer took %s, more than %s", took, newcomerLimit)
	}
}
