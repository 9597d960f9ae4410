package aiflow

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sluice/flow"
	"sluice/flow/sorting"
)

// source is one node of a file.
type source struct {
	name, kind string // kind is its processorType
	label      string
	position   *flow.Position  // nil if the file has no valid position
	links      []*link         // incoming edges
	order      []string        // fields that take edges, in order; empty if the file has none
	values     map[string]any  // settings by name
	defaults   map[string]any  // of settings, used where values has none
	declared   map[string]bool // names of all fields; empty if the file does not list them

	rule   *rule
	id     string // of the node in the document
	isNote bool   // the node in the document is a note
}

// link is an edge of a file. Files store edges at the node where they end.
type link struct {
	from   string // name of the source node
	output int    // which output of the source, from 0; -1: no valid one
	to     *source
	field  string // the setting that it feeds; empty in old files
	index  int    // index among the edges into the same node
}

// nonSettings lists the keys of a node that are not settings.
var nonSettings = []string{"name", "processorType", "x", "y", "width", "height", "inputs", "input", "inputKey", "config", "outputData", "lastRun", "isDone", "missingFields"}

// significantSpace lists the settings in which white space is significant.
var significantSpace = []string{"separator", "search_text", "replacement_text"}

// readSource reads a node leniently: members of the wrong type count as missing. It returns
// nil for a value that is not an object. Empty settings are left out.
func readSource(v any) *source {
	m, ok := flow.AsMap(v)
	if !ok {
		return nil
	}
	s := &source{name: flow.Text(m["name"]), kind: processorType(m), position: position(m), values: map[string]any{}, defaults: map[string]any{}, declared: map[string]bool{}}
	for key, value := range m {
		if !slices.Contains(nonSettings, key) && (!isBlank(value) || value != nil && value != "" && slices.Contains(significantSpace, key)) {
			s.values[key] = value
		}
	}
	s.readConfig(m["config"])
	s.readLinks(m)
	return s
}

// processorType returns the processorType of a node, or "". If the member is missing, the type is
// the part of the name after "#".
func processorType(m map[string]any) string {
	if kind, ok := m["processorType"].(string); ok && kind != "" {
		return kind
	}
	name, _ := m["name"].(string)
	_, kind, _ := strings.Cut(name, "#")
	return kind
}

// maxCoordinate bounds coordinates, in canvas units from the origin. An invalid file must not
// place a node where users cannot find it.
const maxCoordinate = 1e6

// position reads the position of a node and rounds it to whole canvas units. It returns nil
// for a position that is invalid or beyond maxCoordinate; the node is then placed automatically.
func position(m map[string]any) *flow.Position {
	x, okX := flow.Float(m["x"])
	y, okY := flow.Float(m["y"])
	if !okX || !okY || math.Abs(x) > maxCoordinate || math.Abs(y) > maxCoordinate {
		return nil
	}
	return &flow.Position{X: math.Round(x), Y: math.Round(y)}
}

// isBlank reports whether a value is null, empty or white space.
func isBlank(v any) bool {
	s, isText := v.(string)
	return v == nil || isText && strings.TrimSpace(s) == ""
}

// readConfig reads the label of a node, the names and defaults of its fields, and which
// fields take edges in which order: inputNames, or else the fields with a handle.
func (s *source) readConfig(v any) {
	m, _ := flow.AsMap(v)
	s.label = cleanLabel(flow.Text(m["nodeName"]))
	names, _ := m["inputNames"].([]any)
	for _, n := range names {
		s.order = append(s.order, flow.Text(n))
	}
	fields, _ := m["fields"].([]any)
	for _, v := range fields {
		field, _ := flow.AsMap(v)
		name := flow.Text(field["name"])
		if field["hasHandle"] == true && len(names) == 0 {
			s.order = append(s.order, name)
		}
		s.declared[name] = true
		if !isBlank(field["default"]) {
			s.defaults[name] = field["default"]
		}
	}
}

// cleanLabel makes a text valid as a node's label: at most 80 characters, without control
// characters.
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

// readLinks reads the incoming edges: the list "inputs", or in old files the single
// "input".
func (s *source) readLinks(m map[string]any) {
	list, _ := m["inputs"].([]any)
	for _, v := range list {
		in, ok := flow.AsMap(v)
		if !ok || isBlank(in["inputNode"]) {
			continue
		}
		s.addLink(flow.Text(in["inputNode"]), in["inputNodeOutputKey"], flow.Text(in["inputName"]))
	}
	if from, ok := m["input"].(string); ok && from != "" && len(s.links) == 0 {
		s.addLink(from, m["inputKey"], "")
	}
}

// addLink adds an incoming edge.
func (s *source) addLink(from string, output any, field string) {
	s.links = append(s.links, &link{from: from, output: outputIndex(output), to: s, field: field, index: len(s.links)})
}

// outputIndex reads the index of an output, which files have as a number or a text. It
// returns 0 for an empty value and -1 for an invalid one.
func outputIndex(v any) int {
	if isBlank(v) {
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

// title returns the name of a node for messages: its label, or else its type.
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

// noteText formats the settings of a node for a note, without secrets.
func (s *source) noteText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s came from AI-Flow and has no counterpart yet.", s.title())
	if len(s.values) > 0 {
		b.WriteString(" Its settings were:\n")
	}
	for _, name := range sorting.Keys(s.values) {
		if b.Len() > maxNoteText {
			b.WriteString("\n- …")
			break
		}
		fmt.Fprintf(&b, "\n- %s: %s", cleanLabel(name), formatSetting(name, s.values[name]))
	}
	return b.String()
}
