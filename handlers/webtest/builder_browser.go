package webtest

// Builder waits until the canvas of a tab is there and nothing is on its way.
func (p *tab) Builder(path string) *tab {
	p.t.Helper()
	p.Open(path)
	p.Until(`document.querySelector("flow-canvas[ready]") && document.getElementById("zoom").textContent !== ""`)
	return p
}

func (p *tab) Saved() {
	p.t.Helper()
	p.Until(`canvas.sync.waiting === 0 && !document.querySelector("article[aria-busy]")`)
}
