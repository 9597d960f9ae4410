package webtest

// Builder waits until the canvas of a tab is there, with the part that is loaded
// when the browser is idle, and nothing is on its way.
func (p *Tab) Builder(path string) *Tab {
	p.T.Helper()
	p.Open(path)
	p.Until(`document.querySelector("flow-canvas[ready]") && document.getElementById("zoom").textContent !== "" && document.getElementById("shortcuts")`)
	return p
}

func (p *Tab) Saved() {
	p.T.Helper()
	p.Until(`canvas.sync.waiting === 0 && !document.querySelector("article[aria-busy]")`)
}
