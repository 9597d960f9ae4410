package web

import (
	"cmp"
	"net/url"
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
	"sluice/markdown"
	"sluice/views/components"
)

// maxScores is the number of labels that an output shows with their scores.
const maxScores = 8

// RunOutputs returns the outputs of a run in the order of its flow. An output that is the label of a
// classification also has the scores of all labels; steps reads the steps of the run for them.
func RunOutputs(run *flow.Run, doc *flow.Document, kinds *flow.Registry, steps func() ([]flow.Step, error)) (list []components.OutputView, err error) {
	left, sources := markdown.MaxText, RunCitations(run.Outputs)
	for _, o := range contract.Outputs(doc, kinds) {
		value, given := run.Outputs.Lookup(o.Name)
		if !given {
			continue
		}
		out := outputView(o.Name, value, StepValueURL(run, o.Node, "output", "value"), &left)
		if html := Footnotes(value, sources); html != "" && len(html) <= 4*markdown.MaxText {
			out.Rendered = html
		}
		if from := labelSource(doc, kinds, o.Node); from != "" {
			rows, err := steps()
			if err != nil {
				return nil, err
			}
			addScores(&out, doc, kinds, rows, from)
		}
		list = append(list, out)
	}
	return list, nil
}

// StepOutputs returns the outputs of a step in the order of its ports.
func StepOutputs(run *flow.Run, step *flow.Step, ports []flow.Port) (list []components.OutputView) {
	left := markdown.MaxText
	for _, name := range flow.PortNames(step.Outputs, ports) {
		more := ""
		if step.Path == step.Node {
			more = StepValueURL(run, step.Node, "output", name)
		}
		out := outputView(name, step.Outputs[name], more, &left)
		if name == "label" {
			out.Scores = Scores(step.Outputs)
		}
		if name == "hits" && step.Kind == searchKind {
			out.Hits = hits(step, step.Outputs[name])
		}
		list = append(list, out)
	}
	return list
}

// outputView returns a value as an output, rendered if it is Markdown of at most left bytes.
func outputView(name string, value any, more string, left *int) components.OutputView {
	out := components.OutputView{ValueView: components.ValueView{Name: name, Value: value, More: more}}
	if text, isText := value.(string); isText && len(text) <= *left && markdown.Is(text) {
		*left -= len(text)
		out.Rendered = markdown.HTML(text)
	}
	return out
}

// StepValueURL returns the URL from which parts of a value of a step are loaded. side
// is "input" or "output".
func StepValueURL(run *flow.Run, node, side, port string) string {
	q := url.Values{"run": {string(run.ID)}, "side": {side}, "port": {port}}
	return components.FlowPath(string(run.FlowID)) + "/data/" + url.PathEscape(node) + "?" + q.Encode()
}

// labelSource returns the classifying node whose label feeds an output node, or "".
func labelSource(doc *flow.Document, kinds *flow.Registry, output string) string {
	for _, e := range doc.Edges {
		node, port := e.Source()
		if e.ToNode() != output || port != "label" {
			continue
		}
		k := kinds.For(doc.Node(node))
		if k != nil && slices.ContainsFunc(k.Outputs, func(p flow.Port) bool { return p.Name == "scores" }) {
			return node
		}
	}
	return ""
}

// addScores adds the scores of the labels of a step, if its label is the value of
// the output.
func addScores(out *components.OutputView, doc *flow.Document, kinds *flow.Registry, steps []flow.Step, node string) {
	value, isText := out.Value.(string) // comparing other dynamic types with == may panic
	for i := range steps {
		s := &steps[i]
		if label, ok := s.Outputs["label"].(string); s.Path != node || !ok || !isText || label != value {
			continue
		}
		list := Scores(s.Outputs)
		out.From, out.Scores = NodeTitle(doc, kinds, node), list[:min(len(list), maxScores)]
	}
}

// Scores returns labels with scores, highest first. Kinds return them as a map, as
// a list of objects, or as a single label.
func Scores(outputs map[string]any) (list []components.LabelScore) {
	switch scores := flow.Ordered(outputs["scores"]).(type) {
	case *flow.Object:
		for label, v := range scores.All() {
			if f, ok := flow.Float(v); ok {
				list = append(list, components.LabelScore{Label: label, Score: f})
			}
		}
	case []any:
		for _, item := range scores {
			m, _ := flow.AsMap(item)
			if f, ok := flow.Float(m["score"]); ok {
				list = append(list, components.LabelScore{Label: flow.Text(m["label"]), Score: f})
			}
		}
	}
	if label, ok := outputs["label"].(string); ok && len(list) == 0 {
		if f, ok := flow.Float(outputs["score"]); ok {
			list = append(list, components.LabelScore{Label: label, Score: f})
		}
	}
	sorting.By(list, func(a, b components.LabelScore) int { return cmp.Compare(b.Score, a.Score) })
	return list
}
