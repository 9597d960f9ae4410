package servertools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/mcpclient"
	"sluice/providers"
)

// Options of the field "on_change".
const (
	OnChangeSkip = "skip"
	OnChangeFail = "fail"
)

// hostsConfig is the config value of a call with the hosts that the setting of the tool lists.
const hostsConfig = "tool.hosts"

// Arguments is the port with all arguments of a call. InputPrefix begins the ports of single ones.
const (
	Arguments   = "arguments"
	InputPrefix = "input."
)

// Servers opens sessions with servers of tools. See New.
type Servers interface {
	Open(ctx context.Context, server mcpclient.Server) (Session, error)
}

// Session is a session with a server; *mcpclient.Session implements it.
type Session interface {
	Known(ctx context.Context) ([]mcpclient.Tool, error)
	Call(ctx context.Context, name string, arguments *flow.Object, key string) (*mcpclient.Result, error)
	Close() error
}

// New returns the servers that a client reaches.
func New(c *mcpclient.Client) Servers { return client{c} }

type client struct{ *mcpclient.Client }

// Open implements Servers.
func (c client) Open(ctx context.Context, server mcpclient.Server) (Session, error) {
	s, err := c.Client.Open(ctx, server)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Check checks the stored tools.
func Check(n *flow.Node) []flow.Problem {
	list, problems := flow.ServerTools(n.Config["tools"])
	for i := range problems {
		problems[i].Pointer = flow.Pointer("tools") + problems[i].Pointer
	}
	if _, isList := n.Config["tools"].([]any); isList && len(problems) == 0 && n.Tool != nil && len(list) == 0 {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer("tools"), Code: "required", Detail: "choose at least one tool of the server, or the agent has none of it"})
	}
	if _, isList := n.Config["tools"].([]any); isList && len(problems) == 0 && n.Tool == nil && len(list) != 1 {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer("tools"), Code: "invalid",
			Detail: fmt.Sprintf("a step calls exactly one tool, and this one lists %d; connect it to an agent to offer several", len(list))})
	}
	return problems
}

// Schema returns a field for each argument: of the one tool of a step, and of all tools for an agent,
// where a value binds the argument of that name in every tool.
func Schema(n *flow.Node) flow.DynamicSchema {
	list, _ := flow.ServerTools(n.Config["tools"])
	var shape flow.DynamicSchema
	seen := map[string]bool{}
	for i := range list {
		properties, _ := flow.AsObject(list[i].Schema.Get("properties"))
		required, _ := list[i].Schema.Get("required").([]any)
		for name, property := range properties.All() {
			if seen[name] || name == "" || strings.ContainsAny(name, "{} \t\n") {
				continue
			}
			seen[name] = true
			f := argumentField(name, resolved(list[i].Schema, property))
			f.Required = n.Tool == nil && slices.Contains(required, any(name))
			f.More = !f.Required
			shape.Fields = append(shape.Fields, f)
		}
	}
	return shape
}

// resolved returns a property with its definition in the place of a reference.
func resolved(root *flow.Object, property any) *flow.Object {
	o, _ := flow.AsObject(property)
	for range 8 {
		ref, isRef := o.Get("$ref").(string)
		if !isRef {
			break
		}
		o, _ = flow.AsObject(value.Get(root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	return o
}

// argumentField returns the field for an argument.
func argumentField(name string, schema *flow.Object) flow.Field {
	f := flow.Field{Name: InputPrefix + name, Title: name, Help: wording.Truncate(flow.Text(schema.Get("description")), 500), Type: flow.FieldJSON, Template: true, Suggest: schema.Get("default")}
	if title := flow.Text(schema.Get("title")); title != "" {
		f.Title = wording.Truncate(title, 80)
	}
	options, _ := schema.Get("enum").([]any)
	switch schema.Get("type") {
	case "string":
		f.Type = flow.FieldText
		for _, o := range options {
			if text, isText := o.(string); isText {
				f.Options = append(f.Options, text)
			}
		}
		if len(f.Options) == len(options) && len(options) > 0 {
			f.Type, f.Template = flow.FieldSelect, false
		} else {
			f.Options = nil
		}
	case "number":
		f.Type, f.Template = flow.FieldNumber, false
	case "integer":
		f.Type, f.Template = flow.FieldInteger, false
	case "boolean":
		f.Type, f.Template = flow.FieldBoolean, false
	case "array":
		f.Type = flow.FieldList
		f.Value = flow.TypeAny
	}
	return f
}

// Effect returns write if one of the tools changes something.
func Effect(n *flow.Node) flow.Effect {
	list, _ := flow.ServerTools(n.Config["tools"])
	for i := range list {
		if list[i].Effect == flow.EffectWrite {
			return flow.EffectWrite
		}
	}
	return flow.EffectRead
}

// Offers returns the tools of a node. Arguments with values of the node are not offered.
func Offers(n *flow.Node, isBound func(port string) bool) []flow.ToolOffer {
	list, _ := flow.ServerTools(n.Config["tools"])
	prefix := ""
	if n.Tool != nil {
		prefix = n.Tool.Name
	}
	offers := make([]flow.ToolOffer, len(list))
	for i, name := range flow.ServerToolNames(prefix, list) {
		t := &list[i]
		offers[i] = flow.ToolOffer{
			Name: name, Description: t.Description, Effect: t.Effect, Port: Arguments,
			Schema: openSchema(t.Schema, func(argument string) bool { return isBound(InputPrefix + argument) }),
			Config: map[string]any{"tools": []any{t.Value()}},
		}
		if n.Tool != nil && len(n.Tool.Hosts) > 0 {
			hosts := make([]any, len(n.Tool.Hosts))
			for j, host := range n.Tool.Hosts {
				hosts[j] = host
			}
			offers[i].Config[hostsConfig] = hosts
		}
	}
	return offers
}

// openSchema returns the schema of the arguments that are not bound.
func openSchema(schema *flow.Object, isBound func(argument string) bool) *flow.Object {
	properties, _ := flow.AsObject(schema.Get("properties"))
	open := &flow.Object{}
	for name, property := range properties.All() {
		if !isBound(name) {
			open.Set(name, property)
		}
	}
	if open.Len() == properties.Len() {
		return schema
	}
	out := schema.Clone()
	out.Set("properties", open)
	required, _ := schema.Get("required").([]any)
	required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return isBound(flow.Text(name)) })
	if required == nil {
		required = []any{}
	}
	out.Set("required", required)
	return out
}

// serverCall is a call of a tool in progress.
type serverCall struct {
	in      *flow.In
	servers Servers
	server  mcpclient.Server
	tool    flow.ServerTool
}

// Call runs a step: it compares the tool with that of the server and calls it.
func Call(ctx context.Context, servers Servers, in *flow.In) (flow.Out, error) {
	list, problems := flow.ServerTools(in.Config["tools"])
	if len(problems) > 0 || len(list) != 1 {
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "A step calls exactly one valid tool of an MCP server. Choose its tool again.")
	}
	c := &serverCall{in: in, servers: servers, tool: list[0]}
	arguments, err := c.arguments(ctx)
	if err != nil {
		return flow.Out{}, err
	}
	if err := c.open(ctx); err != nil {
		return flow.Out{}, err
	}
	r, output, err := c.call(ctx, arguments)
	if err != nil {
		e, isServer := errors.AsType[*mcpclient.Error](err)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return flow.Out{Unanswered: isServer && e.Sent}, mcpclient.AsFlowError(err)
	}
	return c.convert(ctx, r, output)
}

// arguments returns the arguments of the call. They are validated by the stored schema.
func (c *serverCall) arguments(ctx context.Context) (*flow.Object, error) {
	arguments, isObject := flow.AsObject(c.in.Config[Arguments])
	if given := c.in.Config[Arguments]; given != nil && given != "" && !isObject {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The arguments must be a JSON object, got %s.", flow.TypeOf(given))
	}
	all := &flow.Object{}
	for name, v := range arguments.All() {
		all.Set(name, v)
	}
	for _, name := range slices.Sorted(maps.Keys(c.in.Config)) {
		if argument, isInput := strings.CutPrefix(name, InputPrefix); isInput && c.takes(argument) {
			all.Set(argument, c.in.Config[name])
		}
	}
	t := providers.Tool{Name: c.tool.Name, Parameters: c.tool.Schema}
	valid, wrong, err := t.ReadArguments(ctx, string(flow.EncodeJSON(all)))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, flow.Errorf(flow.CodeInputInvalid, "The schema of the tool %s cannot be used: %s", c.tool.Name, wording.Sentence(err.Error()))
	case wrong != "":
		return nil, flow.Errorf(flow.CodeInputInvalid, "The arguments of %s are invalid: %s", c.tool.Name, wording.Period(wrong))
	}
	return valid, nil
}

// takes reports whether the tool has an argument: a value that binds it in another tool of the node is
// not sent.
func (c *serverCall) takes(argument string) bool {
	properties, _ := flow.AsObject(c.tool.Schema.Get("properties"))
	return properties.Has(argument)
}

// open resolves the credential.
func (c *serverCall) open(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.servers == nil {
		return errors.New("servertools: there is no client of servers")
	}
	access, err := c.in.Access(ctx, flow.ProviderMCP, c.in.Config["credential"])
	switch {
	case err != nil:
		return err
	case access.Provider != flow.ProviderMCP || access.BaseURL == "":
		return flow.Errorf(flow.CodeProviderAuth, "The credential %q is not for an MCP server. Add one with \"sluice credential add --provider mcp --base-url https://…\", or under Credentials.", access.Name)
	}
	if hosts, listed := c.in.Config[hostsConfig].([]any); listed && !slices.ContainsFunc(hosts, func(h any) bool { return flow.IsHostOf(flow.Text(h), access.BaseURL) }) {
		return flow.Errorf(flow.CodeToolFailed, "This tool must not reach %s, the host of the credential %q. Add it to the hosts of the tool, or choose another credential.", flow.HostOf(access.BaseURL), access.Name)
	}
	if c.in.TakeCall != nil { // nil outside of a run
		if err := c.in.TakeCall(ctx, access); err != nil {
			return err
		}
	}
	c.server = mcpclient.Server{Name: access.Name, URL: access.BaseURL, Secret: access.Secret, Trusted: access.Trusted, Update: access.Update}
	c.server.Sends = func(text string) { _, _ = c.in.Secret(context.Background(), text, "") } // removes it from results and errors
	return nil
}

// call calls the tool in the session of the run. If the server has lost the session, so that the call was
// not executed, it begins another one and calls once more.
func (c *serverCall) call(ctx context.Context, arguments *flow.Object) (*mcpclient.Result, *flow.Object, error) {
	sessions := c.in.Sessions
	if sessions == nil {
		sessions = &flow.Sessions{}
		defer sessions.Close()
	}
	key := flow.ProviderMCP + " " + c.server.Name + " " + c.server.URL
	for again := true; ; again = false {
		opened, err := sessions.Take(ctx, key, func(ctx context.Context) (io.Closer, error) { return c.servers.Open(ctx, c.server) })
		if err != nil {
			return nil, nil, err
		}
		session := opened.(Session)
		output, err := c.compare(ctx, session)
		var r *mcpclient.Result
		if err == nil {
			r, err = session.Call(ctx, c.tool.Name, arguments, c.in.Key)
		}
		e, isServer := errors.AsType[*mcpclient.Error](err)
		if !isServer {
			return r, output, err
		}
		if e.Class == mcpclient.ClassSession || e.Class == mcpclient.ClassUnreachable || e.Class == mcpclient.ClassInvalid {
			sessions.Drop(key, session)
		}
		if e.Class != mcpclient.ClassSession || !again {
			return nil, nil, err
		}
	}
}

// compare returns an error if the server describes the tool differently than the node, and the schema of its
// structured results.
func (c *serverCall) compare(ctx context.Context, session Session) (output *flow.Object, err error) {
	list, err := session.Known(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(t mcpclient.Tool) bool { return t.Name == c.tool.Name })
	switch {
	case i < 0:
		return nil, flow.Errorf(flow.CodeToolChanged, "%s has no tool %q any more. Check its tools in the builder, and choose another one.", c.server.Name, c.tool.Name)
	case list[i].SHA256 != c.tool.SHA256:
		return nil, flow.Errorf(flow.CodeToolChanged, "%s describes its tool %q differently than when it was allowed, so it was not called. Check its tools in the builder, and accept the change or turn the tool off.", c.server.Name, c.tool.Name)
	}
	return list[i].Output, nil
}

// convert returns the outputs of a result, and stores its files with the run.
func (c *serverCall) convert(ctx context.Context, r *mcpclient.Result, schema *flow.Object) (flow.Out, error) {
	if r.Failed {
		return flow.Out{}, flow.Errorf(flow.CodeToolFailed, "The tool %s of %s failed: %s", c.tool.Name, c.server.Name, wording.Period(wording.Truncate(r.Text, maxServerError)))
	}
	if schema != nil && r.Structured != nil {
		t := providers.Tool{Name: c.tool.Name, Parameters: schema}
		if _, wrong, err := t.ReadArguments(ctx, string(flow.EncodeJSON(r.Structured))); err == nil && wrong != "" {
			return flow.Out{}, flow.Errorf(flow.CodeOutputInvalid, "The result of %s does not match the schema that %s gives: %s", c.tool.Name, c.server.Name, wording.Period(wrong))
		}
	}
	files := []any{}
	for _, b := range r.Blobs {
		file, err := c.in.SaveFile(ctx, b.Name, b.MIME, bytes.NewReader(b.Content))
		if err != nil {
			return flow.Out{}, err
		}
		files = append(files, file)
	}
	outputs := map[string]any{"text": r.Text, "files": files, "result": any(r.Text)}
	if r.Structured != nil {
		outputs["json"], outputs["result"] = r.Structured, r.Structured
	}
	if len(files) > 0 {
		outputs["result"] = map[string]any{"result": outputs["result"], "files": files}
	}
	return flow.Out{Outputs: outputs}, nil
}

// maxServerError is the length of an error of a tool, in characters.
const maxServerError = 2000
