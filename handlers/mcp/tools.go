package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/text/unicode/norm"

	"sluice/flow"
	"sluice/handlers/api"
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

// tool is a flow that clients can call by name.
type tool struct {
	name string
	flow *flow.Flow
}

// tools returns the published flows that the key may call, ordered by ID, with
// unique names: the name of the flow, and a suffix if another flow has it already.
func (m *message) tools(ctx context.Context) ([]tool, error) {
	flows, err := m.callable(ctx)
	if err != nil {
		return nil, err
	}
	list, byBase := make([]tool, len(flows)), map[string][]*tool{}
	for i := range flows {
		title, err := m.s.api.Outlines.Name(ctx, flows[i].WorkspaceID, flows[i].LiveHash)
		if err != nil {
			return nil, err
		}
		list[i] = tool{flow: &flows[i]}
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
func nameRest(base string, equal []*tool, taken map[string]bool) {
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
func (m *message) firstPublished(ctx context.Context, base string, equal []*tool) (*tool, error) {
	if base == "" {
		return nil, nil
	}
	if len(equal) == 1 {
		return equal[0], nil
	}
	var first *tool
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

// findTool returns the tool with a name, or nil. Any name that ends with the tail
// of a flow's ID matches that flow, so such a name survives renaming the flow.
func (m *message) findTool(ctx context.Context, name string) (*tool, error) {
	list, err := m.tools(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(t tool) bool { return t.name == name }); i >= 0 {
		return &list[i], nil
	}
	var found *tool
	for i := range list {
		if strings.HasSuffix(name, "_"+tail(list[i].flow.ID, idTail)) {
			if found != nil {
				return nil, nil
			}
			found = &list[i]
		}
	}
	return found, nil
}

// listTools is tools/list. The cursor is the ID of the last flow of a page.
func (m *message) listTools(p *sdk.ListToolsParams) (sdk.Result, error) {
	ctx, after := m.Request().Context(), ""
	if p != nil && p.Cursor != "" {
		var ok bool
		if after, ok = api.DecodeCursor(p.Cursor, flow.PrefixFlow); !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The cursor is not one that an earlier answer gave."}
		}
	}
	list, err := m.tools(ctx)
	if err != nil {
		return nil, m.internalError(err)
	}
	list = slices.DeleteFunc(list, func(t tool) bool { return t.flow.ID <= after })
	list, next := api.Page(list, toolsPage, func(t *tool) string { return t.flow.ID })
	result := &sdk.ListToolsResult{Tools: make([]*sdk.Tool, 0, len(list)), Cacheable: sdk.Cacheable{CacheScope: "private"}}
	if next != nil {
		result.NextCursor = *next
	}
	for i := range list {
		described, err := m.describe(ctx, &list[i])
		if err != nil {
			return nil, m.internalError(err)
		}
		result.Tools = append(result.Tools, described)
	}
	return result, nil
}

func (m *message) describe(ctx context.Context, t *tool) (*sdk.Tool, error) {
	out, err := m.s.api.Outlines.Find(ctx, t.flow.WorkspaceID, t.flow.LiveHash)
	if err != nil {
		return nil, err
	}
	return &sdk.Tool{
		Name: t.name, Title: out.Name, Description: out.Description,
		InputSchema: api.InputsSchema(out.Inputs), OutputSchema: api.OutputsSchema(out.Outputs),
	}, nil
}

// internalError logs an error and returns a protocol error without its details.
func (m *message) internalError(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: m.s.api.PublicError(err, m).Message}
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

func cut(s string, most int) string { return strings.TrimRight(s[:min(len(s), most)], "_") }

// tail returns the last n characters of an ID.
func tail(id string, n int) string { return id[max(len(id)-n, 0):] }

// joinTail returns a name of at most 64 characters.
func joinTail(base, tail string) string { return cut(cmp.Or(base, "flow"), 63-len(tail)) + "_" + tail }
