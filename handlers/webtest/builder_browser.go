package webtest

// Builder opens the builder and waits until the canvas is ready, including the part
// that is loaded when the browser is idle.
func (p *Tab) Builder(path string) *Tab {
	p.T.Helper()
	p.Open(path)
	p.Until(`document.querySelector("flow-canvas[ready]")?.drawing && document.getElementById("zoom").textContent !== "" && document.getElementById("shortcuts")`)
	return p
}

// Saved waits until all edits are confirmed, nodes have stopped moving, and neither the
// inspector nor the outline is loading.
func (p *Tab) Saved() {
	p.T.Helper()
	p.Until(`canvas.sync.waiting === 0 && !document.querySelector("article[aria-busy], [data-outline-loading], [data-gliding]")`)
}
