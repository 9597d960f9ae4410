package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"sluice/e2e/chrome"
	"sluice/e2e/need"
)

// TestAccessibleControl checks the pages of flow control with axe, in both themes, on a
// wide screen and on a phone: the run of a map during and after it, its canvas, an open
// and an answered question to a person, and the list of open questions.
func TestAccessibleControl(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	if raceEnabled {
		t.Skip("pages are the same under the race detector")
	}
	axe, err := os.ReadFile(filepath.Join(judges(t), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	up, hooks := newItemServer(t, 2, 17), newReceiver(t, nil)
	d := newDashboard(t)
	c := d.client(d.key())
	double := documentOf("Double", []object{input("n"), post("call", up.URL, object{"timeout_s": 3600}), output("double")}, "n.value > call.n", "call.body > out_double.value")
	mapped := d.publish(mapping(d.publish(double), nil)) // one item runs for as long as the pages are looked at
	ended := c.await(c.start(mapped, object{"list": numbers(60)}))
	up.set(func() { up.hold, up.held = make(chan struct{}), "40" })
	t.Cleanup(func() { close(up.hold) })
	running := c.start(mapped, object{"list": numbers(300)})
	ask := d.publish(approving(hooks.URL+"/ask", nil))
	first := c.start(ask, object{"draft": "Dear Ada,\n\nthank you for your patience."})
	open := c.start(ask, object{"draft": "Dear Grace, your parcel is on its way."})
	links := map[string]string{}
	for _, m := range hooks.await(t, "/ask", 2) {
		w := announced(t, m)
		link, err := url.Parse(w.Data.Link)
		if err != nil {
			t.Fatal(err)
		}
		links[w.Data.RunID] = link.Path
	}
	d.client(d.key("--scope", "approve")).want(200, "POST", first.path()+"/approvals/ask", object{"decision": "approved"})

	tab := d.signIn(t, ownerEmail, "/flows")
	look := func(width string) {
		for _, p := range []struct{ name, path, there string }{
			{"map-ended", "/runs/" + ended.ID + "?step=each", ".children .child-items"},
			{"map-running", "/runs/" + running.ID, ".run-outputs .pair"},
			{"map-item", "/runs/" + ended.ID + "?step=each%5B2%5D", "#step-name"},
			{"map-canvas", "/flows/" + mapped + "?run=" + running.ID, "flow-canvas[ready]"},
			{"approval", links[open.ID], "form"},
			{"approval-done", links[first.ID], "main"},
			{"approvals", "/approvals", "main table"},
		} {
			tab.Go(d.base() + p.path)
			tab.There(p.there)
			for _, theme := range []string{"light", "dark"} {
				tab.Theme(theme)
				tab.Shot(p.name + "-" + width + "-" + theme)
				for _, f := range violations(tab, string(axe)) {
					t.Errorf("%s, %s, in the %s theme: %s", p.name, width, theme, f)
				}
			}
			if wide := chrome.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				t.Errorf("%s, %s, is %d too wide", p.name, width, wide)
			}
		}
	}
	look("wide")
	tab.Phone()
	look("phone")
}
