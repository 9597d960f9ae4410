package aiflow

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
)

// rule says how nodes of one sort are taken over.
type rule struct {
	kind     string
	types    *regexp.Regexp // of processorType, in lower case
	carries  string         // a setting that gives it away, whatever it is called
	provider string         // of its model
	model    string         // when the file names none
	// fields lead from a setting to a config field. Edges without a name arrive
	// at them in this order; those marked with ° are no places for edges.
	fields  []pair
	outputs []string
	unless  func(s *source) bool // it stays a note
	also    func(b *builder)
}

// pair is the name of a setting in AI-Flow and of the config field in Sluice, which may end
// with °: see rule.fields.
type pair struct{ from, to string }

// typed reports whether a setting can only be typed.
func (p pair) typed() bool { return strings.HasSuffix(p.to, "°") }

// field is Sluice's config field.
func (p pair) field() string { return strings.TrimSuffix(p.to, "°") }

// types compiles a pattern that must match a whole node type, in lower case. Types are spelled
// differently in versions of AI-Flow, such as file-drop and file_drop.
func types(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// chatFields are those of every node that asks a language model.
var chatFields = append([]pair{{"context", "system"}, {"prompt", "prompt"}, {"temperature", "temperature"}, {"max_tokens", "max_tokens"}, {"model", "model°"}}, chatSettings...)

// chatSettings have the names of the providers' own parameters.
var chatSettings = []pair{{"reasoning_effort", "reasoning_effort°"}, {"thinking_budget", "thinking_budget°"}, {"budget_tokens", "thinking_budget°"}, {"max_completion_tokens", "max_tokens°"},
	{"top_p", "top_p°"}, {"seed", "seed°"}, {"stop", "stop°"}, {"stop_sequences", "stop°"}, {"web_search", "web_search°"}}

// text are the output ports of most rules: one port, named text.
var text = []string{"text"}

// outputRule also stands for nodes that only show a result.
var outputRule = rule{kind: "output", carries: "api_output_name", fields: []pair{{"value", "value"}}, outputs: []string{"value"}, also: nameOutput}

// rules are tried in order: what a node carries counts more than its type.
var rules = []rule{
	{kind: "input", carries: "api_input_name", outputs: []string{"value"}, also: describeInput},
	outputRule,
	{kind: "webhook", types: types(`.*webhook.*`), fields: []pair{{"url", "url"}, {"webhook_url", "url"}}, outputs: []string{"outputs"}, also: signWebhook},
	{kind: "text", types: types(`input-text|text-input|input_text`), fields: []pair{{"inputText", "text°"}}, outputs: text},
	{kind: "file", types: types(`file|file-drop|file_drop`), fields: []pair{{"fileUrl", "url"}}, outputs: []string{"file"}},
	{kind: "web_page", types: types(`url[_-]input|url-loader`), fields: []pair{{"url", "url"}}, outputs: text},
	{kind: "http_request", types: types(`http[_-]get(-processor)?`), fields: []pair{{"url", "url"}, {"headers", "headers"}}, outputs: []string{"body"}},
	{kind: "document", types: types(`document-to-text(-processor)?`), fields: []pair{{"document_url", "file"}}, outputs: text},
	{kind: "chat", types: types(`gpt-vision.*`), provider: "openai", model: "gpt-4o", fields: append([]pair{{"image_url", "images"}, {"prompt", "prompt"}, {"context", "system"}, {"temperature", "temperature"}, {"max_tokens", "max_tokens"}, {"model", "model°"}}, chatSettings...), outputs: text, also: morePictures},
	{kind: "chat", types: types(`llm-prompt|gpt|gpt-no-context|o\d.*|.*(openai-reasoning|o-series|reasoning-model).*`), provider: "openai", model: "gpt-4o", fields: chatFields, outputs: text},
	{kind: "chat", types: types(`.*(claude|anthropic).*`), provider: "anthropic", fields: chatFields, outputs: text},
	{kind: "chat", types: types(`.*deepseek.*`), provider: "deepseek", model: "deepseek-chat", fields: chatFields, outputs: text},
	{kind: "chat", types: types(`.*openrouter.*`), provider: "openrouter", fields: chatFields, outputs: text},
	{kind: "image", types: types(`dalle.*`), provider: "openai", model: "dall-e-3", fields: []pair{{"prompt", "prompt"}, {"size", "size"}, {"quality", "quality"}, {"model", "model°"}}, outputs: []string{"image"}},
	{kind: "image", types: types(`gpt-image.*`), provider: "openai", model: "gpt-image-1", fields: []pair{{"prompt", "prompt"}, {"image_url", "images"}, {"size", "size"}, {"quality", "quality"}, {"background", "background"}, {"model", "model°"}}, outputs: []string{"image"}, also: morePictures},
	{kind: "speech", types: types(`.*text-to-speech.*`), provider: "openai", model: "gpt-4o-mini-tts", fields: []pair{{"text", "text"}, {"voice", "voice"}, {"instruction", "instructions"}, {"model", "model°"}}, outputs: []string{"audio"}},
	{kind: "hosted_model", types: types(`replicate(-processor)?`), outputs: []string{"output"}, also: hostModel},
	{kind: "template", types: types(`merger-prompt|merge|merger`), outputs: text, also: mergePrompt},
	{kind: "replace", carries: "search_text", fields: []pair{{"input_text", "text"}, {"search_text", "find"}, {"replacement_text", "replacement"}, {"text", "text"}, {"input", "text"}}, outputs: text, also: replacePython},
	{kind: "split", types: types(`(ai-)?data-splitter(-processor)?`), fields: []pair{{"input_text", "text"}, {"text", "text"}, {"data", "text"}, {"input", "text"}, {"separator", "separator"}}, outputs: itemPorts(50), unless: splitsByModel, also: splitPython},
}

// itemPorts are the ports of the first items of a split.
func itemPorts(n int) (ports []string) {
	for i := range n {
		ports = append(ports, "item_"+strconv.Itoa(i+1))
	}
	return ports
}

// passThrough are the nodes that only hand a value on.
var passThrough = types(`transition|display|.*-transition|.*display-(processor|node)`)

// passes reports whether a node has no rule and only hands its input on, as transitions and
// displays do. Such a node becomes no node: its edges are joined.
func (s *source) passes() bool {
	return s.rule == nil && passThrough.MatchString(strings.ToLower(s.kind))
}

// findRule finds how a node is taken over; nil makes it a note.
func findRule(s *source, kinds *flow.Registry) *rule {
	kind := strings.ToLower(strings.TrimSpace(s.kind))
	for i := range rules {
		r := &rules[i]
		_, carried := s.values[r.carries]
		fits := r.types != nil && r.types.MatchString(kind) || r.carries != "" && carried
		if fits && kinds.Find(r.kind) != nil && (r.unless == nil || !r.unless(s)) {
			return r
		}
	}
	return nil
}

// port is where an edge arrives that the file leads to a setting.
func (r *rule) port(s *source, l *link) (string, bool) {
	switch {
	case r.kind == "output":
		return "value", true
	case r.kind == "template":
		return mergePort(l), true
	case r.kind == "hosted_model":
		name := l.name(s.order)
		return "input." + name, name != ""
	}
	name := l.name(r.order(s))
	for _, p := range r.fields {
		if p.from == name && !p.typed() {
			return p.field(), true
		}
	}
	if strings.HasPrefix(name, "image_url") && slices.ContainsFunc(r.fields, func(p pair) bool { return p.to == "images" }) {
		return "images", true
	}
	return "", false
}

// name is the setting that an edge feeds.
func (l *link) name(order []string) string {
	if l.field != "" {
		return l.field
	}
	if l.place < len(order) {
		return order[l.place]
	}
	return ""
}

// order are the settings that edges arrive at when they have no name: as the
// file says, or else as nodes of this sort have them.
func (r *rule) order(s *source) []string {
	if len(s.order) > 0 {
		return s.order
	}
	var list []string
	for _, p := range r.fields {
		if !p.typed() {
			list = append(list, p.from)
		}
	}
	return list
}
