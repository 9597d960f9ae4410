package editor

import (
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
)

// preview is the result of a step, shortened for its node on the canvas.
type preview struct {
	Kind   string                  `json:"kind"` // text, scores, image, file
	Text   string                  `json:"text,omitempty"`
	Scores []components.LabelScore `json:"scores,omitempty"`
	File   string                  `json:"file,omitempty"` // path of the file
	Port   string                  `json:"port,omitempty"` // the branch that was taken
}

// Limits of what a node shows of a result.
const (
	previewRunes  = 280
	previewScores = 3
)

// preview returns the preview of a step: its scores if it has some, else its first
// non-empty output in the order of the kind. For a branching node, it also names
// the port that was taken.
func (s *runStream) preview(step *flow.Step) *preview {
	if list := web.Scores(step.Outputs); len(list) > 0 {
		return &preview{Kind: "scores", Scores: list[:min(len(list), previewScores)]}
	}
	n := s.graph.Node(step.Node)
	if n == nil {
		return nil
	}
	k := s.s.Kinds.For(n)
	if k == nil || k.OutputsField != "" {
		return nil
	}
	ports := flow.OutputPorts(n, k)
	for _, p := range ports {
		if v, ok := step.Outputs[p.Name]; ok && v != nil && v != "" {
			shown := previewOf(v)
			if k.Class == flow.Inline && len(step.Outputs) < len(ports) {
				shown.Port = p.Name
			}
			return shown
		}
	}
	return nil
}

// previewOf returns the preview of one value.
func previewOf(v any) *preview {
	if id, ok := flow.FileID(v); ok {
		f := components.FileOf(v)
		p := &preview{Kind: "file", Text: f.Name, File: "/files/" + id}
		if strings.HasPrefix(f.MIME, "image/") && f.MIME != "image/svg+xml" {
			p.Kind = "image"
		}
		return p
	}
	text, isText := v.(string)
	if _, isNumber := flow.Float(v); isNumber {
		text = components.Rounded(v) // the result pane has the exact value
	} else if !isText {
		text = string(flow.EncodeJSON(v))
	}
	if runes := []rune(text[:min(len(text), 4*previewRunes)]); len(runes) > previewRunes {
		text = strings.ToValidUTF8(string(runes[:previewRunes]), "") + "…"
	}
	return &preview{Kind: "text", Text: strings.TrimSpace(text)}
}

// itemsIn returns the length of each output that is a list, by port.
func itemsIn(outputs map[string]any) map[string]int {
	items := map[string]int{}
	for port, value := range outputs {
		if list, ok := value.([]any); ok {
			items[port] = len(list)
		}
	}
	return items
}
