package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/handlers/web"
)

// maxInline is how many bytes of pictures and sound a result holds itself, so
// that a model sees and hears them at once. Clients refuse results above 1 MB,
// and base64 makes these two thirds of one.
const maxInline = 512 << 10

// toolResult is what a run gave: the outputs by name, and for models the same
// as text, with a link to each file.
func (m *message) toolResult(run *flow.Run) *mcp.CallToolResult {
	outputs := m.s.linked(run.WorkspaceID, orEmpty(run.Outputs))
	encoded := flow.EncodeJSON(outputs)
	text := string(encoded)
	if len(outputs) == 1 {
		for _, v := range outputs {
			if plain, ok := v.(string); ok {
				text = plain
			}
		}
	}
	return &mcp.CallToolResult{
		Meta: mcp.Meta{"run_id": run.ID}, StructuredContent: json.RawMessage(encoded),
		Content: append([]mcp.Content{&mcp.TextContent{Text: text}}, m.fileContent(run.WorkspaceID, outputs)...),
	}
}

// fileContent links to the files among the outputs. One that is gone, or was
// never of this workspace, is left out.
func (m *message) fileContent(ws string, outputs map[string]any) (content []mcp.Content) {
	left := int64(maxInline)
	for _, id := range fileIDs(outputs) {
		f, err := m.s.Files.FindFile(m.Request().Context(), ws, id)
		if err != nil {
			continue
		}
		content = append(content, &mcp.ResourceLink{URI: m.s.Links.URL(ws, id, m.s.linksUntil()), Name: f.Name, MIMEType: f.MIME, Size: &f.Size})
		if f.Size > left {
			continue
		}
		if inline := m.inline(m.Request().Context(), f); inline != nil {
			content, left = append(content, inline), left-f.Size
		}
	}
	return content
}

// fileIDs are the files of all outputs, by the outputs' names, each once.
func fileIDs(outputs map[string]any) []string {
	all := make([]any, 0, len(outputs))
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		all = append(all, outputs[name])
	}
	return flow.FileIDs(all)
}

// inline is the content of a picture or sound of a type that models take.
func (m *message) inline(ctx context.Context, f *flow.File) mcp.Content {
	kind, sub, _ := strings.Cut(f.MIME, "/")
	switch {
	case kind == "image" && sub != "png" && sub != "jpeg" && sub != "gif" && sub != "webp", kind != "image" && kind != "audio":
		return nil
	}
	_, r, err := m.s.Files.OpenFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(r, maxInline))
	if err != nil {
		return nil
	}
	if kind == "image" {
		return &mcp.ImageContent{Data: data, MIMEType: f.MIME}
	}
	return &mcp.AudioContent{Data: data, MIMEType: f.MIME}
}

// toolError tells a model what is wrong: the sentence, every problem of the
// inputs by its name, and when to try again.
func (m *message) toolError(err error, runID string) *mcp.CallToolResult {
	e := m.s.publicError(err, m.Response().Header().Get("X-Request-Id"), m.Request())
	var b strings.Builder
	b.WriteString(e.Message)
	for _, p := range e.Fields {
		fmt.Fprintf(&b, "\n- %s: %s", strings.TrimPrefix(p.Pointer, "/"), p.Detail)
	}
	if after := max(e.After, problemKinds[e.Code].after); after > 0 {
		fmt.Fprintf(&b, "\nTry again in %s s.", web.Seconds(after))
	}
	meta := mcp.Meta{"code": e.Code}
	if runID != "" {
		fmt.Fprintf(&b, "\nrun_id: %s", runID)
		meta["run_id"] = runID
	}
	return &mcp.CallToolResult{Meta: meta, IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: b.String()}}}
}
