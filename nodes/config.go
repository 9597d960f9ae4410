package nodes

import (
	"math"
	"strings"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/outbound"
)

// Groups of the palette.
const (
	groupAPI     = "API"
	groupModels  = "AI models"
	groupBuiltin = "Built in"
	groupText    = "Text and data"
	groupSources = "Sources"
	groupControl = "Flow control"
	groupCanvas  = "Canvas"
)

// Groups lists the groups in the order of the palette.
var Groups = []string{groupAPI, groupModels, groupBuiltin, groupText, groupSources, groupControl, "Code", groupCanvas}

// ptr returns a pointer to a limit, for declarations.
func ptr(f float64) *float64 { return &f }

// wholeNumber returns an integer from low to high. Values from edges are
// checked only here.
func wholeNumber(in *flow.In, name string, low, high int) (int, error) {
	f, ok := flow.Float(in.Config[name])
	if !ok || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		return 0, flow.Errorf(flow.CodeInputInvalid, "%q must be a whole number from %d to %d, got %s.",
			name, low, high, wording.Truncate(flow.Text(in.Config[name]), 40))
	}
	return int(f), nil
}

// textList converts a list of texts, or a text with one item per line. Blank
// items are omitted. ok is false if an item is not a text, number or boolean.
func textList(v any) (list []string, ok bool) {
	items, isList := v.([]any)
	if s, isText := v.(string); isText {
		for line := range strings.Lines(s) {
			items = append(items, line)
		}
		isList = true
	}
	for _, item := range items {
		text, err := flow.Coerce(item, flow.TypeText)
		if err != nil {
			return nil, false
		}
		if s := strings.TrimSpace(text.(string)); s != "" {
			list = append(list, s)
		}
	}
	return list, isList || v == nil
}

// checkURL reports a typed URL that cannot be requested. A template is checked
// after it is filled in, except for mistakes that no value can correct.
func checkURL(n *flow.Node, field string) []flow.Problem {
	raw, _ := n.Config[field].(string)
	raw = flow.WithSampleSecrets(strings.TrimSpace(raw))
	if strings.HasPrefix(raw, "{{") {
		return []flow.Problem{{Pointer: flow.Pointer(field), Code: "invalid", Detail: "values in a URL are percent-encoded, so a URL cannot begin with one; " +
			"connect an edge to " + n.ID + "." + field + " to set the whole URL"}}
	}
	if raw == "" || strings.Contains(raw, "{{") {
		return nil
	}
	if _, err := outbound.ParseURL(raw); err != nil {
		return []flow.Problem{{Pointer: flow.Pointer(field), Code: "invalid", Detail: err.Error()}}
	}
	return nil
}
