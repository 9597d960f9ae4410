package nodes

import (
	"context"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/nodes/servertools"
)

// The mcp kind calls tools of servers of the Model Context Protocol: as a step one tool, as a tool of an
// agent all that the node lists. Package servertools does the work.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: flow.KindMCP, Title: "MCP server", Group: groupSources, Icon: "plug", Class: flow.Outside,
		Summary: "Calls tools of an MCP server.",
		Doc: "Calls a tool of a server of the Model Context Protocol (MCP). The server is a credential of the provider `mcp`: its URL, with a token or a header if it needs one. " +
			"Connected to an agent, the node offers all the tools that it lists; as a step of its own it calls one, which has a port per input. See [MCP servers](mcp-client.md).\n\n" +
			"The node stores the name, the description and the schema of each tool as they were when somebody allowed it, with a hash. **Only these are offered.** Before the first call in a run, Sluice compares " +
			"them with those of the server, at most every 5 minutes. A tool that has changed there is not called until somebody accepts the change: a description is text that a model follows. Publishing never calls the server.\n\n" +
			"All requests of a run to a server share one session, which ends when the run ends or waits. Each call has a key in `_meta` (`sluice/idempotency-key`) that is equal in all of its attempts. " +
			"A call that changes something is made at most once by an agent: if its answer is lost, the model learns that the outcome is unknown.",
		Fields: []flow.Field{
			{Name: "credential", Title: "Server", Type: flow.FieldSecret, Required: true, Typed: true,
				Help: "A credential of the provider MCP server."},
			{Name: "tools", Title: "Tools", Type: flow.FieldJSON, Required: true, Typed: true,
				Help: "The allowed tools, as \"Check tools\" and \"sluice credential tools\" return them: name, description, schema, effect and sha256."},
			{Name: "on_change", Title: "If a tool has changed", Type: flow.FieldSelect, Typed: true, More: true, Options: []string{servertools.OnChangeSkip, servertools.OnChangeFail},
				Labels: []string{"Continue without it", "Fail"}, Default: servertools.OnChangeSkip, Help: "What an agent does when the server describes an allowed tool differently. A step of its own fails in any case."},
			{Name: servertools.Arguments, Title: "Arguments (JSON)", Type: flow.FieldJSON, Template: true, More: true,
				Help: "Arguments as one JSON object. A value in a field of its own takes precedence."},
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The texts of the result."},
			{Name: "json", Title: "JSON", Type: flow.TypeAny, Optional: true, Help: "The structured result, if there is one."},
			{Name: "files", Title: "Files", Type: flow.TypeList, Items: flow.TypeFile, Help: "Pictures, recordings and other files of the result."},
			{Name: "result", Title: "Result", Type: flow.TypeAny, More: true, Help: "What an agent gets: the structured result or the text, with the files if there are any."},
		},
		Example: flow.Example{
			Config: map[string]any{"credential": flow.SecretRefTo("issues"), "tools": []any{value.Plain(exampleTool.Value())}, "input.number": 17},
		},
		DynamicSchema: servertools.Schema,
		Untrusted:     fromOutside,
		Tool:          &flow.ToolUse{Effect: servertools.Effect, Result: []string{"result"}, Offers: servertools.Offers},
		Check:         servertools.Check,
		Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
			return servertools.Call(ctx, d.ToolServers, in)
		},
	}
})

// exampleTool is the tool of the example.
var exampleTool = flow.ServerTool{
	Name: "get_issue", Description: "Reads an issue.", Effect: flow.EffectRead,
	Schema: value.NewObject(value.Member{Name: "type", Value: "object"}, value.Member{Name: "properties", Value: map[string]any{"number": map[string]any{"type": "integer"}}}, value.Member{Name: "required", Value: []any{"number"}}),
}
