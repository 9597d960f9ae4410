package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/document"
)

// Dev keeps flow files and the drafts of a server equal while both are edited: in a text
// editor and in the browser. It publishes nothing.
//
// It is a two-way synchronization with a common ancestor, like that of a file-sharing service.
// For each flow it remembers what both sides were when they were last equal: the bytes of the
// file, and the ETag of the draft, which changes with each edit. A look at both then tells
// which of them changed since:
//
//	file   draft
//	same   same      nothing to do
//	new    same      the file replaces the draft (push)
//	same   new       the draft replaces the file (pull)
//	new    new       a conflict, unless both say the same
//
// Both writes are conditional, so that an edit between the look and the write is not lost.
// The request to replace the draft carries the remembered ETag as If-Match, and the server
// refuses it if the draft has another by then. The file is read again immediately before it is
// replaced. A refused write changes nothing; the next look finds that both sides changed.
//
// Files and drafts are polled. Notifications of the file system differ between systems, are
// missing on network mounts, and report the several writes of one save; comparing a few files
// of some kilobytes costs less than handling that.
type Dev struct {
	Dir string `arg:"" name:"dir" help:"Directory with files named *.flow.json."`
}

// How often files and drafts are looked at. Reading a file is cheap, so a save is noticed
// before its author looks at the browser; drafts are read every draftTicks.
const (
	devTick    = 250 * time.Millisecond
	draftTicks = 4
)

// conflictSuffix ends the name of the file that keeps the draft of the browser in a
// conflict. It is not a flow file to any command.
const conflictSuffix = ".flow.conflict.json"

// watchedFile is a flow file and the draft that it is kept equal to. A side has changed if it is
// no longer what it was at the last synchronization. The file is compared by its bytes and the
// draft by its tag, because they are never equal byte for byte: the server adds the positions
// of nodes, and people format files as they like.
type watchedFile struct {
	path   string
	flowID string // empty before the file was sent for the first time
	file   []byte // content at the last synchronization; nil during a conflict
	tag    string // of the draft at the last synchronization; "" differs from every tag

	conflict    bool   // both sides changed; waits until the conflict file is removed
	archived    bool   // the flow was archived; waits for a change of the file
	rejected    []byte // content of the file that was refused
	lastProblem string // last problem that was printed, so that it is printed once
}

// conflictPath returns where the browser's draft is kept in a conflict.
func (p *watchedFile) conflictPath() string {
	return strings.TrimSuffix(strings.TrimSuffix(p.path, ".json"), ".flow") + conflictSuffix
}

// watcher is the state of Dev between two looks at the files.
type watcher struct {
	dir        string
	api        *client.Client
	s          *Streams
	files      map[string]*watchedFile // by path
	knownFlows map[string]bool         // IDs of flows that need no new file
	slugs      map[string]string       // IDs of the flows on the server by slug
	ticks      int
}

// RunRemote synchronizes until it is interrupted. Problems of a flow are printed and tried again
// when one of the sides changes. A server that does not respond, as during a restart, is no
// reason to end: it is tried until it does, and nothing is lost in the meantime, since both
// sides are compared with what they were.
func (c Dev) RunRemote(ctx context.Context, api *client.Client, s *Streams) error {
	w := &watcher{dir: c.Dir, api: api, s: s, files: map[string]*watchedFile{}, knownFlows: map[string]bool{}}
	if err := w.listFlows(ctx); err != nil {
		return err
	}
	for _, id := range w.slugs {
		w.knownFlows[id] = true // flows from before get a file with "flow pull"
	}
	if _, err := findFiles([]string{c.Dir}); err != nil {
		return err
	}
	tick := time.NewTicker(devTick)
	defer tick.Stop()
	lost := false
	for ; ; w.ticks++ {
		err := w.sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !lost:
			fmt.Fprintf(s.Err, "%v; trying again\n", err)
		case err == nil && lost:
			fmt.Fprintln(s.Err, "The server responds again.")
		case w.ticks == 0:
			fmt.Fprintf(s.Out, "Watching %s: %s. Stop with Ctrl+C.\n", c.Dir, flow.Count(len(w.files), "flow"))
		}
		lost = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// listFlows reads which flows the server has.
func (w *watcher) listFlows(ctx context.Context) error {
	flows, err := w.api.ListFlows(ctx)
	if err != nil {
		return err
	}
	w.slugs = map[string]string{}
	for _, f := range flows {
		w.slugs[f.Slug] = f.ID
	}
	return nil
}

// sweep looks at all files once, and at the drafts if it is their turn. Its error is that of a
// server that does not respond; what is wrong with a flow is printed.
func (w *watcher) sweep(ctx context.Context) error {
	names, err := findFiles([]string{w.dir})
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, name := range names {
		present[name] = true
		if w.files[name] == nil {
			w.files[name] = &watchedFile{path: name}
		}
	}
	readDrafts := w.ticks%draftTicks == 0
	for path, p := range w.files {
		if !present[path] {
			fmt.Fprintf(w.s.Out, "%s was removed. Its flow stays on the server; 'sluice flow apply --prune' archives flows without a file.\n", path)
			delete(w.files, path)
			continue
		}
		if err := w.sync(ctx, p, readDrafts); err != nil && !w.problem(p, err) {
			return err
		}
	}
	if readDrafts {
		return w.addFlows(ctx)
	}
	return nil
}

// problem prints what is wrong with a flow, once: the file is looked at four times a second, and
// its author needs a while to fix it. It returns false for an error that does not concern the
// flow: the server does not respond, or asks to come back later.
func (w *watcher) problem(p *watchedFile, err error) bool {
	r, rejected := errors.AsType[*client.Rejection](err)
	_, local := errors.AsType[*fs.PathError](err)
	_, invalid := errors.AsType[*invalidFile](err)
	if !rejected && !local && !invalid || rejected && retryable[r.Problem.Code] {
		return false
	}
	if text := err.Error(); text != p.lastProblem {
		p.lastProblem = text
		fmt.Fprintln(w.s.Err, text)
	}
	return true
}

// retryable are responses that say nothing about the flow.
var retryable = map[flow.Code]bool{
	flow.CodeDraining: true, flow.CodeOverloaded: true, flow.CodeUnavailable: true, flow.CodeRateLimited: true, flow.CodeInternal: true,
	flow.CodeKeyRevoked: true, flow.CodeKeyExpired: true, flow.CodeKeyInvalid: true,
}

// invalidFile is the error for a file that is not a valid document; the text names file and
// line.
type invalidFile struct{ text string }

// Error implements error.
func (e *invalidFile) Error() string { return e.text }

// addFlows writes files for flows that were created in the browser since the start. Flows from
// before are left alone, because a directory may hold only some of the flows of a server; and so
// are those whose file was removed, or removing a file would bring it back.
func (w *watcher) addFlows(ctx context.Context) error {
	if err := w.listFlows(ctx); err != nil {
		return err
	}
	for slug, id := range w.slugs {
		if !document.ValidSlug(slug) {
			continue // it would name a file anywhere
		}
		path := filepath.Join(w.dir, slug+fileSuffix)
		if w.knownFlows[id] || exists(path) {
			continue
		}
		data, tag, err := w.api.Document(ctx, id, "draft")
		if err != nil {
			return err
		}
		if err := replaceFile(path, data, 0o644); err != nil {
			return err
		}
		w.knownFlows[id] = true
		w.files[path] = &watchedFile{path: path, flowID: id, file: data, tag: tag}
		fmt.Fprintf(w.s.Out, "Added %s from the browser.\n", path)
	}
	return nil
}

// sync makes a file and its draft equal if one of them changed. The draft is read if it is the
// turn of the drafts, and also whenever the file has changed: whether that may be sent depends
// on the draft. A content that the server has refused is not sent again, but an edit in the
// browser still leads to a conflict then, and not to a file that is overwritten.
func (w *watcher) sync(ctx context.Context, p *watchedFile, readDraft bool) error {
	data, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	if p.conflict && exists(p.conflictPath()) {
		return nil
	}
	p.conflict = false
	changed := p.file == nil || !bytes.Equal(data, p.file)
	if p.flowID == "" || p.archived && changed {
		return w.firstSync(ctx, p, data)
	}
	if p.archived || !readDraft && (!changed || bytes.Equal(data, p.rejected)) {
		return nil
	}
	draft, tag, err := w.api.Document(ctx, p.flowID, "draft")
	switch {
	case errors.Is(err, &flow.Error{Code: flow.CodeNotFound}):
		p.archived = true
		fmt.Fprintf(w.s.Err, "The flow of %s was archived. The file stays; saving it again restores the flow.\n", p.path)
		return nil
	case err != nil:
		return err
	case tag != p.tag && changed:
		return w.reportConflict(p, data, draft, tag)
	case tag != p.tag:
		return w.pull(ctx, p, draft, tag)
	case changed && !bytes.Equal(data, p.rejected):
		return w.push(ctx, p, data)
	}
	return nil
}

// pull writes the draft to the file. If the file was saved in the meantime, both have changed:
// the next look finds that.
func (w *watcher) pull(ctx context.Context, p *watchedFile, draft []byte, tag string) error {
	if now, err := os.ReadFile(p.path); err != nil || !bytes.Equal(now, p.file) {
		return err
	}
	draft = keepSchema(draft, p.file)
	if err := replaceFile(p.path, draft, 0o644); err != nil {
		return err
	}
	p.file, p.tag, p.lastProblem = draft, tag, ""
	fmt.Fprintf(w.s.Out, "Saved %s from the browser.\n", p.path)
	return w.markApplied(ctx, draft)
}
