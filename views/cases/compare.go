package cases

import "sluice/views/components"

// ComparePath returns the path of the page that compares candidates.
func ComparePath(flowID string) string { return ListPath(flowID) + "/compare" }

// ComparePage chooses the candidates of a test.
type ComparePage struct {
	FlowID, Flow string
	LiveVersion  int64
	Cases        int // of the flow
	Versions     []CompareVersion
	Draft        bool // is chosen
	Baseline     string
	Baselines    []components.Option
	Fields       []components.Option // model fields of the draft as NODE.FIELD
	Models       []ModelRow
	Mode         string
	Tags         string
	Writers      []components.Option // nodes that may change something outside
	Allow        []string            // of these
	MaxUSD       string
	Errors       components.Errors
}

// CompareVersion is a version that can be a candidate.
type CompareVersion struct {
	Number int64
	Label  string
	Chosen bool
}

// ModelRow is the draft with another model.
type ModelRow struct{ Field, Model, Error string }

// runsText says how many cases run.
func (p ComparePage) runsText() string {
	return components.Quantity(p.Cases, "case") + " for each candidate"
}
