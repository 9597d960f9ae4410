package flow

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"sluice/flow/value"
)

// Nodes store the tools that they may call at a server, as the server described them when somebody
// allowed them. A tool that the server describes differently later is not called until somebody has
// accepted the change: a description is text that a model obeys.

// KindMCP is the kind of the nodes that call tools of servers, and ProviderMCP the provider of the credentials
// with the addresses of servers.
const (
	KindMCP     = "mcp"
	ProviderMCP = "mcp"
)

// Limits of the tools of a server.
const (
	MaxServerTools      = 1000      // that a server may list
	MaxServerToolName   = 128       // characters, as in the Model Context Protocol
	MaxServerToolBytes  = 64 << 10  // of the definition of one tool
	MaxServerToolsBytes = 256 << 10 // of all definitions that a node stores
)

// ServerTool is the definition of a tool of a server.
type ServerTool struct {
	Name        string
	Description string
	Schema      *Object // JSON Schema of the arguments
	Effect      Effect  // proposed by the hints of the server, and decided by the person who allowed the tool
	SHA256      string  // see Hash
}

// Hash returns the SHA-256 of what a model learns of the tool and of how it is called, in hexadecimal
// digits.
func (t *ServerTool) Hash() string {
	return value.Hash([]any{t.Name, t.Description, value.Plain(t.Schema)})
}

// Value returns the definition as nodes store it.
func (t *ServerTool) Value() *Object {
	o := &Object{}
	o.Set("name", t.Name)
	o.Set("description", t.Description)
	o.Set("schema", t.Schema)
	o.Set("effect", string(t.Effect))
	o.Set("sha256", cmp.Or(t.SHA256, t.Hash()))
	return o
}

// Tokens estimates how many tokens of a model's context the definition takes.
func (t *ServerTool) Tokens() int {
	return (len(t.Name) + len(t.Description) + len(EncodeJSON(t.Schema))) / 4
}

// ServerTools reads the definitions that a node stores, and their problems. Pointers are relative to the
// list.
func ServerTools(v any) (list []ServerTool, problems []Problem) {
	items, isList := v.([]any)
	if v != nil && !isList {
		return nil, []Problem{{Code: "wrong_type", Detail: "wanted a list of tools, as \"Check tools\" returns them"}}
	}
	seen := map[string]bool{}
	for i, item := range items {
		t, member, detail := serverTool(item)
		switch {
		case detail != "":
		case seen[t.Name]:
			member, detail = "name", fmt.Sprintf("the tool %q is here twice", t.Name)
		case t.SHA256 != t.Hash():
			member, detail = "sha256", fmt.Sprintf("it does not match the tool %q; check the tools again instead of editing them", t.Name)
		}
		if detail != "" {
			p := Problem{Pointer: Pointer(i), Code: "invalid", Detail: detail}
			if member != "" {
				p.Pointer = Pointer(i, member)
			}
			problems = append(problems, p)
			continue
		}
		seen[t.Name] = true
		list = append(list, t)
	}
	if len(list) > MaxTools {
		problems = append(problems, Problem{Code: "too_many", Detail: fmt.Sprintf("a node has at most %d tools; this one has %d", MaxTools, len(list))})
	}
	if n := len(EncodeJSON(v)); n > MaxServerToolsBytes {
		problems = append(problems, Problem{Code: "too_large", Detail: fmt.Sprintf("the definitions of the tools have %s; the limit is %s", Size(int64(n)), strings.TrimSpace(Size(MaxServerToolsBytes)))})
	}
	return list, problems
}

// serverTool reads one definition. If it is invalid, detail says why.
func serverTool(v any) (t ServerTool, member, detail string) {
	o, _ := AsObject(v)
	t.Name, _ = o.Get("name").(string)
	t.Description, _ = o.Get("description").(string)
	effect, _ := o.Get("effect").(string)
	t.Effect, t.SHA256 = Effect(effect), Text(o.Get("sha256"))
	schema, isObject := AsObject(o.Get("schema"))
	t.Schema = schema
	switch {
	case o == nil:
		return t, "", "wanted an object with name, description, schema, effect and sha256"
	case t.Name == "" || len(t.Name) > MaxServerToolName:
		return t, "name", fmt.Sprintf("a tool has a name of 1 to %d characters", MaxServerToolName)
	case !isObject:
		return t, "schema", "wanted the JSON Schema of the arguments, an object"
	case t.Effect != EffectRead && t.Effect != EffectWrite:
		return t, "effect", "wanted read or write"
	case len(t.Name)+len(t.Description)+len(EncodeJSON(schema)) > MaxServerToolBytes:
		return t, "", fmt.Sprintf("the definition of the tool %q is larger than %s", t.Name, strings.TrimSpace(Size(MaxServerToolBytes)))
	}
	return t, "", ""
}

// notToolName matches the characters that the name of a tool cannot have.
var notToolName = regexp.MustCompile(`[^a-z0-9_]+`)

// maxOfferName is the length of the names of tools, in characters.
const maxOfferName = 48

// ServerToolNames returns the names by which models call the tools of a server. They depend only on prefix
// and on the tools before them, so that adding a tool renames no other one. A name that is too long
// or taken ends with a hash of the name at the server.
func ServerToolNames(prefix string, list []ServerTool) []string {
	names, taken := make([]string, len(list)), map[string]bool{}
	for i := range list {
		name := strings.Trim(notToolName.ReplaceAllString(strings.ToLower(list[i].Name), "_"), "_")
		if prefix != "" {
			name = prefix + "_" + name
		}
		if name == "" || len(name) > maxOfferName || taken[name] {
			sum := Hash([]byte(list[i].Name))
			name = name[:min(len(name), maxOfferName-9)] + "_" + sum[len(sum)-8:]
		}
		names[i], taken[name] = name, true
	}
	return names
}

// ToolState says how a tool that a node stores is at its server.
type ToolState string

// The states of tools.
const (
	ToolSame    ToolState = "same"
	ToolChanged ToolState = "changed"
	ToolMissing ToolState = "missing" // the server does not have it any more
)

// ToolComparison compares a tool that a node stores with the one of its server.
type ToolComparison struct {
	State ToolState
	Was   *ServerTool // as the node stores it
	Now   *ServerTool // as the server lists it; nil if it is missing
}

// CompareTools compares the tools that a node stores with those that its server lists.
func CompareTools(stored, listed []ServerTool) []ToolComparison {
	now := make(map[string]*ServerTool, len(listed))
	for i := range listed {
		now[listed[i].Name] = &listed[i]
	}
	list := make([]ToolComparison, len(stored))
	for i := range stored {
		c := ToolComparison{State: ToolSame, Was: &stored[i], Now: now[stored[i].Name]}
		switch {
		case c.Now == nil:
			c.State = ToolMissing
		case c.Now.Hash() != c.Was.SHA256:
			c.State = ToolChanged
		}
		list[i] = c
	}
	return list
}
