package aiflow

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
)

// rule describes how to convert one type of node.
type rule struct {
	kind     string         // of the new node
	types    *regexp.Regexp // matches processorType, in lowercase
	marker   string         // a setting that identifies the node whatever its type
	provider string         // of the model
	model    string         // default if the file names none
	// fields maps settings to config fields. Edges without a field name feed them in this
	// order, except those marked with °, which take no edge.
	fields   []pair
	outputs  []string             // output ports in the order of AI-Flow's outputs
	excludes func(s *source) bool // excludes nodes, which then become notes
	finish   func(b *builder)     // converts the settings that fields cannot express
}

// pair is the name of a setting in AI-Flow and of the config field in Sluice, which may end
// with °: see rule.fields.
type pair struct{ from, to string }

// isTypedOnly reports whether the field takes no edge, only a typed value.
func (p pair) isTypedOnly() bool { return strings.HasSuffix(p.to, "°") }

// field returns the name of the config field.
func (p pair) field() string { return strings.TrimSuffix(p.to, "°") }

// typePattern compiles a pattern that must match a whole node type in lowercase. The spelling
// differs between versions of AI-Flow, such as file-drop and file_drop.
func typePattern(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// chatFields are the fields of nodes that call a language model.
var chatFields = append([]pair{{"context", "system"}, {"prompt", "prompt"}, {"temperature", "temperature"}, {"max_tokens", "max_tokens"}, {"model", "model°"}}, chatSettings...)

// chatSettings are settings that AI-Flow names like the providers' parameters.
var chatSettings = []pair{{"reasoning_effort", "reasoning_effort°"}, {"thinking_budget", "thinking_budget°"}, {"budget_tokens", "thinking_budget°"}, {"max_completion_tokens", "max_tokens°"},
	{"top_p", "top_p°"}, {"seed", "seed°"}, {"stop", "stop°"}, {"stop_sequences", "stop°"}, {"web_search", "web_search°"}}

// textOutput are the output ports of most rules: one port, named text.
var textOutput = []string{"text"}

// outputRule converts outputs, and by convertDisplay the nodes that only display a result.
var outputRule = rule{kind: "output", marker: "api_output_name", fields: []pair{{"value", "value"}}, outputs: []string{"value"}, finish: nameOutput}

// rules are tried in order. Inputs and outputs come first, because their settings identify
// them more reliably than their type.
var rules = []rule{
	{kind: "input", marker: "api_input_name", outputs: []string{"value"}, finish: describeInput},
	outputRule,
	{kind: "webhook", types: typePattern(`.*webhook.*`), fields: []pair{{"url", "url"}, {"webhook_url", "url"}}, outputs: []string{"outputs"}, finish: signWebhook},
	{kind: "text", types: typePattern(`input-text|text-input|input_text`), fields: []pair{{"inputText", "text°"}}, outputs: textOutput},
	{kind: "file", types: typePattern(`file|file-drop|file_drop`), fields: []pair{{"fileUrl", "url"}}, outputs: []string{"file"}},
	{kind: "web_page", types: typePattern(`url[_-]input|url-loader`), fields: []pair{{"url", "url"}}, outputs: textOutput},
	{kind: "http_request", types: typePattern(`http[_-]get(-processor)?`), fields: []pair{{"url", "url"}, {"headers", "headers"}}, outputs: []string{"body"}},
	{kind: "document", types: typePattern(`document-to-text(-processor)?`), fields: []pair{{"document_url", "file"}}, outputs: textOutput},
	{kind: "chat", types: typePattern(`gpt-vision.*`), provider: "openai", model: "gpt-4o", fields: append([]pair{{"image_url", "images"}, {"prompt", "prompt"}, {"context", "system"}, {"temperature", "temperature"}, {"max_tokens", "max_tokens"}, {"model", "model°"}}, chatSettings...), outputs: textOutput, finish: collectImages},
	{kind: "chat", types: typePattern(`llm-prompt|gpt|gpt-no-context|o\d.*|.*(openai-reasoning|o-series|reasoning-model).*`), provider: "openai", model: "gpt-4o", fields: chatFields, outputs: textOutput},
	{kind: "chat", types: typePattern(`.*(claude|anthropic).*`), provider: "anthropic", fields: chatFields, outputs: textOutput},
	{kind: "chat", types: typePattern(`.*deepseek.*`), provider: "deepseek", model: "deepseek-chat", fields: chatFields, outputs: textOutput},
	{kind: "chat", types: typePattern(`.*openrouter.*`), provider: "openrouter", fields: chatFields, outputs: textOutput},
	{kind: "image", types: typePattern(`dalle.*`), provider: "openai", model: "dall-e-3", fields: []pair{{"prompt", "prompt"}, {"size", "size"}, {"quality", "quality"}, {"model", "model°"}}, outputs: []string{"image"}},
	{kind: "image", types: typePattern(`gpt-image.*`), provider: "openai", model: "gpt-image-1", fields: []pair{{"prompt", "prompt"}, {"image_url", "images"}, {"size", "size"}, {"quality", "quality"}, {"background", "background"}, {"model", "model°"}}, outputs: []string{"image"}, finish: collectImages},
	{kind: "speech", types: typePattern(`.*text-to-speech.*`), provider: "openai", model: "gpt-4o-mini-tts", fields: []pair{{"text", "text"}, {"voice", "voice"}, {"instruction", "instructions"}, {"model", "model°"}}, outputs: []string{"audio"}},
	{kind: "hosted_model", types: typePattern(`replicate(-processor)?`), outputs: []string{"output"}, finish: copyModelInputs},
	{kind: "template", types: typePattern(`merger-prompt|merge|merger`), outputs: textOutput, finish: convertPlaceholders},
	{kind: "replace", marker: "search_text", fields: []pair{{"input_text", "text"}, {"search_text", "find"}, {"replacement_text", "replacement"}, {"text", "text"}, {"input", "text"}}, outputs: textOutput, finish: replacePython},
	{kind: "split", types: typePattern(`(ai-)?data-splitter(-processor)?`), fields: []pair{{"input_text", "text"}, {"text", "text"}, {"data", "text"}, {"input", "text"}, {"separator", "separator"}}, outputs: itemPorts(50), excludes: splitsByModel, finish: splitPython},
}

// itemPorts returns the names of the first n item ports of a split.
func itemPorts(n int) (ports []string) {
	for i := range n {
		ports = append(ports, "item_"+strconv.Itoa(i+1))
	}
	return ports
}

// passThroughTypes matches the types of nodes that only pass a value on.
var passThroughTypes = typePattern(`transition|display|.*-transition|.*display-(processor|node)`)

// passesThrough reports whether a node has no rule and only passes its input on, as transitions
// and displays do. Such a node is removed and its edges are joined.
func (s *source) passesThrough() bool {
	return s.rule == nil && passThroughTypes.MatchString(strings.ToLower(s.kind))
}

// findRule returns the first rule for a node, or nil if it has no counterpart.
func findRule(s *source, kinds *flow.Registry) *rule {
	kind := strings.ToLower(strings.TrimSpace(s.kind))
	for i := range rules {
		r := &rules[i]
		_, carried := s.values[r.marker]
		fits := r.types != nil && r.types.MatchString(kind) || r.marker != "" && carried
		if fits && kinds.Find(r.kind) != nil && (r.excludes == nil || !r.excludes(s)) {
			return r
		}
	}
	return nil
}

// port returns the input port of the new node for an edge, and whether there is one.
func (r *rule) port(s *source, l *link) (string, bool) {
	switch {
	case r.kind == "output":
		return "value", true
	case r.kind == "template":
		return placeholderPort(l), true
	case r.kind == "hosted_model":
		name := l.setting(s.order)
		return "input." + name, name != ""
	}
	name := l.setting(r.edgeSettings(s))
	for _, p := range r.fields {
		if p.from == name && !p.isTypedOnly() {
			return p.field(), true
		}
	}
	if strings.HasPrefix(name, "image_url") && slices.ContainsFunc(r.fields, func(p pair) bool { return p.to == "images" }) {
		return "images", true
	}
	return "", false
}

// setting returns the setting that an edge feeds, or "". Old files do not name it; then order
// decides.
func (l *link) setting(order []string) string {
	if l.field != "" {
		return l.field
	}
	if l.index < len(order) {
		return order[l.index]
	}
	return ""
}

// edgeSettings returns the settings that edges without a field name feed: in the order of the
// file if it has one, else in that of the rule.
func (r *rule) edgeSettings(s *source) []string {
	if len(s.order) > 0 {
		return s.order
	}
	var list []string
	for _, p := range r.fields {
		if !p.isTypedOnly() {
			list = append(list, p.from)
		}
	}
	return list
}
