package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/text/unicode/norm"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

const (
	// maxTools bounds how many flows a key sees as tools. No model can choose
	// among that many; restrict the key to some flows instead.
	maxTools  = 1000
	toolsPage = 200 // tools per response; clients without paging see the first page

	// Clients prefix the name of a tool with that of the server, and models
	// accept 64 characters for both together.
	maxToolName = 48
	idTail      = 8 // last characters of a flow ID (40 random bits), appended to make names unique
)

// flowTools are the published flows: calling a tool runs one.
type flowTools struct{}

// flowTool is a flow that clients can call by name.
type flowTool struct {
	name string
	flow *flow.Flow
}

// instructions tell a model what all tools have in common; each has the description of its
// flow.
func (flowTools) instructions() string {
	return "Each tool runs a flow and answers with its outputs by name. A run may take minutes; ask for progress to follow it."
}

func (flowTools) maxMessage() int64 { return api.MaxBody }

// list returns the flows that the key may call as tools, described by their live versions.
func (flowTools) list(m *message) ([]tool, error) {
	ctx := m.Request().Context()
	flows, err := m.flowTools(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]tool, len(flows))
	for i, t := range flows {
		out, err := m.s.api.Outlines.Find(ctx, t.flow.WorkspaceID, t.flow.LiveHash)
		if err != nil {
			return nil, err
		}
		list[i].Tool = &sdk.Tool{
			Name: t.name, Title: out.Name, Description: out.Description,
			InputSchema: openapi.InputsSchema(out.Inputs), OutputSchema: document.OutputsSchema(out.Outputs),
		}
	}
	return list, nil
}

// find returns the tool with a name, or nil. It has only the call, not the declaration, so no
// document is read.
func (flowTools) find(m *message, name string) (*tool, error) {
	t, err := m.findFlow(m.Request().Context(), name)
	if t == nil || err != nil {
		return nil, err
	}
	return &tool{call: func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return m.runFlow(ctx, req, t.flow), nil
	}}, nil
}

// flowTools returns the published flows that the key may call, ordered by ID, with
// unique names: the name of the flow, and a suffix if another flow has it already.
func (m *message) flowTools(ctx context.Context) ([]flowTool, error) {
	flows, err := m.callable(ctx)
	if err != nil {
		return nil, err
	}
	list, byBase := make([]flowTool, len(flows)), map[string][]*flowTool{}
	for i := range flows {
		title, err := m.s.api.Outlines.Name(ctx, flows[i].WorkspaceID, flows[i].LiveHash)
		if err != nil {
			return nil, err
		}
		list[i] = flowTool{flow: &flows[i]}
		base := toolBase(title)
		byBase[base] = append(byBase[base], &list[i])
	}
	taken := make(map[string]bool, len(list))
	for base, equal := range byBase {
		if first, err := m.firstPublished(ctx, base, equal); err != nil {
			return nil, err
		} else if first != nil {
			first.name, taken[base] = base, true
		}
	}
	for base, equal := range byBase {
		nameRest(base, equal, taken)
	}
	return list, nil
}

// nameRest names the tools that share their base with others, by adding the tail
// of the flow ID, or the whole ID if the tail is taken too.
func nameRest(base string, equal []*flowTool, taken map[string]bool) {
	for _, t := range equal {
		if t.name == "" {
			if t.name = joinTail(base, tail(t.flow.ID, idTail)); taken[t.name] {
				t.name = joinTail(base, strings.TrimPrefix(t.flow.ID, flow.PrefixFlow))
			}
			taken[t.name] = true
		}
	}
}

// callable returns the published flows that the key may call, ordered by ID. Their
// drafts are only filled in for a key with a list of flows.
func (m *message) callable(ctx context.Context) ([]flow.Flow, error) {
	read := func() ([]flow.Flow, error) { return m.s.api.Store.ListFlowHeads(ctx, m.Key.WorkspaceID) }
	if len(m.Key.Flows) > 0 {
		read = func() ([]flow.Flow, error) { return m.ReadFlows("", maxTools) }
	}
	flows, err := read()
	flows = slices.DeleteFunc(flows, func(f flow.Flow) bool { return f.LiveVersion == 0 || !f.ArchivedAt.IsZero() })
	slices.SortFunc(flows, func(a, b flow.Flow) int { return cmp.Compare(a.ID, b.ID) })
	return flows[:min(len(flows), maxTools)], err
}

// firstPublished returns the flow that gets the base as its name: the one that was
// published first, so that publishing another never renames a tool. It is nil for
// an empty base, from names without Latin letters and digits.
func (m *message) firstPublished(ctx context.Context, base string, equal []*flowTool) (*flowTool, error) {
	if base == "" {
		return nil, nil
	}
	if len(equal) == 1 {
		return equal[0], nil
	}
	var first *flowTool
	var since time.Time
	for _, t := range equal {
		at := t.flow.CreatedAt
		v, err := m.s.api.Store.FindVersion(ctx, t.flow.WorkspaceID, t.flow.ID, 1)
		if err == nil {
			at = v.CreatedAt
		} else if !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
			return nil, err
		}
		if first == nil || at.Before(since) {
			first, since = t, at
		}
	}
	return first, nil
}

// findFlow returns the tool with a name, or nil. Any name that ends with the tail
// of a flow's ID matches that flow, so such a name survives renaming the flow. So do names
// that are a slug of the flow, now or formerly: see findSlug.
func (m *message) findFlow(ctx context.Context, name string) (*flowTool, error) {
	list, err := m.flowTools(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(t flowTool) bool { return t.name == name }); i >= 0 {
		return &list[i], nil
	}
	var found *flowTool
	for i := range list {
		if strings.HasSuffix(name, "_"+tail(list[i].flow.ID, idTail)) {
			if found != nil {
				return nil, nil
			}
			found = &list[i]
		}
	}
	if found == nil {
		return m.findSlug(list, name)
	}
	return found, nil
}

// findSlug returns the tool of the flow whose slug, current or former, is a name with hyphens
// in place of underscores, or nil. By default a slug is made from the name of a flow, as the
// name of its tool is. Clients keep names of tools, for example in prompts, so these work
// after the flow was renamed, until another flow takes the slug.
func (m *message) findSlug(list []flowTool, name string) (*flowTool, error) {
	f, err := m.FindCallable(strings.ReplaceAll(name, "_", "-"))
	for _, code := range []flow.Code{flow.CodeNotFound, flow.CodeFlowNotAllowed, flow.CodeNotPublished} {
		if errors.Is(err, &flow.Error{Code: code}) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(t flowTool) bool { return t.flow.ID == f.ID }); i >= 0 {
		return &list[i], nil
	}
	return nil, nil
}

// spelled replaces letters that NFKD does not decompose into a base letter.
var spelled = strings.NewReplacer("ß", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l", "đ", "d", "Đ", "d", "þ", "th", "Þ", "th", "ı", "i", "'", "", "’", "")

// toolBase turns the name of a flow into that of a tool: lower-case ASCII letters
// and digits, with underscores in place of everything else. It may be empty.
func toolBase(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(spelled.Replace(title)) {
		r = unicode.ToLower(r)
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r): // NFKD separates accents from their letters
			gap = true
		}
	}
	return cut(b.String(), maxToolName)
}

// cut shortens an ASCII name to a number of bytes at most, without underscores at its end.
func cut(s string, most int) string { return strings.TrimRight(s[:min(len(s), most)], "_") }

// tail returns the last n characters of an ID.
func tail(id string, n int) string { return id[max(len(id)-n, 0):] }

// joinTail returns a name of at most 64 characters.
func joinTail(base, tail string) string { return cut(cmp.Or(base, "flow"), 63-len(tail)) + "_" + tail }
