package e2e

import (
	"fmt"
	"testing"

	"sluice/e2e/chrome"
)

// offScreen opens the menu of a number, and returns how far its sheet is outside of the window: where its button is, at the top and at the
// bottom of the window as far as the page scrolls, and with the button in every corner.
const offScreen = `(async (n) => {
	const menu = document.querySelectorAll("details.menu")[n], sheet = menu.querySelector(":scope > .sheet"), found = [];
	if (!menu.checkVisibility()) return found;
	const look = async (where) => {
		menu.open = true;
		await new Promise(requestAnimationFrame);
		sheet.getAnimations().forEach((a) => a.finish());
		const r = sheet.getBoundingClientRect(), over = Math.max(-r.left, -r.top, r.right - innerWidth, r.bottom - innerHeight);
		if (over > 0 || !r.width || !sheet.checkVisibility()) found.push([where, "outside by", Math.round(over), "at", ...[r.left, r.top, r.right, r.bottom].map(Math.round)].join(" "));
		menu.open = false;
	};
	for (const block of ["nearest", "start", "end"]) { menu.scrollIntoView({ block, behavior: "instant" }); await look(block); }
	for (const place of ["top: 8px; left: 8px", "top: 8px; right: 8px", "bottom: 8px; left: 8px", "bottom: 8px; right: 8px", "top: 45%; left: 45%"]) {
		menu.style.cssText = "position: fixed; z-index: 99; margin: 0; " + place;
		await look(place);
	}
	menu.style.cssText = "";
	return found;
})`

// TestMenus_stay_on_screen opens every menu of the pages that have one, at every border of a phone. None leaves the window on any side.
func TestMenus_stay_on_screen(t *testing.T) {
	t.Parallel()
	s := newDashboard(t).seed()
	base := s.knowledge()
	tested, report := s.tests()
	pages := []string{"/flows", "/flows?view=table", "/flows/" + s.flow, tested, s.batch(), base, report, "/settings/members"}
	tab := s.signIn(t, ownerEmail, "/flows")
	tab.Phone()
	for _, path := range pages {
		tab.Go(s.base() + path)
		tab.Until("document.readyState === 'complete' && document.querySelector('details.menu') && !document.querySelector('flow-canvas:not([ready])')")
		for n := range chrome.Value[int](tab, `document.querySelectorAll("details.menu").length`) {
			for _, found := range chrome.Value[[]string](tab, fmt.Sprintf("%s(%d)", offScreen, n)) {
				t.Errorf("menu %d of %s: %s", n, path, found)
			}
		}
	}
}
