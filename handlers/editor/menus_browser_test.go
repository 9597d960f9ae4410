package editor_test

import (
	"fmt"
	"testing"

	"sluice/handlers/webtest"
)

// TestMenus_stay_on_screen opens the menus of nodes, of an edge and of the canvas at every border of a phone. They are within the
// window, upright and turned, and the last item can be scrolled to.
func TestMenus_stay_on_screen(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(greeting)
	for _, size := range [][2]int64{{375, 812}, {375, 600}, {812, 375}} {
		p := newTouch(t, h, id, size[0], size[1])
		if p.Want(`innerWidth`, fmt.Sprint(size[0])); size[0] < 800 {
			p.tap("[data-command=show-canvas]")
		}
		p.look(`["who", "hello"]`)
		w, height := float64(size[0]), float64(size[1])
		for _, selected := range []string{`["hello"], []`, `["who", "hello"], []`, `[], ["who.value>hello.name"]`, `[], []`} {
			for _, at := range []webtest.Point{{X: 0, Y: 0}, {X: w / 2, Y: 0}, {X: w, Y: 0}, {X: 0, Y: height / 2}, {X: w / 2, Y: height / 2}, {X: w, Y: height / 2}, {X: 0, Y: height}, {X: w / 2, Y: height}, {X: w, Y: height}} {
				p.do(fmt.Sprintf(`(canvas.selection.set(%s), canvas.menu({ x: %v, y: %v }))`, selected, at.X, at.Y))
				p.Until(`document.querySelector(".float-menu:popover-open [role=menuitem]")`)
				p.onScreen(".float-menu")
				p.do(`document.querySelector(".float-menu").lastElementChild.scrollIntoView()`)
				p.onScreen(".float-menu > :last-child")
				p.Press("Escape")
				p.Until(`!document.querySelector(".float-menu:popover-open")`)
			}
		}
	}
}
