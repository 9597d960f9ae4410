package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/text/unicode/norm"

	"sluice/flow"
)

const (
	// maxTools is how many flows a key sees as tools. No model can choose among
	// so many; a key with a list of flows of its own sees those.
	maxTools  = 1000
	toolsPage = 200 // tools in one answer; clients that do not page see the first

	// Clients put the name of the server before that of a tool, and models take
	// 64 characters for both.
	maxToolName = 48
	idTail      = 8 // characters of a flow ID, 40 bits of chance, that tell equal names apart
)

// tool is a flow as agents see it.
type tool struct {
	name string
	flow *flow.Flow
}

// tools are the published flows that the key may call, by ID, each under a name
// of its own.
func (m *message) tools(ctx context.Context) ([]tool, error) {
	flows, err := m.callable(ctx)
	if err != nil {
		return nil, err
	}
	list, byBase := make([]tool, len(flows)), map[string][]*tool{}
	for i := range flows {
		title, err := m.s.outlines.name(ctx, flows[i].WorkspaceID, flows[i].LiveHash)
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

// nameRest names those that do not have their base for themselves.
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

// callable are the flows that a program can run, without their drafts where
// that is cheaper.
func (m *message) callable(ctx context.Context) ([]flow.Flow, error) {
	read := func() ([]flow.Flow, error) { return m.s.Store.ListFlowHeads(ctx, m.key.WorkspaceID) }
	if len(m.key.Flows) > 0 {
		read = func() ([]flow.Flow, error) { return m.readFlows("", maxTools) }
	}
	flows, err := read()
	flows = slices.DeleteFunc(flows, func(f flow.Flow) bool { return f.LiveVersion == 0 || !f.ArchivedAt.IsZero() })
	slices.SortFunc(flows, func(a, b flow.Flow) int { return cmp.Compare(a.ID, b.ID) })
	return flows[:min(len(flows), maxTools)], err
}

// firstPublished is the one of those with equal names that keeps it as it is,
// so that publishing another never takes a name away. Names that have no letter
// of ours are all told apart by ID.
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
		v, err := m.s.Store.FindVersion(ctx, t.flow.WorkspaceID, t.flow.ID, 1)
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

// findTool finds the tool that a call names. Any name that ends in a flow's
// tail is that flow's, so a caller who uses it need not care about renaming.
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

// listTools is tools/list.
func (m *message) listTools(p *mcp.ListToolsParams) (mcp.Result, error) {
	ctx, after := m.Request().Context(), ""
	if p != nil && p.Cursor != "" {
		var ok bool
		if after, ok = openCursor(p.Cursor, flow.PrefixFlow); !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The cursor is not one that an earlier answer gave."}
		}
	}
	list, err := m.tools(ctx)
	if err != nil {
		return nil, m.private(err)
	}
	list = slices.DeleteFunc(list, func(t tool) bool { return t.flow.ID <= after })
	list, next := page(list, toolsPage, func(t *tool) string { return t.flow.ID })
	result := &mcp.ListToolsResult{Tools: make([]*mcp.Tool, 0, len(list)), Cacheable: mcp.Cacheable{CacheScope: "private"}}
	if next != nil {
		result.NextCursor = *next
	}
	for i := range list {
		described, err := m.describe(ctx, &list[i])
		if err != nil {
			return nil, m.private(err)
		}
		result.Tools = append(result.Tools, described)
	}
	return result, nil
}

func (m *message) describe(ctx context.Context, t *tool) (*mcp.Tool, error) {
	out, err := m.s.outlines.find(ctx, t.flow.WorkspaceID, t.flow.LiveHash)
	if err != nil {
		return nil, err
	}
	return &mcp.Tool{
		Name: t.name, Title: out.name, Description: out.description,
		InputSchema: inputsSchema(out.inputs), OutputSchema: outputsSchema(out.outputs),
	}, nil
}

// private makes an error of the protocol that tells nothing of the inside.
func (m *message) private(err error) error {
	e := m.s.publicError(err, m.Response().Header().Get("X-Request-Id"), m.Request())
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Message}
}

// spelled are letters that have no plain one inside.
var spelled = strings.NewReplacer("ß", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l", "đ", "d", "Đ", "d", "þ", "th", "Þ", "th", "ı", "i", "'", "", "’", "")

// toolBase makes a name for programs of one for people: letters and digits of
// ASCII in lower case, everything else an underscore. It may be empty.
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
		case !unicode.Is(unicode.Mn, r): // accents, which NFKD sets apart, leave no gap
			gap = true
		}
	}
	return cut(b.String(), maxToolName)
}

func cut(s string, most int) string { return strings.TrimRight(s[:min(len(s), most)], "_") }

// tail is the end of an ID.
func tail(id string, n int) string { return id[max(len(id)-n, 0):] }

// joinTail keeps within the 64 characters that a name may have.
func joinTail(base, tail string) string { return cut(cmp.Or(base, "flow"), 63-len(tail)) + "_" + tail }
