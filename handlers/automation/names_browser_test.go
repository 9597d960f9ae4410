package automation_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestPages_hold_long_names opens the pages of triggers, batches and alarms of a flow whose names are long, without
// a space, in Hebrew and with emoji. None scrolls sideways, on a phone or on a wide screen.
func TestPages_hold_long_names(t *testing.T) {
	t.Parallel()
	const hebrew = "שלום עולם 🚀👩‍👩‍👧"
	long := strings.Repeat("Unbroken", 11) + hebrew
	input := "who_" + strings.Repeat("w", 60)
	e := setup(t, time.Time{})
	e.Replace(flow.FlowID(e.flow), strings.NewReplacer(`"Greet"`, `"`+long+`"`, `"name":"who"`, `"name":"`+input+`"`).Replace(webtest.Greeting))
	e.Publish(e.flow)
	value := func(form url.Values) url.Values {
		form.Del("source.who")
		form.Del("text.who")
		form.Set("source."+input, "value")
		form.Set("text."+input, long)
		return form
	}
	e.b.Post(e.path("/schedule"), value(dialog("name", strings.Repeat("long ", 12)))).RedirectsTo(e.path(""))
	e.b.Post("/alarms/new/failed", url.Values{"name": {strings.Repeat("a", 60)}, "flow": {e.flow}, "count": {"3"}, "to": {"https://hooks.example.com/" + strings.Repeat("p", 110)}}).RedirectsTo("/alarms/" + strings.Repeat("a", 60))
	mapping := e.upload(long+".csv", input+",times\n"+long+",1\n"+hebrew+",2\n")
	file := mapping[strings.Index(mapping, "file=")+5:]
	batch := e.b.Post("/flows/"+e.flow+"/batches", url.Values{"file": {file}, "column." + input: {input}, "column.count": {"times"}, "concurrency": {"2"}, "on_error": {"keep"}, "on_invalid": {"fail"}, "act": {"start"}}).Header.Get("Location")
	e.ended(batch)
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path(""))
	for _, width := range []int64{375, 1440} {
		p.Size(width, 900)
		for _, path := range []string{e.path(""), e.path("/" + e.only().ID), e.path("/schedule"), e.path("/webhook"), "/triggers", mapping, "/flows/" + e.flow + "/batches", batch, "/alarms", "/alarms/" + strings.Repeat("a", 60), "/alarms/new/failed?flow=" + e.flow} {
			p.Go(e.Http.URL + path)
			p.Until(`document.readyState === "complete"`)
			if wide := chrome.Value[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				p.Shot("wide")
				t.Errorf("%s is %d px wider than %d px", path, wide, width)
			}
		}
	}
}
