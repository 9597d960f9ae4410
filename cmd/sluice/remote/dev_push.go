package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/document"
)

// read parses the content of a file. Its error is an *invalidFile.
func (p *watchedFile) read(data []byte) (*source, error) {
	f, err := parseSource(p.path, data)
	if err != nil {
		p.rejected = data
		return nil, &invalidFile{err.Error()}
	}
	return f, nil
}

// rejection records that the server refused the content of a file and returns an error with
// file and lines. It returns other errors unchanged.
func (p *watchedFile) rejection(f *source, err error, problems func(*flow.Error) []string) error {
	r, ok := errors.AsType[*client.Rejection](err)
	if !ok || retryable[r.Problem.Code] {
		return err
	}
	p.rejected = f.data
	if len(r.Problem.Fields) == 0 {
		return &invalidFile{p.path + ": " + r.Problem.Message}
	}
	return &invalidFile{strings.Join(problems(r.Problem), "\n")}
}

// firstSync sends a file for the first time since the start, when there is no common ancestor
// yet. It relies on apply: the server knows whether a draft was edited since the last apply.
// If it was not, only the file can be newer, for example after a git pull, and the file creates
// or replaces the draft. If it was, both may have changed, which is a conflict.
//
// A draft that is equal to the file is not applied, since apply refuses incomplete flows.
func (w *watcher) firstSync(ctx context.Context, p *watchedFile, data []byte) error {
	if bytes.Equal(data, p.rejected) {
		return nil
	}
	f, err := p.read(data)
	if err != nil {
		return err
	}
	slug := f.slug()
	if slug == "" {
		members, _ := flow.AsMap(f.value)
		name, _ := members["name"].(string)
		slug = document.Slugify(name)
	}
	if id := w.slugs[slug]; id != "" {
		draft, tag, err := w.api.Document(ctx, id, "draft")
		if err == nil && sameFlow(data, draft) {
			p.flowID, p.archived, p.file, p.tag, p.lastProblem = id, false, data, tag, ""
			w.knownFlows[id] = true
			return nil
		}
	}
	list, _, _, err := w.api.Apply(ctx, client.ApplyRequest{Documents: []any{f.value}})
	if errors.Is(err, &flow.Error{Code: flow.CodeDraftChanged}) {
		draft, tag, err := w.api.Document(ctx, slug, "draft")
		if err != nil {
			return err
		}
		p.flowID = w.slugs[slug]
		w.knownFlows[p.flowID] = true
		return w.reportConflict(p, data, draft, tag)
	}
	if err != nil {
		return p.rejection(f, err, func(e *flow.Error) []string { return locate([]*source{f}, e.Fields) })
	}
	p.flowID, p.archived = list[0].FlowID, false
	w.knownFlows[p.flowID] = true
	if list[0].Change != "unchanged" {
		fmt.Fprintf(w.s.Out, "Applied %s.\n", p.path)
	}
	return w.recordSynced(ctx, p, data)
}

// push makes the draft equal to the file. If the draft was edited in the meantime, both have
// changed, which the next poll finds.
func (w *watcher) push(ctx context.Context, p *watchedFile, data []byte) error {
	f, err := p.read(data)
	if err != nil {
		return err
	}
	_, _, err = w.api.ReplaceDraft(ctx, p.flowID, p.tag, flow.EncodeJSON(f.value))
	if errors.Is(err, &flow.Error{Code: flow.CodePreconditionFailed}) {
		return nil
	}
	if err != nil {
		return p.rejection(f, err, func(e *flow.Error) []string {
			lines := make([]string, len(e.Fields))
			for i, field := range e.Fields {
				lines[i] = f.located(field)
			}
			return lines
		})
	}
	fmt.Fprintf(w.s.Out, "Applied %s.\n", p.path)
	if err := w.recordSynced(ctx, p, data); err != nil {
		return err
	}
	return w.markApplied(ctx, flow.EncodeJSON(f.value))
}

// recordSynced records that file and draft are equal. It reads and compares the draft again,
// because somebody may have edited it since the write, and recording the tag of that edit would
// let the next save overwrite it. If there is a newer edit, it records no tag, and the next
// poll pulls the edit.
func (w *watcher) recordSynced(ctx context.Context, p *watchedFile, data []byte) error {
	p.file, p.tag, p.rejected, p.lastProblem = data, "", nil, ""
	draft, tag, err := w.api.Document(ctx, p.flowID, "draft")
	if err == nil && sameFlow(data, draft) {
		p.tag = tag
	}
	return err
}

// markApplied marks the draft as applied, so that the next apply or the next start of Dev does
// not treat it as an edit that was not pulled yet. It applies the document to the equal draft,
// which changes only that mark. If the draft has changed again, the server refuses the apply,
// because that edit has not been pulled.
func (w *watcher) markApplied(ctx context.Context, data []byte) error {
	value, err := flow.DecodeJSON(data)
	if err != nil {
		return err
	}
	_, _, _, err = w.api.Apply(ctx, client.ApplyRequest{Documents: []any{value}})
	if _, rejection := errors.AsType[*client.Rejection](err); rejection {
		return nil // the next poll of the draft finds the reason
	}
	return err
}

// reportConflict writes the draft of the browser to a file beside the flow file and pauses the
// synchronization of the flow until the person has merged both. It overwrites neither side.
func (w *watcher) reportConflict(p *watchedFile, data, draft []byte, tag string) error {
	if sameFlow(data, draft) {
		p.file, p.tag = data, tag
		return nil
	}
	if err := replaceFile(p.conflictPath(), draft, 0o644); err != nil {
		return err
	}
	p.file, p.tag, p.conflict, p.rejected = nil, tag, true, nil
	fmt.Fprintf(w.s.Err, "Conflict: %s was edited here and in the browser. The browser's version is in %s. Merge it into %s, then remove %s; until then neither side is changed.\n",
		p.path, p.conflictPath(), p.path, p.conflictPath())
	return nil
}

// sameFlow reports whether a draft and a file have the same content. It ignores a slug and node
// positions that only the draft has, because the server adds them. Those in the file must be
// equal, since moving a node is an edit too. An invalid document is not equal to any other.
func sameFlow(file, draft []byte) bool {
	a, _ := document.ParseDocument(file)
	b, _ := document.ParseDocument(draft)
	if a == nil || b == nil {
		return false
	}
	if a.Slug == "" {
		b.Slug = ""
	}
	for i := range a.Nodes {
		if n := b.Node(a.Nodes[i].ID); n != nil && a.Nodes[i].Position == nil {
			n.Position = nil
		}
	}
	return bytes.Equal(a.Compact(), b.Compact())
}
