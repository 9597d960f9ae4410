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
	"sluice/flow/sorting"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

const (
	// maxTools bounds the tools of a key. A model cannot choose among that many;
	// a key with a list of flows has fewer.
	maxTools  = 1000
	toolsPage = 200 // tools per response; clients without pagination see only the first page

	// maxToolName bounds the names of tools. Clients prefix them with the name of the server,
	// and models accept 64 characters in total.
	maxToolName = 48
	idTail      = 8 // characters from the end of a flow ID (40 random bits) that make a name unique
)

// flowTools is the default set of tools: the published flows. A call runs the flow.
type flowTools struct{}

// flowTool is a published flow with the name of its tool.
type flowTool struct {
	name string
	flow *flow.Flow
}

// instructions returns the text that tells a model what all tools have in common. What a tool does
// is in the description of its flow.
func (flowTools) instructions() string {
	return "Each tool runs a flow and returns its outputs by name, or searches documents. A run may take minutes; ask for progress to follow it."
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
		declared := &sdk.Tool{Name: t.name, InputSchema: anyObject}
		list[i] = tool{Tool: declared, describe: func() error {
			out, err := m.s.api.Outlines.Find(ctx, t.flow.WorkspaceID, t.flow.LiveHash)
			if err != nil {
				return err
			}
			declared.Title, declared.Description = out.Name, out.Description
			declared.InputSchema, declared.OutputSchema = openapi.InputsSchema(out.Inputs), document.OutputsSchema(out.Outputs)
			return nil
		}}
	}
	bases, err := m.baseTools(ctx, flows)
	for i := range bases {
		t := bases[i].tool()
		list = append(list, tool{Tool: t.declaration()})
	}
	return list, err
}

// find returns the tool with a name, or nil. The tool has no declaration, so no document is read.
func (flowTools) find(m *message, name string) (*tool, error) {
	t, err := m.findFlow(m.Request().Context(), name)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return m.findBase(m.Request().Context(), name)
	}
	return &tool{call: func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return m.runFlow(ctx, req, t.flow), nil
	}}, nil
}

// flowTools returns the published flows that the key may call, ordered by ID, with unique
// names for tools. A name is made from that of the flow; if several flows have the same,
// all except the first published get a suffix.
func (m *message) flowTools(ctx context.Context) ([]flowTool, error) {
	flows, err := m.listPublished(ctx)
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
	for base, sameBase := range byBase {
		if first, err := m.firstPublished(ctx, base, sameBase); err != nil {
			return nil, err
		} else if first != nil {
			first.name, taken[base] = base, true
		}
	}
	for base, sameBase := range byBase {
		addSuffixes(base, sameBase, taken)
	}
	return list, nil
}

// addSuffixes names the tools without a name by appending the tail of the flow ID to the
// base, or the whole ID if another tool has that name.
func addSuffixes(base string, sameBase []*flowTool, taken map[string]bool) {
	for _, t := range sameBase {
		if t.name == "" {
			if t.name = joinTail(base, tail(string(t.flow.ID), idTail)); taken[t.name] {
				t.name = joinTail(base, strings.TrimPrefix(string(t.flow.ID), flow.PrefixFlow))
			}
			taken[t.name] = true
		}
	}
}

// listPublished returns the published flows that the key may call, ordered by ID. Their drafts are
// only set for a key with a list of flows.
func (m *message) listPublished(ctx context.Context) ([]flow.Flow, error) {
	read := func() ([]flow.Flow, error) { return m.s.api.Store.ListFlowHeads(ctx, m.Key.WorkspaceID) }
	if len(m.Key.Flows) > 0 {
		read = func() ([]flow.Flow, error) { return m.ReadFlows("", maxTools) }
	}
	flows, err := read()
	flows = slices.DeleteFunc(flows, func(f flow.Flow) bool { return f.LiveVersion == 0 || !f.ArchivedAt.IsZero() })
	sorting.By(flows, func(a, b flow.Flow) int { return cmp.Compare(a.ID, b.ID) })
	return flows[:min(len(flows), maxTools)], err
}

// firstPublished returns the tool that gets the base as its name without a suffix: the flow
// that was published first, so that publishing another flow never renames a tool. It returns
// nil for an empty base, the result of a name without Latin letters and digits.
func (m *message) firstPublished(ctx context.Context, base string, sameBase []*flowTool) (*flowTool, error) {
	if base == "" {
		return nil, nil
	}
	if len(sameBase) == 1 {
		return sameBase[0], nil
	}
	var first *flowTool
	var since time.Time
	for _, t := range sameBase {
		at := t.flow.CreatedAt
		v, err := m.s.api.Store.FindVersion(ctx, t.flow.WorkspaceID, t.flow.ID, 1)
		if err == nil {
			at = v.CreatedAt
		} else if !flow.IsNotFound(err) {
			return nil, err
		}
		if first == nil || at.Before(since) {
			first, since = t, at
		}
	}
	return first, nil
}

// findFlow returns the tool with a name, or nil. A name that ends with the tail of a
// flow's ID, or that is a current or former slug (see findSlug), also matches: clients keep
// names of tools, for example in prompts, and these must work after the flow was renamed.
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
		if strings.HasSuffix(name, "_"+tail(string(list[i].flow.ID), idTail)) {
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

// findSlug returns the tool of the flow with a current or former slug, or nil. The slug is the name
// with hyphens in place of underscores: by default, both are made from the name of the flow.
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

// transliterations replaces letters without an NFKD decomposition into a base letter, and removes
// apostrophes.
var transliterations = strings.NewReplacer("ß", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l", "đ", "d", "Đ", "d", "þ", "th", "Þ", "th", "ı", "i", "'", "", "’", "")

// toolBase converts the name of a flow to that of a tool: lower-case ASCII letters and
// digits, with underscores in place of all other characters. The result may be empty.
func toolBase(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(transliterations.Replace(title)) {
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

// cut truncates an ASCII name to limit bytes, without trailing underscores.
func cut(s string, limit int) string { return strings.TrimRight(s[:min(len(s), limit)], "_") }

// tail returns the last n characters of an ID.
func tail(id string, n int) string { return id[max(len(id)-n, 0):] }

// joinTail returns base, truncated so that the name has at most 64 characters, and tail.
func joinTail(base, tail string) string { return cut(cmp.Or(base, "flow"), 63-len(tail)) + "_" + tail }
