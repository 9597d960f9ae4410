package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/library"
)

// watchedCompanion is a file beside a flow and what the server has, with the state of both at the last synchronization. The rules are
// those of Dev: the side that changed replaces the other, and if both did, it is a conflict. Here an entry that was removed from the
// file is removed from the server too, since that had it at the last synchronization.
type watchedCompanion struct {
	*watchedFile
	companion *library.Companion
	of        client.Companion
}

// conflictFile returns the path of the file with the server's content in a conflict.
func (p *watchedCompanion) conflictFile() string {
	return strings.TrimSuffix(p.path, ".json") + ".conflict.json"
}

// sweepCompanions synchronizes the files beside flows once. heads are those of the server; fresh reports that they were just read.
func (w *watcher) sweepCompanions(ctx context.Context, names []string, heads []client.Companion, fresh bool) error {
	listed := map[string]client.Companion{}
	for _, h := range heads {
		if c := library.FindCompanion(h.Name); c != nil {
			listed[c.CompanionFile(h.Slug)] = h
		}
	}
	present := map[string]bool{}
	for _, path := range names {
		c, slug := companionOf(path)
		if c == nil {
			continue
		}
		name := filepath.Base(path)
		present[name] = true
		p := w.companions[path]
		if p == nil {
			p = &watchedCompanion{watchedFile: &watchedFile{path: path}, companion: c}
			w.companions[path] = p
		}
		p.of = listed[name]
		if p.of.Name == "" { // nothing was ever in it
			p.of = client.Companion{FlowID: w.slugs[slug], Slug: slug, Name: c.Name}
		}
		if !c.OfWorkspace && p.of.FlowID == "" {
			continue // its flow was not sent yet
		}
		if err := w.syncCompanion(ctx, p, fresh); err != nil && !w.problem(p.watchedFile, err) {
			return err
		}
	}
	for path, p := range w.companions {
		if !present[filepath.Base(path)] {
			fmt.Fprintf(w.s.Out, "%s was removed. What it held stays on the server; 'sluice flow pull' gets it again.\n", path)
			w.knownCompanions[filepath.Base(p.path)] = true
			delete(w.companions, path)
		}
	}
	return w.addCompanions(ctx, listed, present)
}

// addCompanions writes the files beside flows of the directory that got their first content since the start.
func (w *watcher) addCompanions(ctx context.Context, listed map[string]client.Companion, present map[string]bool) error {
	for name, head := range listed {
		if present[name] || w.knownCompanions[name] {
			continue
		}
		var beside string
		for path, f := range w.files {
			if f.flowID == head.FlowID {
				beside = filepath.Join(filepath.Dir(path), name)
			}
		}
		if beside == "" || exists(beside) {
			continue
		}
		data, _, err := w.api.ReadCompanion(ctx, &head)
		if err != nil {
			return err
		}
		if library.FindCompanion(head.Name).IsEmpty(data) {
			continue
		}
		if err := replaceFile(beside, data, 0o644); err != nil {
			return err
		}
		w.knownCompanions[name] = true
		fmt.Fprintf(w.s.Out, "Added %s from the browser.\n", beside)
	}
	return nil
}

// syncCompanion makes a file and what the server has equal if one of them changed.
func (w *watcher) syncCompanion(ctx context.Context, p *watchedCompanion, fresh bool) error {
	data, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	if p.conflict && exists(p.conflictFile()) {
		return nil
	}
	first := p.tag == "" && p.file == nil && !p.conflict
	p.conflict = false
	fileChanged := p.file == nil || !bytes.Equal(data, p.file)
	serverChanged := fresh && p.tag != fmt.Sprintf(`"rev-%d"`, p.of.Revision)
	if bytes.Equal(data, p.rejected) || !fileChanged && !serverChanged {
		return nil
	}
	f, err := p.read(data)
	if err != nil {
		return err
	}
	there, tag, err := w.api.ReadCompanion(ctx, &p.of)
	if err != nil {
		return err
	}
	formatted, problems := p.companion.FormatCompanion(data, checkExpression)
	if len(problems) > 0 {
		p.rejected = data
		lines := make([]string, len(problems))
		for i := range problems {
			lines[i] = f.located(problems[i])
		}
		return &invalidFile{strings.Join(lines, "\n")}
	}
	switch {
	case bytes.Equal(formatted, there):
		p.file, p.tag, p.rejected, p.lastProblem = data, tag, nil, ""
		return w.markCompanion(ctx, f)
	case first:
		_, _, _, err = w.api.Apply(ctx, client.ApplyRequest{Documents: []any{}, Companions: []any{f.sent}})
		if errors.Is(err, &flow.Error{Code: flow.CodeDraftChanged}) {
			return w.companionConflict(p, there, tag)
		}
	case fileChanged && tag != p.tag:
		return w.companionConflict(p, there, tag)
	case fileChanged:
		_, err = w.api.ReplaceCompanion(ctx, &p.of, p.tag, formatted)
		if errors.Is(err, &flow.Error{Code: flow.CodePreconditionFailed}) {
			return nil // the next poll finds that both sides changed
		}
	default:
		return w.pullCompanion(ctx, p, there, tag)
	}
	if err != nil {
		return p.rejection(f, err, func(e *flow.Error) []string {
			lines := make([]string, len(e.Fields))
			for i, field := range e.Fields {
				field.Pointer = strings.TrimPrefix(strings.TrimPrefix(field.Pointer, "/companions/0"), "/content")
				lines[i] = f.located(field)
			}
			return lines
		})
	}
	fmt.Fprintf(w.s.Out, "Applied %s.\n", p.path)
	p.file, p.tag, p.rejected, p.lastProblem = data, "", nil, ""
	if there, tag, err = w.api.ReadCompanion(ctx, &p.of); err == nil && bytes.Equal(formatted, there) {
		p.tag = tag
	}
	if err != nil {
		return err
	}
	return w.markCompanion(ctx, f)
}

// pullCompanion writes what the server has to the file.
func (w *watcher) pullCompanion(ctx context.Context, p *watchedCompanion, there []byte, tag string) error {
	if now, err := os.ReadFile(p.path); err != nil || !bytes.Equal(now, p.file) {
		return err // saved in the meantime; the next poll finds that both sides changed
	}
	there = keepSchema(there, p.file)
	if err := replaceFile(p.path, there, 0o644); err != nil {
		return err
	}
	p.file, p.tag, p.rejected, p.lastProblem = there, tag, nil, ""
	fmt.Fprintf(w.s.Out, "Saved %s from the browser.\n", p.path)
	f, err := p.read(there)
	if err != nil {
		return err
	}
	return w.markCompanion(ctx, f)
}

// markCompanion marks what the server has as applied, so that the next apply does not treat it as an edit that was not pulled.
func (w *watcher) markCompanion(ctx context.Context, f *source) error {
	_, _, _, err := w.api.Apply(ctx, client.ApplyRequest{Documents: []any{}, Companions: []any{f.sent}})
	if _, rejection := errors.AsType[*client.Rejection](err); rejection {
		return nil // the next poll finds the reason
	}
	return err
}

// companionConflict writes what the server has beside the file, and pauses the synchronization until the person has merged both.
func (w *watcher) companionConflict(p *watchedCompanion, there []byte, tag string) error {
	if err := replaceFile(p.conflictFile(), there, 0o644); err != nil {
		return err
	}
	p.file, p.tag, p.conflict, p.rejected = nil, tag, true, nil
	fmt.Fprintf(w.s.Err, "Conflict: %s was edited here and in the browser. The browser's version is in %s. Merge it into %s, then remove %s; until then neither side is changed.\n",
		p.path, p.conflictFile(), p.path, p.conflictFile())
	return nil
}
