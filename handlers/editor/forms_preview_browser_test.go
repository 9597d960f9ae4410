package editor_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestFormPreview types the texts of a form beside its picture on a phone.
func TestFormPreview(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(`{"schema":"sluice.flow/v1","name":"Answer letters","description":"Answers a letter.","nodes":[
	{"id":"letter","kind":"input","position":{"x":0,"y":0},"config":{"name":"the_letter","type":"text","example":"Dear Sam"}},
	{"id":"tone","kind":"input","label":"Tone","position":{"x":0,"y":200},"config":{"name":"tone","type":"text","enum":["friendly","formal"]}},
	{"id":"out","kind":"output","position":{"x":300,"y":0},"config":{"name":"out"}}],"edges":[{"from":"letter.value","to":"out.value"}]}`)
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/flows/"+id+"/form")
	for _, text := range []string{"Answer letters", "Answers a letter.", "The letter", "Dear Sam", "Tone", "friendly", "formal", "Run"} {
		p.Has("#form-preview", text)
	}
	p.Type("#field-title", "Write to us")
	p.Type("#field-intro", "We answer within a day.")
	p.Type("#field-button", "Send")
	p.Until(`document.querySelector("#form-preview").innerText.startsWith("Write to us\nWe answer within a day.\nThe letter")`)
	p.Until(`document.querySelector("#form-preview .press").innerText === "Send" && !document.querySelector("#form-preview").innerText.includes("Answers a letter.")`)
	p.Eval(`(() => { const f = document.querySelector("#field-title"); f.value = " "; f.dispatchEvent(new Event("input", { bubbles: true })); })()`)
	p.Has("#form-preview", "Answer letters")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= 375`)
}
