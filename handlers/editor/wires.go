package editor

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
	editorview "sluice/views/editor"
)

// showWire is GET /flows/{id}/wire?from=node.port&run=: what went over an edge
// in a run, or in the last one, in a few lines. Without a value it is 204: an
// edge that carried nothing says nothing.
func (c *call) showWire() error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	run, err := c.findRunOrLast(f.ID, c.QueryParam("run"))
	if err != nil || run == nil {
		return noValue(c, err)
	}
	node, port, _ := strings.Cut(c.QueryParam("from"), ".")
	step, err := c.findStep(run, node)
	if err != nil || step == nil {
		return noValue(c, err)
	}
	value, ok := step.Outputs[port]
	if !ok {
		return noValue(c, nil)
	}
	w := wireValue(value)
	w.RunID, w.At, w.Now = run.ID, run.CreatedAt, c.s.Now()
	return c.Render(http.StatusOK, editorview.Wire(w))
}

// noValue responds with 204, so that the page shows nothing at the edge, or returns err.
func noValue(c *call, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// wireValue shortens a value: numbers are rounded, and of a list only the first
// item is shown.
func wireValue(v any) editorview.WireValue {
	if list, ok := v.([]any); ok {
		w := editorview.WireValue{Items: len(list), List: true}
		if len(list) > 0 {
			first := wireValue(list[0])
			w.Text, w.Image = first.Text, first.Image
		}
		return w
	}
	if n, ok := v.(json.Number); ok {
		return editorview.WireValue{Number: rounded(n), Text: n.String()}
	}
	if b, ok := v.(bool); ok {
		return editorview.WireValue{Number: strconv.FormatBool(b)}
	}
	p := previewOf(v)
	if p.Kind == "image" {
		return editorview.WireValue{Text: p.Text, Image: p.File}
	}
	return editorview.WireValue{Text: p.Text}
}

// rounded returns a number with at most two digits after the point.
func rounded(n json.Number) string {
	f, ok := flow.Float(n)
	if !ok || math.Abs(f) >= 1e15 {
		return n.String()
	}
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}
