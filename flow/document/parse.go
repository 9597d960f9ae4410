package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/sorting"
)

// ParseDocument parses a document strictly and reports all problems of its form at once:
// unknown fields, wrong types, invalid IDs. The document is nil only if data is not a JSON
// object. Otherwise it contains all valid parts, so that an editor can still show it. It does not
// validate the nodes; see Validate.
func ParseDocument(data []byte) (*flow.Document, []flow.Problem) {
	if len(data) > flow.MaxDocumentBytes {
		return nil, []flow.Problem{{Code: "too_large", Detail: fmt.Sprintf("the document is larger than %d MiB", flow.MaxDocumentBytes>>20)}}
	}
	v, err := flow.DecodeJSON(data)
	if err != nil {
		return nil, []flow.Problem{err.(*flow.ProblemError).Problem}
	}
	return ParseDocumentValue(v)
}

// ParseDocumentValue is ParseDocument for JSON that is already decoded.
func ParseDocumentValue(v any) (*flow.Document, []flow.Problem) {
	r := &reader{}
	o := r.object(v, "")
	if o == nil {
		return nil, r.problems
	}
	o.text("$schema", false) // for text editors; not part of the flow
	d := &flow.Document{
		Schema:      o.text("schema", true),
		Slug:        o.slug(),
		Name:        o.label("name", true, MaxNameLength),
		Description: o.label("description", false, 10_000),
		Nodes:       []flow.Node{}, Edges: []flow.Edge{},
	}
	if d.Schema != flow.Schema && d.Schema != "" {
		o.problem("schema", "unknown_schema", fmt.Sprintf("this is %q; this version of Sluice reads %q", d.Schema, flow.Schema))
	}
	for i, v := range o.atMost(flow.MaxNodes, "nodes", true) {
		d.Nodes = append(d.Nodes, r.node(v, flow.Pointer("nodes", i)))
	}
	for i, v := range o.atMost(flow.MaxEdges, "edges", false) {
		d.Edges = append(d.Edges, r.edge(v, flow.Pointer("edges", i)))
	}
	for i, v := range o.atMost(flow.MaxNodes, "groups", false) {
		d.Groups = append(d.Groups, r.group(v, flow.Pointer("groups", i)))
	}
	o.rest()
	return d, r.problems
}

// slug reads the optional name of the flow in URLs.
func (o *object) slug() string {
	s := o.text("slug", false)
	if _, set := o.fields["slug"]; set && (s != "" || o.fields["slug"] == "") {
		if wrong := CheckSlug(s); wrong != "" {
			o.problem("slug", "invalid", wrong)
		}
	}
	return s
}

// node reads a node. The result is complete even with problems, for example with an empty config
// instead of nil.
func (r *reader) node(v any, at string) flow.Node {
	o := r.object(v, at)
	if o == nil {
		return flow.Node{Config: map[string]any{}}
	}
	n := flow.Node{ID: o.text("id", true)}
	o.node = n.ID
	if n.ID != "" && !flow.NodeIDPattern.MatchString(n.ID) {
		o.problem("id", "invalid", "an ID has 1 to 64 of the characters a-z, 0-9, _ and -")
	}
	n.Kind, n.Label, n.Color = o.text("kind", true), o.label("label", false, 200), o.label("color", false, 40)
	n.Disabled = o.boolean("disabled")
	n.TimeoutS = o.number("timeout_s", 0, flow.MaxNodeTimeoutS)
	if p := o.child("position"); p != nil {
		n.Position = &flow.Position{X: p.number("x", -1e9, 1e9), Y: p.number("y", -1e9, 1e9)}
		p.rest()
	}
	if p := o.child("retry"); p != nil {
		n.Retry = &flow.Retry{Attempts: p.count("attempts", flow.MaxRetryAttempts), BackoffS: p.number("backoff_s", 0, flow.MaxBackoffS)}
		p.rest()
	}
	n.OnError = o.onError()
	n.Tool = o.tool()
	if n.Config = map[string]any{}; o.fields["config"] != nil {
		if c := o.child("config"); c != nil {
			n.Config, n.ConfigOrder = c.fields, c.order
		}
	}
	o.seen["config"] = true
	o.rest()
	return n
}

// onError reads the error handling of a node. "fail" is the default and is stored as nil, so that
// documents that say it and documents that omit it have the same hash.
func (o *object) onError() *flow.OnError {
	v, ok := o.take("on_error")
	if !ok || v == "fail" {
		return nil
	}
	if v == "route" {
		return &flow.OnError{Route: true}
	}
	if m, isMap := flow.AsMap(v); isMap && len(m) == 1 {
		if values, isMap := flow.AsMap(m["continue"]); isMap {
			return &flow.OnError{Continue: values}
		}
	}
	o.problem("on_error", "invalid", `write "fail", "route" or {"continue": {"port": value}}`)
	return nil
}

// tool reads the setting of a node that is a tool.
func (o *object) tool() *flow.Tool {
	p := o.child("tool")
	if p == nil {
		return nil
	}
	t := &flow.Tool{
		Name: p.text("name", false), Description: p.label("description", false, flow.MaxToolDescription),
		Effect:  flow.Effect(p.option("effect", string(flow.EffectRead), string(flow.EffectWrite))),
		OnCrash: p.option("on_crash", flow.OnCrashRepeat, flow.OnCrashOnce),
		OnError: p.option("on_error", flow.ToolErrorModel, flow.ToolErrorFail),
	}
	t.Approval = p.text("approval", false)
	t.Editable, t.Hosts = p.names("editable"), p.names("hosts")
	if _, set := p.fields["max_calls"]; set {
		t.MaxCalls = p.count("max_calls", flow.MaxToolCalls)
	}
	if params := p.child("params"); params != nil {
		for _, port := range params.order {
			if param := params.child(port); param != nil {
				read := flow.ToolParam{Port: port, Description: param.label("description", false, flow.MaxToolDescription)}
				if schema, set := param.take("schema"); set {
					if _, isObject := flow.AsObject(schema); !isObject {
						param.want("schema", "a JSON Schema", schema)
					} else {
						read.Schema = schema
					}
				}
				param.rest()
				t.Params = append(t.Params, read)
			}
		}
	}
	p.rest()
	return t
}

// names reads a list of texts.
func (o *object) names(name string) (list []string) {
	for i, v := range o.atMost(flow.MaxPorts, name, false) {
		text, isText := v.(string)
		if !isText || text == "" {
			o.problem(name+"/"+strconv.Itoa(i), "wrong_type", "wanted a text")
		}
		list = append(list, text)
	}
	return list
}

// option reads a text that is one of a few; a missing one is empty.
func (o *object) option(name string, options ...string) string {
	s := o.text(name, false)
	if s != "" && !slices.Contains(options, s) {
		o.problem(name, "not_allowed", "wanted one of "+flow.InputNames(options))
		return ""
	}
	return s
}

// edge reads an edge. Validate checks that its ports exist.
func (r *reader) edge(v any, at string) flow.Edge {
	o := r.object(v, at)
	if o == nil {
		return flow.Edge{}
	}
	e := flow.Edge{From: o.text("from", true), To: o.text("to", true)}
	o.rest()
	return e
}

// group reads a group of nodes, a frame on the canvas.
func (r *reader) group(v any, at string) flow.Group {
	o := r.object(v, at)
	if o == nil {
		return flow.Group{Nodes: []string{}}
	}
	g := flow.Group{ID: o.text("id", true), Label: o.label("label", false, 200), Color: o.label("color", false, 40), Nodes: []string{}}
	for i, n := range o.atMost(flow.MaxNodes, "nodes", true) {
		s, ok := n.(string)
		if !ok {
			o.problem(fmt.Sprintf("nodes/%d", i), "wrong_type", "wanted the ID of a node as text, got "+flow.TypeOf(n))
			continue
		}
		g.Nodes = append(g.Nodes, s)
	}
	o.rest()
	return g
}

// maxProblems bounds how many problems a reader collects. A document of 4 MiB can have a million.
const maxProblems = 1000

// reader collects the problems of a decoded document.
type reader struct{ problems []flow.Problem }

// report adds a problem, unless there are many already.
func (r *reader) report(p flow.Problem) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, p)
	}
}

// object is a JSON object being read. take marks names as known, for rest.
type object struct {
	r      *reader
	at     string
	node   string
	fields map[string]any
	order  []string // names of fields as written
	seen   map[string]bool
}

// object begins to read a JSON object. It returns nil, with a problem, if the value is
// something else.
func (r *reader) object(v any, at string) *object {
	members, ok := flow.AsObject(v)
	if !ok {
		r.report(flow.Problem{Pointer: at, Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)})
		return nil
	}
	return &object{r: r, at: at, fields: members.Map(), order: members.Names(), seen: map[string]bool{}}
}

// problem reports a problem of a member, or of the object itself if name is "".
func (o *object) problem(name, code, detail string) {
	at := o.at
	if name != "" {
		at += "/" + name
	}
	o.r.report(flow.Problem{Pointer: at, Code: code, Detail: detail, Node: o.node})
}

// atMost returns a list without the items beyond a number, which are a problem. They are not read,
// because a small text can have a million.
func (o *object) atMost(most int, name string, required bool) []any {
	list := o.list(name, required)
	if len(list) <= most {
		return list
	}
	o.problem(name, "too_many", fmt.Sprintf("at most %d %s, this flow has %d", most, name, len(list)))
	return list[:most]
}

// take returns a member and marks its name as known, so that rest does not report it.
func (o *object) take(name string) (any, bool) {
	o.seen[name] = true
	v, ok := o.fields[name]
	return v, ok
}

// want reports a member of the wrong type.
func (o *object) want(name, want string, got any) {
	o.problem(name, "wrong_type", fmt.Sprintf("wanted %s, got %s", want, flow.TypeOf(got)))
}

// text reads a text; a required one may not be empty.
func (o *object) text(name string, required bool) string {
	v, ok := o.take(name)
	if !ok {
		if required {
			o.problem(name, "required", fmt.Sprintf("%q is missing", name))
		}
		return ""
	}
	s, isText := v.(string)
	if !isText {
		o.want(name, "text", v)
	} else if required && s == "" {
		o.problem(name, "required", fmt.Sprintf("%q is empty", name))
	}
	return s
}

// label reads a text that users see: bounded, and without control characters, which would break a
// terminal or a page.
func (o *object) label(name string, required bool, most int) string {
	s := o.text(name, required)
	if utf8.RuneCountInString(s) > most {
		o.problem(name, "too_long", fmt.Sprintf("at most %d characters", most))
	}
	control := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
	if strings.ContainsFunc(s, control) {
		o.problem(name, "invalid", "control characters are not allowed")
	}
	return s
}

// boolean reads true or false; a missing member is false.
func (o *object) boolean(name string) bool {
	v, ok := o.take(name)
	if !ok {
		return false
	}
	b, isBool := v.(bool)
	if !isBool {
		o.want(name, "true or false", v)
	}
	return b
}

// number reads a number within bounds; a missing member is 0.
func (o *object) number(name string, least, most float64) float64 {
	v, ok := o.take(name)
	if !ok {
		return 0
	}
	f, isNumber := flow.Float(v)
	switch {
	case !isNumber || math.IsInf(f, 0):
		o.want(name, "a number", v)
	case f < least || f > most:
		o.problem(name, "out_of_range", fmt.Sprintf("wanted a number from %s to %s", flow.FormatNumber(least), flow.FormatNumber(most)))
	}
	return f
}

// count reads a required whole number from 1 to most.
func (o *object) count(name string, most float64) int {
	if _, ok := o.fields[name]; !ok {
		o.seen[name] = true
		o.problem(name, "required", fmt.Sprintf("%q is missing", name))
		return 0
	}
	f := o.number(name, 1, most)
	if f != math.Trunc(f) {
		o.problem(name, "wrong_type", "wanted a whole number, got "+flow.Text(o.fields[name]))
	}
	return int(f)
}

// list reads a list. A missing one is empty, and a problem if it is required.
func (o *object) list(name string, required bool) []any {
	v, ok := o.take(name)
	if !ok {
		if required {
			o.problem(name, "required", fmt.Sprintf("%q is missing", name))
		}
		return nil
	}
	l, isList := v.([]any)
	if !isList {
		o.want(name, "a list", v)
	}
	return l
}

// child begins to read an object inside this one; nil if it is missing. Problems in it
// belong to the same node.
func (o *object) child(name string) *object {
	v, ok := o.take(name)
	if !ok {
		return nil
	}
	c := o.r.object(v, o.at+"/"+name)
	if c != nil {
		c.node = o.node
	}
	return c
}

// rest reports all members that take has not read.
func (o *object) rest() {
	for _, name := range sorting.Keys(o.fields) {
		if !o.seen[name] {
			o.problem(strings.TrimPrefix(flow.Pointer(name), "/"), "unknown_field", fmt.Sprintf("%q is not known here", name)+flow.Closest(name, o.seen))
		}
	}
}

// MaxNameLength is the maximum number of characters in the name of a flow.
const MaxNameLength = 200
