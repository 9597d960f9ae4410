package aiflow

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sluice/flow"
)

// source is one node of a file.
type source struct {
	name, kind string // kind is its processorType
	label      string
	at         *flow.Position
	links      []*link
	order      []string // fields that edges arrive at, when the file says so
	values     map[string]any
	defaults   map[string]any  // of fields that have no value
	declared   map[string]bool // names of the fields, when the file says them

	rule   *rule
	id     string // of the node that stands for it
	remark bool   // that node is a note
}

// link is one edge of a file, at the node where it arrives.
type link struct {
	from   string
	output int
	to     *source
	field  string // empty when the file does not say
	place  int    // among the edges that arrive there
}

// frame are the keys of a node that are no settings.
var frame = []string{"name", "processorType", "x", "y", "width", "height", "inputs", "input", "inputKey", "config", "outputData", "lastRun", "isDone", "missingFields"}

// spaced are settings in which white space has a meaning.
var spaced = []string{"separator", "search_text", "replacement_text"}

// readSource reads a node leniently: members of the wrong type count as missing. It returns
// nil for a value that is not an object. Empty settings are left out.
func readSource(v any) *source {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	s := &source{name: flow.Text(m["name"]), kind: typeOf(m), at: position(m), values: map[string]any{}, defaults: map[string]any{}, declared: map[string]bool{}}
	for key, value := range m {
		if !slices.Contains(frame, key) && (!blank(value) || value != nil && value != "" && slices.Contains(spaced, key)) {
			s.values[key] = value
		}
	}
	s.readConfig(m["config"])
	s.readLinks(m)
	return s
}

// typeOf is the processorType; the name ends with it where it is missing.
func typeOf(m map[string]any) string {
	if kind, ok := m["processorType"].(string); ok && kind != "" {
		return kind
	}
	name, _ := m["name"].(string)
	_, kind, _ := strings.Cut(name, "#")
	return kind
}

// farthest is how far from the middle a node may stand, in canvas units: a file
// with nonsense in it must not put a node where nobody finds it.
const farthest = 1e6

// position reads where a node was, in whole canvas units. It returns nil, so that the node is
// placed automatically, without a valid position or for one beyond farthest.
func position(m map[string]any) *flow.Position {
	x, okX := flow.Float(m["x"])
	y, okY := flow.Float(m["y"])
	if !okX || !okY || math.Abs(x) > farthest || math.Abs(y) > farthest {
		return nil
	}
	return &flow.Position{X: math.Round(x), Y: math.Round(y)}
}

// blank reports whether a value says nothing.
func blank(v any) bool {
	s, isText := v.(string)
	return v == nil || isText && strings.TrimSpace(s) == ""
}

// readConfig reads the label of a node, the names and defaults of its fields, and the fields
// that take edges in their order: inputNames, or else the fields with a handle.
func (s *source) readConfig(v any) {
	m, _ := v.(map[string]any)
	s.label = cleanLabel(flow.Text(m["nodeName"]))
	names, _ := m["inputNames"].([]any)
	for _, n := range names {
		s.order = append(s.order, flow.Text(n))
	}
	fields, _ := m["fields"].([]any)
	for _, v := range fields {
		field, _ := v.(map[string]any)
		name := flow.Text(field["name"])
		if field["hasHandle"] == true && len(names) == 0 {
			s.order = append(s.order, name)
		}
		s.declared[name] = true
		if !blank(field["default"]) {
			s.defaults[name] = field["default"]
		}
	}
}

// cleanLabel is a name of a node as a document may have it.
func cleanLabel(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(strings.TrimSpace(text)); len(runes) > 80 {
		return string(runes[:80])
	}
	return strings.TrimSpace(text)
}

// readLinks reads the edges, of new files and of old ones.
func (s *source) readLinks(m map[string]any) {
	list, _ := m["inputs"].([]any)
	for _, v := range list {
		in, ok := v.(map[string]any)
		if !ok || blank(in["inputNode"]) {
			continue
		}
		s.link(flow.Text(in["inputNode"]), in["inputNodeOutputKey"], flow.Text(in["inputName"]))
	}
	if from, ok := m["input"].(string); ok && from != "" && len(s.links) == 0 {
		s.link(from, m["inputKey"], "")
	}
}

// link adds a connection. Its place keeps the order in which inputs arrived.
func (s *source) link(from string, output any, field string) {
	s.links = append(s.links, &link{from: from, output: outputIndex(output), to: s, field: field, place: len(s.links)})
}

// outputIndex reads which output of its source an edge takes, as a number or as
// a text; -1 is one that nobody has.
func outputIndex(v any) int {
	if blank(v) {
		return 0
	}
	if number, err := flow.Coerce(v, flow.TypeNumber); err == nil {
		v = number
	}
	n, ok := flow.Float(v)
	if !ok || n != math.Trunc(n) || n < 0 || n > 1000 {
		return -1
	}
	return int(n)
}

// title names the node for people: by its own name, or by what it is.
func (s *source) title() string {
	if s.label != "" {
		return quoted(s.label)
	}
	if s.kind != "" {
		return quoted(cleanLabel(s.kind))
	}
	return "A node without a type"
}

// quoted puts a text in the typographic quotes of messages for users.
func quoted(text string) string { return "“" + text + "”" }

// notName matches runs of characters that the name of an input or output cannot contain.
var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// asText are the settings of a node for people to read, without secrets.
func (s *source) asText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s came from AI-Flow and has no counterpart yet.", s.title())
	if len(s.values) > 0 {
		b.WriteString(" Its settings were:\n")
	}
	for _, name := range sorted(s.values) {
		if b.Len() > longestNote {
			b.WriteString("\n- …")
			break
		}
		fmt.Fprintf(&b, "\n- %s: %s", cleanLabel(name), readable(name, s.values[name]))
	}
	return b.String()
}
