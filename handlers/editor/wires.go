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

// showWire is GET /flows/{id}/wire?from=node.port&run=: a preview of the value that
// an edge carried in a run, by default the last one. The response is 204 if it
// carried none.
func (c *call) showWire() error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	run, err := c.findRunOrLast(f.ID, flow.RunID(c.QueryParam("run")))
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
	w.RunID, w.At, w.Now = string(run.ID), run.CreatedAt, c.s.Now()
	return c.Render(http.StatusOK, editorview.Wire(w))
}

// noValue responds with 204, so that the page shows nothing at the edge, or returns err.
func noValue(c *call, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// wireValue returns a preview of a value: numbers are rounded, and lists are
// reduced to their first item.
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

// rounded formats a number with at most two decimals.
func rounded(n json.Number) string {
	f, ok := flow.Float(n)
	if !ok || math.Abs(f) >= 1e15 {
		return n.String()
	}
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}
