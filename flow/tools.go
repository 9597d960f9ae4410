package flow

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sluice/flow/value"
)

// A tool is a node that an agent may call: an edge leads from its port "tool" to a port of type
// TypeTool. It never runs on its own. The model fills its open ports; the values of the others are
// bound, and the model neither sees nor changes them.

// ToolPort is the output port of a node that is a tool. It has no others.
const ToolPort = "tool"

// TypeTool is the type of the edges between tools and agents.
const TypeTool Type = "tool"

// Limits of tools.
const (
	MaxTools           = 100      // of one agent
	MaxToolSchemas     = 32 << 10 // bytes of the schemas of one agent's tools
	MaxToolDescription = 4000     // characters
	MaxToolCalls       = 1000     // calls in one run of an agent
)

// Effect is what a call of a tool may change outside of the run.
type Effect string

// The effects of tools.
const (
	EffectRead  Effect = "read"  // nothing: repeating a call does no harm
	EffectWrite Effect = "write" // something: a call must not be repeated
)

// What happens to a call whose worker died before its result was recorded.
const (
	OnCrashRepeat = "repeat" // it is made again, with the same idempotency key
	OnCrashOnce   = "once"   // it is not made again; its outcome is unknown
)

// What happens when a call fails.
const (
	ToolErrorModel = "model" // the model gets the error
	ToolErrorFail  = "fail"  // the agent fails
)

// Values of Tool.Approval. Any other is a condition over the arguments of a call.
const (
	ApprovalAuto   = "auto"   // people are asked before a write once the conversation has content from outside
	ApprovalAlways = "always" // people are asked before each call
	ApprovalNever  = "never"  // no person is asked
)

// Tool is the setting that makes a node a tool.
type Tool struct {
	Name        string      `json:"name,omitempty"` // as the model calls it; empty: derived from the ID of the node
	Description string      `json:"description,omitempty"`
	Params      []ToolParam `json:"-"`                  // by open port, in the order in which they were written
	Effect      Effect      `json:"effect,omitempty"`   // empty: that of the kind
	OnCrash     string      `json:"on_crash,omitempty"` // empty: once for a write, repeat for a read
	OnError     string      `json:"on_error,omitempty"` // empty: ToolErrorModel
	MaxCalls    int         `json:"max_calls,omitempty"`
	Approval    string      `json:"approval,omitempty"` // empty: ApprovalAuto
	Editable    []string    `json:"editable,omitempty"` // arguments that people may change
	Hosts       []string    `json:"hosts,omitempty"`    // that calls may reach; empty: all
}

// ToolParam describes an open port to the model.
type ToolParam struct {
	Port        string
	Description string
	Schema      any // JSON Schema, an object of package value; nil: that of the port's type
}

// MarshalJSON writes the members in the order of the struct, and those of params in the order in
// which they were written.
func (t Tool) MarshalJSON() ([]byte, error) {
	var params *Object
	for _, p := range t.Params {
		if params == nil {
			params = &Object{}
		}
		param := &Object{}
		if p.Description != "" {
			param.Set("description", p.Description)
		}
		if p.Schema != nil {
			param.Set("schema", p.Schema)
		}
		params.Set(p.Port, param)
	}
	type plain Tool
	return EncodeJSON(struct {
		plain
		Params *Object `json:"params,omitempty"`
	}{plain(t), params}), nil
}

// ToolUse declares how nodes of a kind serve as tools.
type ToolUse struct {
	// Effect proposes the effect of a node's calls. Nil means that they only read.
	Effect func(n *Node) Effect
	// Result lists the output ports whose values are the result of a call. A single one is the
	// result itself, several are an object. Empty means all ports.
	Result []string
	// Opens is a prefix of ports that are open although they are optional.
	Opens string
	// Cites means that a URL which the model chooses must stand literally in the inputs of the agent or in a result, so that
	// the model cannot put data into it.
	Cites bool
	// Sources says how results number what they quote; nil if they do not.
	Sources *ToolSources
	// Offers returns the tools that a node stands for, if one node may be several, such as those of a
	// server. isBound reports whether a port has a typed value or an edge. Nil: the node is one
	// tool, whose arguments are its open ports. The name in the setting of such a node begins the names
	// of its tools.
	Offers func(n *Node, isBound func(port string) bool) []ToolOffer
}

// ToolSources names the fields and the output of a kind whose results quote numbered sources. An agent gives each call numbers of its own, so that its answer can
// cite the results of all.
type ToolSources struct {
	First  string // field with the number of the first source; its maximum bounds all
	Most   string // field with how many sources a result has at most
	Output string // output with the sources by number
}

// ToolOffer is a tool as models see it: a node, or one of the tools that a node stands for.
type ToolOffer struct {
	Name        string // by which models call it
	Description string
	Schema      *Object // JSON Schema of the arguments
	Effect      Effect
	// Port gets the arguments of a call as one object. Empty: they are the values of open ports.
	Port string
	// Config is what a call has instead of the config of the node.
	Config map[string]any
}

// ToolOffers returns the tools that a node stands for. The setting of the node takes precedence over
// the effects that are proposed.
func ToolOffers(n *Node, k *Kind, open []Port, isFed func(port string) bool) []ToolOffer {
	if k.Tool == nil || k.Tool.Offers == nil {
		return []ToolOffer{{Name: n.ToolName(), Description: n.Tool.Description, Schema: ToolSchema(n, k, open), Effect: n.ToolEffect(k)}}
	}
	offers := k.Tool.Offers(n, func(port string) bool {
		f := k.Field(port)
		return isFed(port) || f != nil && n.HasValue(f)
	})
	if n.Tool != nil && n.Tool.Effect != "" {
		for i := range offers {
			offers[i].Effect = n.Tool.Effect
		}
	}
	return offers
}

// CallsOnce reports whether a call of a tool of a node must not be made again after a crash. A call that
// starts a child run is made once anyway, because the child run is found again.
func (o *ToolOffer) CallsOnce(n *Node, k *Kind) bool {
	how := OnCrashRepeat
	if o.Effect == EffectWrite {
		how = OnCrashOnce
	}
	if n.Tool != nil {
		how = cmp.Or(n.Tool.OnCrash, how)
	}
	return how == OnCrashOnce && !k.StartsRuns()
}

// toolName matches the names of tools, which all providers accept.
var toolName = regexp.MustCompile(`^[a-z0-9_]{1,48}$`)

// IsToolName reports whether providers accept a text as the name of a tool.
func IsToolName(s string) bool { return toolName.MatchString(s) }

// ToolName returns the name by which models call a node.
func (n *Node) ToolName() string {
	if n.Tool != nil && n.Tool.Name != "" {
		return n.Tool.Name
	}
	name := strings.ReplaceAll(n.ID, "-", "_")
	return name[:min(len(name), 48)]
}

// ToolEffect returns the effect of a node's calls: as set, or else as its kind proposes.
func (n *Node) ToolEffect(k *Kind) Effect {
	switch {
	case n.Tool != nil && n.Tool.Effect != "":
		return n.Tool.Effect
	case k.Tool == nil || k.Tool.Effect == nil:
		return EffectRead
	}
	return k.Tool.Effect(n)
}

// OpenPorts returns the ports of a tool that the model fills: placeholders, required ports and those
// that the setting describes, unless they have a typed value or an edge. isFed reports whether an
// edge leads to a port.
func OpenPorts(n *Node, k *Kind, isFed func(port string) bool) []Port {
	var open []Port
	for _, p := range InputPorts(n, k) {
		f := k.Field(p.Name)
		opens := k.Tool != nil && k.Tool.Opens != "" && strings.HasPrefix(p.Name, k.Tool.Opens)
		if isFed(p.Name) || f != nil && n.HasValue(f) || !CanOpen(p, f) || !p.Required && !opens && n.Tool.Param(p.Name) == nil {
			continue
		}
		if f != nil { // its declaration, which a missing value does not change
			p.Required = f.Required
		}
		open = append(open, p)
	}
	return open
}

// CanOpen reports whether a model may fill a port: never one that selects a credential, a model or
// another tool, or that says what the tool may reach. f is the field of the port; nil if it has none.
func CanOpen(p Port, f *Field) bool {
	return p.Type != TypeTool && (f == nil || !f.Scoped && f.Type != FieldSecret && f.Type != FieldModel && f.Type != FieldFlow)
}

// Param returns the description of a port, or nil.
func (t *Tool) Param(port string) *ToolParam {
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.Params, func(p ToolParam) bool { return p.Port == port })
	if i < 0 {
		return nil
	}
	return &t.Params[i]
}

// ToolArgument returns the name of an open port among the arguments of a call.
func ToolArgument(k *Kind, port string) string {
	if k.Tool != nil {
		return strings.TrimPrefix(port, k.Tool.Opens)
	}
	return port
}

// ToolSchema returns the JSON Schema of the arguments of a tool.
func ToolSchema(n *Node, k *Kind, open []Port) *Object {
	properties, required := &Object{}, []any{}
	for _, p := range open {
		name := ToolArgument(k, p.Name)
		properties.Set(name, argumentSchema(p, k.Field(p.Name), n.Tool.Param(p.Name)))
		if p.Required {
			required = append(required, name)
		}
	}
	schema := &Object{}
	schema.Set("type", "object")
	schema.Set("properties", properties)
	schema.Set("required", required)
	schema.Set("additionalProperties", false)
	return schema
}

// argumentSchema returns the JSON Schema of one argument.
func argumentSchema(p Port, f *Field, param *ToolParam) any {
	schema := &Object{}
	if param != nil && param.Schema != nil {
		given, _ := AsObject(param.Schema)
		schema = given.Clone()
	} else {
		if t := argumentTypes[p.Type]; t != "" {
			schema.Set("type", t)
		}
		if f != nil && f.Type == FieldSelect && f.Values == nil {
			options := make([]any, len(f.Options))
			for i := range f.Options {
				options[i] = f.Options[i]
			}
			schema.Set("enum", options)
		}
	}
	help := p.Help
	if param != nil && param.Description != "" {
		help = param.Description
	}
	if help != "" && !schema.Has("description") {
		schema.Set("description", help)
	}
	return schema
}

// argumentTypes maps the types of ports to those of JSON Schema. Others accept any value, except that
// a file is given by its URL and a placeholder is filled with a text.
var argumentTypes = map[Type]string{
	TypeText: "string", TypeNumber: "number", TypeBoolean: "boolean", TypeList: "array", TypeMessages: "array", TypeFile: "string", TypeSource: "string",
}

// BoundTool is a tool of an expanding step with its bound values.
type BoundTool struct {
	Node *Node
	Kind *Kind
	Open []Port
	// Offers are the tools that the node stands for.
	Offers []ToolOffer
	// Hash changes with everything that affects calls: the node, its setting and its bound values.
	Hash  string
	Bound []ApprovalValue // what is bound, as people see it
	// Untrusted reports that a bound value has content from outside.
	Untrusted bool
	// Bind returns the config and the port values of a call, given the values of open ports. It is pure.
	Bind func(values map[string]any) (config, ports map[string]any, err error)
}

// ToolResult returns the result of a call, as models are given it.
func ToolResult(k *Kind, outputs map[string]any) any {
	names := k.Tool.Result
	if len(names) == 0 {
		for _, p := range k.Outputs {
			names = append(names, p.Name)
		}
	}
	if len(names) == 1 {
		return outputs[names[0]]
	}
	result := &Object{}
	for _, name := range names {
		if v, has := outputs[name]; has {
			result.Set(name, v)
		}
	}
	return result
}

// CheckTool returns the problems of the setting of a tool. Pointers are relative to the setting.
func CheckTool(n *Node, k *Kind, isFed func(port string) bool) (problems []Problem) {
	problem := func(member, code, format string, args ...any) {
		p := Problem{Code: code, Detail: fmt.Sprintf(format, args...)}
		if member != "" {
			p.Pointer = Pointer(member)
		}
		problems = append(problems, p)
	}
	t := n.Tool
	if k.Tool == nil {
		problem("", "not_allowed", "%s cannot be a tool.", k.Title)
		return problems
	}
	if strings.TrimSpace(t.Description) == "" && k.Tool.Offers == nil {
		problem("description", "required", "A description is required: the model decides by it when to call the tool.")
	}
	if t.Name != "" && !IsToolName(t.Name) {
		problem("name", "invalid", "The name of a tool has 1 to 48 of the characters a-z, 0-9 and _.")
	}
	if k.Tool.Offers != nil {
		if len(t.Params) > 0 {
			problem("params", "not_allowed", "The server describes the arguments of its tools.")
		}
		for _, p := range OpenPorts(n, k, isFed) {
			if p.Template {
				problem("", "bound", "The model does not fill {{%s}}: connect an edge to it, or type a value.", p.Name)
			}
		}
		return problems
	}
	open := OpenPorts(n, k, isFed)
	for i, name := range t.Editable {
		if !slices.ContainsFunc(open, func(p Port) bool { return ToolArgument(k, p.Name) == name }) {
			problem("editable/"+fmt.Sprint(i), "unknown", "The model does not fill %q, so people cannot change it.", name)
		}
	}
	ports := PortsByName(InputPorts(n, k))
	for _, param := range t.Params {
		p, known := ports[param.Port]
		f := k.Field(param.Port)
		at := "params/" + strings.TrimPrefix(Pointer(param.Port), "/")
		switch {
		case !known:
			problem(at, "unknown", "%s has no input %q.", k.Title, param.Port)
		case isFed(param.Port) || f != nil && n.HasValue(f):
			problem(at, "bound", "%s has a value, so the model cannot fill it: remove the value or this parameter.", cmp.Or(p.Title, p.Name))
		case !CanOpen(p, f):
			problem(at, "not_allowed", "A model cannot fill %s.", cmp.Or(p.Title, p.Name))
		}
	}
	return problems
}

// ToolHash returns what affects the calls of a tool besides its bound values.
func ToolHash(n *Node, open []Port) string {
	names := make([]any, len(open))
	for i := range open {
		names[i] = open[i].Name
	}
	return value.Hash([]any{n.Kind, n.Config, n.ToolName(), value.Plain(mustDecode(EncodeJSON(n.Tool))), names})
}

// mustDecode decodes JSON that was just encoded.
func mustDecode(data []byte) any {
	v, err := value.Decode(data)
	if err != nil {
		panic("flow: decode encoded JSON: " + err.Error())
	}
	return v
}

// CallDestination returns the host that a call of a tool with a config reaches, or what is known of it.
func CallDestination(k *Kind, config map[string]any) string {
	if k.Sends == nil {
		return Text(config["flow"])
	}
	n := &Node{Config: config}
	if hosts := k.Sends.Hosts(n); len(hosts) > 0 {
		return strings.Join(hosts, ", ")
	}
	if text, isSecret := config[k.Sends.Field].(SecretText); isSecret {
		return HostOf(text.String())
	}
	return HostOf(Text(config[k.Sends.Field]))
}
