package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/e2e/chrome"
)

// hostile are names without a space to break at, from right to left, and of characters that are wider than others.
var hostile = []string{strings.Repeat("Unbroken", 15), strings.Repeat("ארוכה", 23), strings.Repeat("👩🏽‍🚒", 14) + strings.Repeat("W", 50)}

// colliding returns the texts that cover each other, leave the box that is drawn around them, or are drawn letter below letter.
const colliding = `(() => {
	const found = new Set(), texts = [], say = (e) => e.localName + "." + e.className + " " + e.textContent.trim().slice(0, 40);
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walker.nextNode());) {
		const e = n.parentElement;
		if (!n.data.trim() || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || e.closest("option, flow-canvas, svg, .visually-hidden, .skip, textarea")) continue;
		const range = document.createRange();
		range.selectNodeContents(n);
		let lines = [...range.getClientRects()].filter((r) => r.width > 1 && r.height > 1), loose = false;
		if (lines.length > 12 && Math.max(...lines.map((r) => r.width)) < 40) found.add("letter below letter: " + say(e));
		for (let a = e; a && a !== document.body; a = a.parentElement) {
			const style = getComputedStyle(a), box = a.getBoundingClientRect();
			if (style.position === "fixed" || style.position === "sticky" || style.clipPath !== "none") loose = true;
			const clips = style.overflowX !== "visible", drawn = parseFloat(style.borderTopWidth) && parseFloat(style.borderBottomWidth) && style.borderTopColor !== "rgba(0, 0, 0, 0)" || style.backgroundColor !== "rgba(0, 0, 0, 0)";
			if (style.display !== "inline" && drawn && !clips && a.localName !== "tr" && lines.some((r) => r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 3 || r.bottom > box.bottom + 3)) found.add("outside of its box: " + say(a));
			if (clips) lines = lines.map((r) => new DOMRect(Math.max(r.left, box.left), Math.max(r.top, box.top), Math.min(r.right, box.right) - Math.max(r.left, box.left), Math.min(r.bottom, box.bottom) - Math.max(r.top, box.top))).filter((r) => r.width > 1 && r.height > 1);
		}
		if (!loose) for (const r of lines) texts.push([r, e]);
	}
	texts.sort(([a], [b]) => a.top - b.top);
	for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length && texts[j][0].top < texts[i][0].bottom; j++) {
		const [[a, x], [b, y]] = [texts[i], texts[j]];
		if (x !== y && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 && Math.min(a.bottom, b.bottom) - b.top > Math.min(a.height, b.height) / 2) found.add(say(x) + " covers " + say(y));
	}
	return [...found];
})()`

// TestPages_fit_hostile_names gives the longest names in several scripts to everything that has one. No page is wider than its window, and no text
// covers another or leaves its box.
func TestPages_fit_hostile_names(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	paths := d.hostile()
	tab := d.signIn(t, ownerEmail, "/flows")
	tab.Allow("404")
	for _, width := range []int64{1440, 375} {
		if tab.Size(width, 900); width == 375 {
			tab.Phone()
		}
		for _, path := range paths {
			tab.Go(d.base() + path)
			tab.Until("document.readyState === 'complete' && !document.querySelector('flow-canvas:not([ready])')")
			if wide := chrome.Value[int](tab, "document.documentElement.scrollWidth"); wide > int(width) {
				t.Errorf("%s is %d wide in a window of %d", path, wide, width)
			}
			for _, text := range chrome.Value[[]string](tab, misworded) {
				t.Errorf("%s says %q", path, text)
			}
			for _, f := range chrome.Value[[]string](tab, colliding) {
				t.Errorf("%s in a window of %d: %s", path, width, f)
			}
		}
	}
}

// TestPages_say_what_happens_and_end: the list of deliveries says that refused ones are sent again, and the list of models ends before it is endless.
func TestPages_say_what_happens_and_end(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	c := d.client(d.key())
	c.await(c.start(d.publish(greeting()), object{"name": "Ada", "run_options": object{"webhook": object{"url": "http://127.0.0.1:1/sluice"}}}))
	tab := d.signIn(t, ownerEmail, "/deliveries")
	tab.Until(`(() => {
		if (document.readyState !== "complete") return false;
		if (document.querySelector("main .tag.wait")?.innerText.includes("Retrying")) return true;
		window.again ??= setTimeout(() => location.reload(), 200);
		return false;
	})()`)
	tab.Go(d.base() + "/models")
	tab.Has("main", "more match")
	if n := chrome.Value[int](tab, `document.querySelectorAll("main .model").length`); n > 48 {
		t.Errorf("%d models are shown", n)
	}
}

// hostile gives everything a hostile name, and returns the paths of the pages that show them.
func (d *dashboard) hostile() (paths []string) {
	d.t.Helper()
	c := d.client(d.key("--scope", "run,read,edit,manage,approve"))
	for i, name := range hostile {
		identifier := fmt.Sprintf("%c%s", 'a'+i, strings.Repeat("x", 62))
		labels := func(id string, o object) object {
			return object{"id": id, "label": name, "kind": o["kind"], "config": o["config"]}
		}
		id := d.publish(documentOf(name, []object{
			labels("in", node("in", "input", object{"name": identifier, "type": "text", "description": name, "example": name})),
			labels("ask", node("ask", "approval", object{"title": name, "message": name, "values": []string{"draft"}, "editable": []string{"draft"}})),
			labels("out", node("out", "output", object{"name": identifier})),
		}, "in.value > ask.draft", "ask.draft > out.value"))
		run := c.start(id, object{identifier: name, "run_options": object{"metadata": object{identifier: name}}})
		failing := d.publish(documentOf(name, []object{
			labels("in", node("in", "input", object{"name": identifier, "type": "text"})), labels("call", node("call", "http_request", object{"url": "http://127.0.0.1:1/{{text}}"})), labels("out", node("out", "output", object{"name": identifier})),
		}, "in.value > call.text", "call.body > out.value"))
		failed := c.await(c.start(failing, object{identifier: name, "run_options": object{"webhook": object{"url": "http://127.0.0.1:1/" + strings.Repeat("path", 40)}}}))
		path := "/flows/" + id
		c.want(http.StatusOK, http.MethodPut, "/v1/flow/"+id+"/triggers/digest", object{"cron": "0 9 * * 1-5", "inputs": object{identifier: name}})
		hook := c.want(http.StatusOK, http.MethodPut, "/v1/flow/"+id+"/hooks/tickets", object{"verify": object{"scheme": "none"}}).object(d.t)
		d.must("key", "create", "--name", name[:min(len(name), 80)], "--scope", "read")
		paths = append(paths, path+"?run="+run.ID, path+"/versions", path+"/tests/new", "/runs/"+run.ID, "/runs/"+failed.ID)
		if i == 0 {
			base := c.want(http.StatusCreated, http.MethodPost, "/v1/knowledge", object{"slug": "base", "name": name}).object(d.t)
			paths = append(paths, path, path+"/settings", path+"/api", path+"/form", path+"/publish", path+"/triggers", path+"/triggers/"+fmt.Sprint(hook["id"]), path+"/webhooks",
				"/flows/"+failing+"?run="+failed.ID, "/runs?flow="+id, "/usage?flow="+id, "/knowledge/"+fmt.Sprint(base["slug"]))
		}
	}
	return append(paths, "/flows", "/flows?view=table", "/runs", "/approvals", "/triggers", "/alarms", "/keys", "/knowledge", "/deliveries", "/deliveries/endpoints", "/usage", "/settings/audit", "/settings/members")
}
