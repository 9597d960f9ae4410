package editor_test

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// crowded lists the defects that make a drawing hard to read: overlapping nodes, edges that
// go backward, tools that are not below their agent, and edges behind a node.
const crowded = `(() => {
	const boxes = [...canvas.scene.boxes.keys()].map((id) => ({ id, ...canvas.scene.box(id) })), bad = [];
	const touch = (a, b, gap) => a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && a.y < b.y + b.height + gap && b.y < a.y + a.height + gap;
	boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => { if (touch(a, b, 10)) bad.push(a.id + " overlaps " + b.id); }));
	for (const e of canvas.draft.edges) {
		const [from, to] = [e.from.split(".")[0], e.to.split(".")[0]], line = canvas.edges.path(e.from + ">" + e.to);
		if (!line?.getAttribute("d")) continue; // a port of a hosted model, which this test cannot ask for
		const [a, b] = [from, to].map((id) => boxes.find((box) => box.id === id));
		if (e.from.endsWith(".tool") ? a.y < b.y + b.height : a.x + a.width > b.x) bad.push(e.from + " to " + e.to + " goes back");
		for (let i = 0; i <= 200; i++) {
			const p = line.getPointAtLength(line.getTotalLength() * i / 200);
			const behind = boxes.find((box) => box.id !== from && box.id !== to && touch(box, { x: p.x, y: p.y, width: 0, height: 0 }, 0));
			if (behind) { bad.push(e.from + " to " + e.to + " passes behind " + behind.id); break; }
		}
	}
	return bad.join(", ");
})()`

// TestStarterDrawings checks the layout of the sample flows, which are the first flows that
// users see. The height of previews is reserved, so the layout is the same after a run.
func TestStarterDrawings(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900)
	files, err := filepath.Glob("../../cmd/sluice/starters/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v", files, err)
	}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id := h.Flow(webtest.SampleFlow)
		setDraft(h, id, string(document))
		if bad := webtest.Value[string](p.Builder("/flows/"+id), crowded); bad != "" {
			t.Errorf("%s: %s", filepath.Base(file), bad)
		}
	}
}
