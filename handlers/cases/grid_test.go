package cases_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// hidden returns the value of a hidden field of a page.
func hidden(a *webtest.Answer, name string) string {
	_, rest, _ := strings.Cut(a.Body, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestGrid_saves_all_rows_or_none(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	page := e.b.Get(e.path("/grid")).Is(http.StatusOK).Has("id\tname\tin.who\tin.count\tout.text", "greets\tgreets\tAda\t2\t")
	send := func(act, rows string) *webtest.Answer {
		t.Helper()
		return e.b.Post(e.path("/grid"), url.Values{"set": {hidden(page, "set")}, "act": {act}, "table": {"id\tname\tin.who\tin.count\tout.text\n" + rows}})
	}
	wrong := send("", "greets\tgreets\tAda\t1,5\tHello\n\tNew\t\"Grace\nHopper\"\t1.234,5\t\n\t\tx\n\tgreets\n").Is(http.StatusUnprocessableEntity)
	wrong.Has("Row 1, count: “1,5” has a comma. Write 1.5.", "Row 2, count: “1.234,5” has a comma. Write 1234.5.", "Row 3, Name: Enter a name.", "Row 4, Name: There is a case greets.", "Grace\nHopper")
	if f := e.file(); len(f.Cases) != 1 || f.Cases[0].Expected.Len() != 0 {
		t.Fatalf("stored %s", f.Encode())
	}
	rows := "greets\tGreets Ada\tAda\t2\tHello Ada, 2 times\n\tNew one\t\"Grace\nHopper\"\t-1.5\tHello\n\t\t\t\t\n"
	send("check", rows).Is(http.StatusUnprocessableEntity)
	if f := e.file(); len(f.Cases) != 1 {
		t.Fatalf("checking stored %s", f.Encode())
	}
	send("", rows).RedirectsTo(e.path(""))
	want := `{"schema":"sluice.tests/v1","cases":[{"id":"greets","name":"Greets Ada","inputs":{"who":"Ada","count":2},"expected":{"text":"Hello Ada, 2 times"},"checks":[{"output":"text","equals":"Hello Ada, 2 times"}]},` +
		`{"id":"new-one","name":"New one","inputs":{"who":"Grace\nHopper","count":-1.5},"expected":{"text":"Hello"},"checks":[{"expected":true}]}]}`
	if got := string(e.file().Encode()); got != want {
		t.Errorf("stored %s", got)
	}
	e.b.Get(e.path("")).Has("1 new, 1 changed")
	send("", "greets\tOther\n").Is(http.StatusUnprocessableEntity).Has("The cases were changed meanwhile.")
	e.b.Post(e.path("/grid"), url.Values{"table": {"id\tname\nx"}}).Is(http.StatusUnprocessableEntity).Has("The first row must be: id, name, in.who, in.count, out.text.")
	e.As(flow.MemberViewer).Get(e.path("/grid")).Is(http.StatusForbidden)
}

func TestGrid_keeps_what_no_cell_can_show(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.send(e.path("/new"), map[string]string{"name": "typed", "tags": "must", "in.who": "", "in.count": "many", "checks": "1", "check.0.kind": "status", "check.0.value": "failed", "notes": "Wrong on purpose."}).Is(http.StatusSeeOther)
	before := string(e.file().Encode())
	page := e.b.Get(e.path("/grid")).Has("typed\ttyped\t\t&#34;&#34;&#34;many&#34;&#34;&#34;\t")
	rows := "id\tname\tin.who\tin.count\tout.text\ntyped\ttyped\t\t\"\"\"many\"\"\"\t\n"
	e.b.Post(e.path("/grid"), url.Values{"set": {hidden(page, "set")}, "table": {rows}}).RedirectsTo(e.path(""))
	if after := string(e.file().Encode()); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

// TestGrid_is_edited_pasted_and_saved_with_the_keyboard fills in a grid as in a spreadsheet.
func TestGrid_is_edited_pasted_and_saved_with_the_keyboard(t *testing.T) {
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path("/grid"))
	p.Until(`document.querySelectorAll("#case-grid tbody tr").length === 4`)
	cell := func(row, column string) string {
		return `document.querySelector("#case-grid tbody tr:nth-child(` + row + `) td:nth-of-type(` + column + `)")`
	}
	paste := func(text string) {
		t.Helper()
		p.Eval(`{const d = new DataTransfer(); d.setData("text/plain", ` + string(flow.EncodeJSON(text)) + `); document.activeElement.dispatchEvent(new ClipboardEvent("paste", {clipboardData: d, bubbles: true, cancelable: true}))}`)
	}
	p.Eval(cell("1", "2") + `.focus()`)
	p.Keys(kb.F2 + " Lovelace" + kb.Enter)
	p.Until(cell("1", "2") + `.textContent === "Ada Lovelace" && document.activeElement === ` + cell("2", "2"))
	p.Keys(kb.ArrowLeft)
	p.Until(`document.activeElement === ` + cell("2", "1"))
	paste("Name\tcount\twho\nfirst\t1,5\t\"two\nlines\"\nsecond\t2\t😀\n")
	p.Until(cell("3", "2") + `.textContent === "😀" && ` + cell("2", "2") + `.textContent === "two\nlines"`)
	p.Has("#grid-errors", "Row 2, count: “1,5” has a comma. Write 1.5.")
	p.Until(cell("2", "3") + `.getAttribute("aria-invalid") === "true"`)
	p.Shot("grid-errors")
	p.Eval(cell("2", "3") + `.focus()`)
	p.Eval(`document.querySelector("#grid-errors button").click()`)
	p.Keys(kb.Delete + kb.F2 + "1.5" + kb.Enter)
	p.Has("#grid-status", "2 new, 1 changed. Not saved yet.")
	p.Eval(cell("3", "4") + `.dispatchEvent(new MouseEvent("mousedown", {bubbles: true, cancelable: true}))`)
	paste("a\tb\n")
	p.Has("#grid-status", "Nothing was pasted: the rows have 2 cells, and there is room for 1.")
	paste("gone")
	p.Until(cell("3", "4") + `.textContent === "gone"`)
	p.Click("#grid-undo")
	p.Until(cell("3", "4") + `.textContent === ""`)
	p.Eval(cell("3", "4") + `.dispatchEvent(new MouseEvent("mousedown", {bubbles: true, cancelable: true}))`)
	paste("=1+1") // it is copied as text for spreadsheets, and pasted again as it was
	p.Until(`(() => {const d = new DataTransfer(); document.activeElement.dispatchEvent(new ClipboardEvent("copy", {clipboardData: d, bubbles: true, cancelable: true})); return d.getData("text/plain") === "'=1+1\n"})()`)
	paste("'=1+1\n")
	p.Until(cell("3", "4") + `.textContent === "=1+1"`)
	p.Click("#grid-undo")
	p.Click("#grid-undo")
	p.Until(cell("3", "4") + `.textContent === ""`)
	if n := len(e.file().Cases); n != 1 {
		t.Fatalf("%d cases are stored before saving", n)
	}
	p.Shot("grid")
	p.Theme("dark")
	p.Shot("grid-dark")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("grid-phone")
	p.Click(".grid-form .btn.primary")
	p.Has("#tests", "second")
	f := e.file()
	if k := f.Find("first"); len(f.Cases) != 3 || k == nil || string(flow.EncodeJSON(k.Inputs)) != `{"who":"two\nlines","count":1.5}` || f.Find("greets").Inputs.Get("who") != "Ada Lovelace" {
		t.Errorf("stored %s", f.Encode())
	}
}
