package bases

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/flow/value"
	"sluice/flow/wording"
)

// What the kind does.
const (
	actionPut      = "put"
	actionRemove   = "remove"
	actionKeepOnly = "keep_only"
)

// indexConcurrency is how many documents of a list are indexed at the same time.
const indexConcurrency = 4

// listOf returns the items of a list, or the value alone.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case string:
		if v == "" {
			return nil
		}
	}
	return []any{v}
}

// add performs the action of the node.
func (d Deps) add(ctx context.Context, in *flow.In) (flow.Out, error) {
	b, err := d.Find(ctx, in, in.Text("knowledge"))
	if err != nil {
		return flow.Out{}, err
	}
	part := strings.TrimSpace(in.Text("part"))
	if err := b.CheckPart(part); err != nil {
		return flow.Out{}, err
	}
	sources := []string{}
	for _, s := range listOf(in.Config["source"]) {
		sources = append(sources, strings.TrimSpace(flow.Text(s)))
	}
	if i := slices.Index(sources, ""); i >= 0 {
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "Source %d of %d is empty. Nothing was changed. Every document needs a source of its own.", i+1, len(sources))
	}
	switch in.Text("action") {
	case actionRemove:
		if len(sources) == 0 {
			return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "Source is required to remove documents.")
		}
		return d.removeDocuments(ctx, b, part, sources)
	case actionKeepOnly:
		return d.keepOnly(ctx, in, b, part, sources)
	}
	return d.putDocuments(ctx, in, b, part, sources)
}

// removeDocuments removes documents by source. Sources without a document are ignored, so that a repeated step does the same.
func (d Deps) removeDocuments(ctx context.Context, b *knowledge.Base, part string, sources []string) (flow.Out, error) {
	removed, err := d.Store.RemoveBaseDocuments(ctx, b, part, sources)
	if err != nil {
		return flow.Out{}, err
	}
	list, passages := []any{}, int64(0)
	for i := range removed {
		passages += removed[i].Passages
		list = append(list, value.NewObject(value.Member{Name: "id", Value: removed[i].ID}, value.Member{Name: "source", Value: removed[i].Source}, value.Member{Name: "state", Value: knowledge.Removed}))
	}
	return addOutputs(list, passages), nil
}

// addOutputs returns the outputs of the kind.
func addOutputs(list []any, passages int64) flow.Out {
	out := flow.Out{Outputs: map[string]any{"documents": list, "passages": flow.Number(passages)}}
	if len(list) > 0 {
		out.Outputs["document"] = list[len(list)-1]
	}
	return out
}

// keepOnly removes the documents that are not in the list.
func (d Deps) keepOnly(ctx context.Context, in *flow.In, b *knowledge.Base, part string, keep []string) (flow.Out, error) {
	if len(keep) == 0 {
		return flow.Out{}, flow.Errorf(flow.CodeRemovalTooLarge, "The list of documents to keep is empty, so nothing was removed. Connect the sources that still exist.")
	}
	known, err := d.Store.ListBaseSources(ctx, b, part, in.Text("prefix"))
	if err != nil {
		return flow.Out{}, err
	}
	kept := map[string]bool{}
	for _, s := range keep {
		kept[s] = true
	}
	gone := slices.DeleteFunc(slices.Clone(known), func(s string) bool { return kept[s] })
	if 2*len(gone) > len(known) && in.Config["allow_large"] != true {
		return flow.Out{}, flow.Errorf(flow.CodeRemovalTooLarge, "%d of %d documents would be removed, more than half. Nothing was. Check the list, or turn on Allow large removals.", len(gone), len(known))
	}
	return d.removeDocuments(ctx, b, part, gone)
}

// putDocuments starts a child run for each document, and returns their results when all have ended.
func (d Deps) putDocuments(ctx context.Context, in *flow.In, b *knowledge.Base, part string, sources []string) (flow.Out, error) {
	children, err := in.Children.Start(ctx, flow.ChildRequest{
		Flow: string(b.FlowID), Document: knowledge.IndexDocument(b), Concurrency: indexConcurrency, KeepErrors: true,
		Rows: func(yield func(flow.ChildRow, error) bool) {
			items, err := d.indexItems(ctx, in, part, sources)
			if err != nil {
				yield(flow.ChildRow{}, err)
				return
			}
			for i, item := range items {
				if !yield(flow.ChildRow{Number: i + 1, Inputs: item}, nil) {
					return
				}
			}
		},
	})
	if err != nil {
		return flow.Out{}, err
	}
	if done, err := d.Await(ctx, in, children); !done || err != nil {
		return flow.Out{Suspend: d.Suspension(in)}, err
	}
	list, passages := []any{}, int64(0)
	var failed *flow.Error
	err = in.Children.Read(ctx, func(r *flow.ChildResult) error {
		if r.State != flow.RunSucceeded {
			if failed == nil {
				failed = flow.AsError(d.ChildError("A document", r))
				if r.Error != nil {
					failed = &flow.Error{Code: r.Error.Code, Message: fmt.Sprintf("Document %d: %s", r.Item+1, r.Error.Message), Retryable: r.Error.Retryable}
				}
			}
			return nil
		}
		list = append(list, r.Outputs.Get("document"))
		n, _ := flow.Float(r.Outputs.Get("passages"))
		passages += int64(n)
		return nil
	})
	if err == nil && failed != nil {
		if n := children.Failed; n > 1 {
			failed.Message = fmt.Sprintf("%d of %d documents failed. %s", n, children.Total, failed.Message)
		}
		err = failed
	}
	return addOutputs(list, passages), err
}

// defaultSources returns the sources of files for which none are given: the URL or the name of each.
func defaultSources(ctx context.Context, in *flow.In, files []any) ([]string, error) {
	sources := make([]string, len(files))
	for i, file := range files {
		if address, isURL := file.(string); isURL {
			sources[i] = address
			continue
		}
		if remote, ok := flow.RemoteFileOf(file); ok && !remote.IsData() {
			sources[i] = remote.URL
			continue
		}
		f, content, err := in.OpenFile(ctx, file)
		if err != nil {
			return nil, err
		}
		_ = content.Close() // nothing was read
		sources[i] = f.Name
	}
	return sources, nil
}

// checkDistinct returns an error if two documents have the same source: one of them would replace the other.
func checkDistinct(sources []string) error {
	first := map[string]int{}
	for i, s := range sources {
		if other, ok := first[s]; ok {
			return flow.Errorf(flow.CodeInputInvalid, "Documents %d and %d have the same source, %q, so one would replace the other. Nothing was added. Connect a source of its own for each document.", other+1, i+1, wording.Truncate(s, 100))
		}
		first[s] = i
	}
	return nil
}

// indexItems returns the inputs of the child runs. Texts become files.
func (d Deps) indexItems(ctx context.Context, in *flow.In, part string, sources []string) (items []*flow.Object, err error) {
	files, texts := listOf(in.Config["file"]), listOf(in.Config["text"])
	if (len(files) == 0) == (len(texts) == 0) {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Connect either a file or a text to add.")
	}
	n := len(files) + len(texts)
	if len(sources) != 0 && len(sources) != n {
		return nil, flow.Errorf(flow.CodeInputInvalid, "There are %d documents and %d sources. Connect a source for each document.", n, len(sources))
	}
	if len(sources) == 0 && len(texts) > 0 {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Source is required for a text: it identifies the document.")
	}
	if len(sources) == 0 && len(files) > 1 {
		if sources, err = defaultSources(ctx, in, files); err != nil {
			return nil, err
		}
	}
	if err := checkDistinct(sources); err != nil {
		return nil, err
	}
	metadata, _ := flow.AsObject(in.Config["metadata"])
	if metadata == nil && in.Config["metadata"] != nil && in.Config["metadata"] != "" {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Metadata must be an object.")
	}
	if err := knowledge.CheckMetadata(metadata); err != nil {
		return nil, err
	}
	for i, text := range texts {
		content := flow.Text(text)
		if len(content) > knowledge.MaxText {
			return nil, flow.Errorf(flow.CodeInputInvalid, "A text has %d MiB; the limit is %d MiB. Split it.", len(content)>>20, knowledge.MaxText>>20)
		}
		name := path.Base(sources[i])
		file, err := in.SaveFile(ctx, wording.Truncate(name, 100)+".md", "text/markdown", strings.NewReader(content))
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	for i, file := range files {
		spec := knowledge.Spec{Part: part, Title: in.Text("title"), Link: in.Text("link"), Metadata: metadata, AllowTruncated: in.Config["allow_truncated"] == true}
		if len(sources) > 0 {
			spec.Source = sources[i]
		}
		if address, isURL := file.(string); isURL && spec.Source == "" {
			spec.Source = address
		}
		encoded, err := flow.DecodeJSON(flow.EncodeJSON(spec))
		if err != nil {
			return nil, err
		}
		items = append(items, value.NewObject(value.Member{Name: knowledge.IndexFile, Value: file}, value.Member{Name: knowledge.IndexSpec, Value: encoded}))
	}
	return items, nil
}
