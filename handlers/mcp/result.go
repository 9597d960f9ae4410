package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/web"
)

// maxInline bounds the images and audio in a result, in bytes. A model sees these without
// fetching a link. Clients reject results over 1 MB; in base64, 512 KiB take two thirds of
// that.
const maxInline = 512 << 10

// toolResult returns the outputs of a run as structured content and as text. The text is
// JSON, except for a flow whose only output is a text. Files are links.
func (m *message) toolResult(run *flow.Run) *sdk.CallToolResult {
	outputs := &flow.Object{}
	if run.Outputs != nil {
		outputs = m.s.api.LinkFiles(run.WorkspaceID, run.Outputs)
	}
	encoded := flow.EncodeJSON(outputs)
	text := string(encoded)
	if outputs.Len() == 1 {
		for _, v := range outputs.All() {
			if plain, ok := v.(string); ok {
				text = plain
			}
		}
	}
	return &sdk.CallToolResult{
		Meta: sdk.Meta{"run_id": run.ID}, StructuredContent: json.RawMessage(encoded),
		Content: append([]sdk.Content{&sdk.TextContent{Text: text}}, m.fileContent(run.WorkspaceID, outputs)...),
	}
}

// fileContent returns a link to each file in the outputs and, up to maxInline bytes in
// total, images and audio inline. Files that were erased or belong to another workspace
// are left out.
func (m *message) fileContent(ws flow.WorkspaceID, outputs *flow.Object) (content []sdk.Content) {
	ctx, left := m.Request().Context(), int64(maxInline)
	var values []any
	for _, v := range outputs.All() {
		values = append(values, v)
	}
	for _, id := range flow.FileIDs(values) {
		f, err := m.s.api.Files.FindFile(ctx, ws, id)
		if err != nil {
			continue
		}
		content = append(content, &sdk.ResourceLink{URI: m.s.api.Links.URL(ws, id, m.s.api.LinksExpire()), Name: f.Name, MIMEType: f.MIME, Size: &f.Size})
		if f.Size > left {
			continue
		}
		if inline := m.inline(ctx, f); inline != nil {
			content, left = append(content, inline), left-f.Size
		}
	}
	return content
}

// inline returns the content of an image or audio file, or nil if models do not accept its
// type or it cannot be read.
func (m *message) inline(ctx context.Context, f *flow.File) sdk.Content {
	media, format, _ := strings.Cut(f.MIME, "/")
	if media != "audio" && (media != "image" || !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, format)) {
		return nil
	}
	_, r, err := m.s.api.Files.OpenFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(r, maxInline))
	if err != nil {
		return nil
	}
	if media == "image" {
		return &sdk.ImageContent{Data: data, MIMEType: f.MIME}
	}
	return &sdk.AudioContent{Data: data, MIMEType: f.MIME}
}

// toolError returns a result that describes an error to a model: the message, each problem
// with the name of its input, and the delay before a retry. runID may be empty.
func (m *message) toolError(err error, runID flow.RunID) *sdk.CallToolResult {
	e := m.s.api.PublicError(err, m)
	var b strings.Builder
	b.WriteString(e.Message)
	for _, p := range e.Fields {
		fmt.Fprintf(&b, "\n- %s: %s", strings.TrimPrefix(p.Pointer, "/"), p.Detail)
	}
	if after := api.RetryAfter(e); after > 0 {
		fmt.Fprintf(&b, "\nTry again in %s s.", web.Seconds(after))
	}
	meta := sdk.Meta{"code": e.Code}
	if runID != "" {
		fmt.Fprintf(&b, "\nrun_id: %s", runID)
		meta["run_id"] = runID
	}
	return &sdk.CallToolResult{Meta: meta, IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: b.String()}}}
}
