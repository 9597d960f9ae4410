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
	"sluice/flow/library"
)

// Dev keeps flow files and the drafts of a server equal while both are edited: in a text
// editor and in the browser. It publishes nothing.
//
// It is a two-way synchronization with a common ancestor, like that of a file-sharing service.
// For each flow it remembers the state of both sides when they were last equal: the bytes of
// the file, and the ETag of the draft, which changes with each edit. Comparing both sides with
// that state shows which of them changed:
//
//	file   draft
//	same   same      nothing to do
//	new    same      the file replaces the draft (push)
//	same   new       the draft replaces the file (pull)
//	new    new       a conflict, unless both are equal
//
// Both writes are conditional, so that an edit between the comparison and the write is not
// lost. The request to replace the draft carries the remembered ETag as If-Match, and the
// server refuses it if the draft has changed. The file is read again immediately before it is
// replaced. A refused write changes nothing; the next poll finds that both sides changed.
//
// Files and drafts are polled. File system notifications differ between operating systems, do
// not work on network mounts, and report several writes for one save. Comparing a few small
// files is simpler.
type Dev struct {
	Dir string `arg:"" name:"dir" help:"Directory with files named *.flow.json, *.triggers.json."`
}

// Files are polled every devTick, so that a save is noticed before its author looks at the
// browser. Drafts are polled every draftTicks ticks.
const (
	devTick    = 250 * time.Millisecond
	draftTicks = 4
)

// conflictSuffix is the suffix of the file that has the draft of the browser in a conflict. No
// command treats it as a flow file.
const conflictSuffix = ".flow.conflict.json"

// watchedFile is a flow file and its draft, with the state of both at the last synchronization.
// The file is compared by its bytes and the draft by its tag, because file and draft are never
// equal byte for byte: the server adds the positions of nodes, and people format files freely.
type watchedFile struct {
	path   string
	flowID string // empty until the file has been sent for the first time
	file   []byte // content at the last synchronization; nil during a conflict
	tag    string // of the draft at the last synchronization; "" differs from every tag

	conflict    bool   // both sides changed; paused until the conflict file is removed
	archived    bool   // the flow was archived; paused until the file changes
	rejected    []byte // content of the file that the server refused
	lastProblem string // last printed problem, to print each one once
}

// conflictPath returns the path of the file with the browser's draft in a conflict.
func (p *watchedFile) conflictPath() string {
	return strings.TrimSuffix(strings.TrimSuffix(p.path, ".json"), ".flow") + conflictSuffix
}

// watcher is the state of Dev between two polls.
type watcher struct {
	dir        string
	api        *client.Client
	s          *Streams
	files      map[string]*watchedFile // by path
	knownFlows map[string]bool         // IDs of flows that get no new file
	slugs      map[string]string       // IDs of the flows on the server by slug
	ticks      int

	companions      map[string]*watchedCompanion // by path
	knownCompanions map[string]bool              // names of files that are not added
	heads           []client.Companion           // of the server, at the last poll of drafts
}

// RunAPI synchronizes until it is interrupted. It prints the problems of a flow and retries
// when a side changes. While the server does not respond, for example during a restart, it
// keeps retrying. No edit is lost in the meantime, since both sides are compared with the last
// synchronized state.
func (c Dev) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	w := &watcher{dir: c.Dir, api: api, s: s, files: map[string]*watchedFile{}, knownFlows: map[string]bool{}, companions: map[string]*watchedCompanion{}, knownCompanions: map[string]bool{}}
	if err := w.listFlows(ctx); err != nil {
		return err
	}
	heads, err := api.ListCompanions(ctx)
	if err != nil {
		return err
	}
	for i := range heads {
		if of := library.FindCompanion(heads[i].Name); of != nil {
			w.knownCompanions[of.CompanionFile(heads[i].Slug)] = true
		}
	}
	for _, id := range w.slugs {
		w.knownFlows[id] = true // existing flows get a file only by "flow pull"
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
			fmt.Fprintf(s.Err, "%v; retrying\n", err)
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

// listFlows reads the flows of the server.
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

// sweep synchronizes all files once, and polls the drafts every draftTicks ticks. It prints the
// problems of flows and returns an error only if the server is unavailable.
func (w *watcher) sweep(ctx context.Context) error {
	names, err := findFiles([]string{w.dir})
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, name := range names {
		if c, _ := companionOf(name); c != nil {
			continue
		}
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
		if err := w.addFlows(ctx); err != nil {
			return err
		}
		if w.heads, err = w.api.ListCompanions(ctx); err != nil {
			return err
		}
	}
	return w.sweepCompanions(ctx, names, w.heads, readDrafts)
}

// problem prints a problem of a flow once, although it recurs at every poll until it is fixed.
// It returns false, without printing, for an error that does not concern the flow: the server
// does not respond or asks to retry later.
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

// retryable has the codes of responses that do not concern the flow.
var retryable = map[flow.Code]bool{
	flow.CodeDraining: true, flow.CodeOverloaded: true, flow.CodeUnavailable: true, flow.CodeRateLimited: true, flow.CodeInternal: true,
	flow.CodeKeyRevoked: true, flow.CodeKeyExpired: true, flow.CodeKeyInvalid: true,
}

// invalidFile is the error for a file that is not a valid document; the text names file and
// line.
type invalidFile struct{ text string }

// Error implements error.
func (e *invalidFile) Error() string { return e.text }

// addFlows writes files for flows that were created in the browser since the start. It ignores
// older flows, because a directory may have only some of the flows of a server, and flows whose
// file was removed, because removing it would otherwise restore it.
func (w *watcher) addFlows(ctx context.Context) error {
	if err := w.listFlows(ctx); err != nil {
		return err
	}
	for slug, id := range w.slugs {
		if !document.ValidSlug(slug) {
			continue // an invalid slug could name a file outside the directory
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

// sync makes a file and its draft equal if one of them changed. It reads the draft if readDraft
// is set or the file has changed, since sending the file depends on the draft. It does not send
// content again that the server refused; an edit in the browser is then a conflict and does
// not overwrite the file.
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
	case flow.IsNotFound(err):
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

// pull writes the draft to the file. If the file was saved in the meantime, both have changed,
// which the next poll finds.
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
