package library

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/document"
)

// maxNotes bounds the notes of a version, in characters.
const maxNotes = 200

// Review describes the effects of publishing a document on callers.
type Review struct {
	Slug string
	Diff *document.Diff
	// Callers are keys with runs in flow.CallerPeriod. Followers are nodes of other flows that
	// run the live version. Both are set only if Diff breaks callers.
	Callers   []flow.Caller
	Followers []Follower
	// Widened are tools of other flows that can do more with the newer document.
	Widened []WidenedCaller
	// Alias is set if the document has a former slug of another flow.
	Alias *Alias
}

// Alias is a former slug of a flow, by which callers can still use it.
type Alias struct {
	Slug    string
	Flow    *flow.Flow    // the flow that had the slug
	Callers []flow.Caller // keys that used it in flow.CallerPeriod
}

// BreakingError rejects changes that break callers: publishing them, or taking a former slug that
// callers use.
type BreakingError struct {
	Public  *flow.Error
	Reviews []Review // of the flows with breaking changes
}

// Error returns the message for users.
func (e *BreakingError) Error() string { return e.Public.Message }

// Unwrap returns the error with its code.
func (e *BreakingError) Unwrap() error { return e.Public }

// breaking returns the error for changes that break callers, with the reviews that explain
// them.
func breaking(reviews ...Review) error {
	return &BreakingError{Reviews: reviews, Public: flow.Errorf(flow.CodeBreakingChange,
		"Publishing would break programs that call %s. The diffs say how. Change the document, or allow breaking changes.", flow.Count(len(reviews), "flow"))}
}

// Review compares two documents of a flow; old may be nil. If the newer one breaks callers, the
// review lists the affected keys and nodes of other flows.
func (l *Library) Review(ctx context.Context, f *flow.Flow, old, now *flow.Document, at time.Time) (Review, error) {
	r, err := l.compare(ctx, f, old, now, at)
	if err == nil && len(r.Diff.Breaking) > 0 {
		r.Followers, err = l.Followers(ctx, f, now)
	}
	if err == nil {
		r.Widened, err = WidenedCallers(ctx, l, f, now)
	}
	return r, err
}

// compare is Review without Followers.
func (l *Library) compare(ctx context.Context, f *flow.Flow, old, now *flow.Document, at time.Time) (Review, error) {
	r := Review{Slug: f.Slug, Diff: document.Compare(old, now, l.Kinds)}
	if len(r.Diff.Breaking) == 0 {
		return r, nil
	}
	var err error
	r.Callers, err = l.Store.ListCallers(ctx, f.WorkspaceID, f.ID, at.Add(-flow.CallerPeriod))
	return r, err
}

// liveDocument returns the live document of a flow, or nil if it was never
// published.
func (l *Library) liveDocument(ctx context.Context, f *flow.Flow) (*flow.Document, error) {
	if f.LiveHash == "" {
		return nil, nil
	}
	return l.Document(ctx, f.WorkspaceID, f.ID, f.LiveVersion)
}

// CheckSent returns all problems of a document that a program sent: those of its form, those that
// prevent it from running, and literal secrets, which only imports by users move to encrypted
// storage. Call FillContracts first, so that edges of nodes that run other flows can be checked.
func (l *Library) CheckSent(d *flow.Document, problems []flow.Problem) error {
	if d != nil {
		if secrets := l.secretProblems(d); len(secrets) > 0 {
			return &flow.Error{Code: flow.CodeSecretInDocument, Fields: secrets,
				Message: "The document contains secrets in clear text. Save each as a credential, and reference it by name in the document. Rotate secrets that were committed to a repository."}
		}
	}
	return CheckParsed(l, d, problems)
}

// CheckParsed is Library.CheckSent without the check for literal secrets.
func CheckParsed(l *Library, d *flow.Document, problems []flow.Problem) error {
	if d != nil {
		problems = flow.MergeProblems(problems, document.Validate(d, l.Kinds))
	}
	return documentInvalid(problems)
}

// secretProblems returns the locations of the literal secrets of a document, without the secrets.
func (l *Library) secretProblems(d *flow.Document) (list []flow.Problem) {
	copied, _ := document.ParseDocument(d.Compact()) // ExtractSecrets changes it
	if copied == nil {
		return nil
	}
	for _, s := range document.ExtractSecrets(copied, l.Kinds, func(*document.ExtractedSecret) string { return "secret" }) {
		list = append(list, flow.Problem{Pointer: "/nodes/" + s.Node + "/config/" + s.Field, Code: string(flow.CodeSecretInDocument), Node: s.Node,
			Detail: fmt.Sprintf("%s of the node %q contains a secret", s.Field, s.Node)})
	}
	for i := range list {
		for at := range d.Nodes {
			if d.Nodes[at].ID == list[i].Node {
				list[i].Pointer = flow.Pointer("nodes", at, "config")
			}
		}
	}
	return list
}

// CreateSent creates a flow from a document that CheckSent accepts. Unlike Import, it returns
// CodeSlugTaken if another flow has the slug.
func (l *Library) CreateSent(ctx context.Context, ws flow.WorkspaceID, by flow.Actor, d *flow.Document) (*flow.Flow, error) {
	f := &flow.Flow{ID: l.IDs.NewFlow(), WorkspaceID: ws, Slug: d.Slug}
	takeDocument(f, d, l.Kinds)
	err := l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := l.Store.CreateFlow(ctx, f); err != nil {
			return err
		}
		return l.audit(ctx, f, by, "flow.create", f.Name)
	})
	return f, err
}

// takeDocument makes a document the draft of a flow and sets missing positions. The slug is stored
// with the flow, so that it does not affect the hash of the document.
func takeDocument(f *flow.Flow, d *flow.Document, kinds *flow.Registry) {
	d.Slug = ""
	if was, _ := document.ParseDocument(f.Draft); was != nil {
		document.KeepPlaces(d, was)
	}
	document.PlaceRest(d, kinds)
	f.Name, f.Description, f.Draft = d.Name, d.Description, d.Compact()
}

// ReplaceDraft makes a document that CheckSent accepts the draft of a flow, through
// the edit log, so that open editors and undo see the change. It returns
// CodePreconditionFailed if the draft is no longer at the revision. A slug in the
// document renames the flow; see RenameSlug of the store for takeAlias.
func (l *Library) ReplaceDraft(ctx context.Context, f *flow.Flow, by flow.Actor, rev int64, d *flow.Document, takeAlias bool) error {
	if f.Rev != rev {
		return errDraftOutdated
	}
	slug := d.Slug
	return l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if slug != "" && slug != f.Slug {
			if err := l.Store.RenameSlug(ctx, f.WorkspaceID, f.ID, slug, takeAlias); err != nil {
				return err
			}
			if err := l.audit(ctx, f, by, "flow.rename", f.Slug+" to "+slug); err != nil {
				return err
			}
		}
		changed, err := l.writeDraft(ctx, f, by, d)
		if err != nil || !changed {
			return err
		}
		return l.audit(ctx, f, by, "flow.edit", f.Name)
	})
}

var errDraftOutdated = flow.Errorf(flow.CodePreconditionFailed, "The draft has changed since you read it. Read the document again, merge your changes, and send it with the new ETag.")

// writeDraft replaces the draft and reports whether it differs.
func (l *Library) writeDraft(ctx context.Context, f *flow.Flow, by flow.Actor, d *flow.Document) (changed bool, err error) {
	next := *f
	takeDocument(&next, d, l.Kinds)
	if bytes.Equal(next.Draft, f.Draft) {
		return false, nil
	}
	cycles, err := l.CallProblems(ctx, f, d)
	if err != nil {
		return false, err
	}
	if err := documentInvalid(cycles); err != nil {
		return false, err
	}
	if from, _ := document.ParseDocument(f.Draft); from != nil {
		// Some differences, such as the order of members in a value, are no edits.
		if ops, ok := document.EditsBetween(from, d); ok && len(ops) > 0 {
			_, err := l.EditFlow(ctx, f.WorkspaceID, f.ID, by.ID, document.EditRequest{Base: f.Rev, Tab: document.TabAPI, TxID: rand.Text(), Ops: ops, Whole: d})
			return true, draftError(err)
		}
	}
	return true, draftError(l.Store.ReplaceDraft(ctx, f.WorkspaceID, f.ID, f.Rev, next.Name, next.Description, next.Draft))
}

// draftError replaces the error of a write to an outdated draft by errDraftOutdated.
func draftError(err error) error {
	if errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) || errors.Is(err, &flow.Error{Code: document.CodeEditsGone}) {
		return errDraftOutdated
	}
	return err
}

// PublishRequest asks to publish a draft or an older version.
type PublishRequest struct {
	Version       int64 // 0 means the draft
	Notes         string
	AllowBreaking bool
	By            flow.Actor
	At            time.Time
}

// PublishReviewed publishes the draft of a flow or makes an older version live. It returns a
// BreakingError if that would break callers, unless the request allows it.
func (l *Library) PublishReviewed(ctx context.Context, f *flow.Flow, r PublishRequest) (v flow.Version, review Review, err error) {
	if len([]rune(r.Notes)) > maxNotes {
		return v, review, flow.Errorf(flow.CodeInputInvalid, "Use at most %d characters for the release notes.", maxNotes)
	}
	now, err := l.reviewed(ctx, f, r.Version)
	if err != nil {
		return v, review, err
	}
	old, err := l.liveDocument(ctx, f)
	if err != nil {
		return v, review, err
	}
	if review, err = l.Review(ctx, f, old, now, r.At); err != nil {
		return v, review, err
	}
	if len(review.Diff.Breaking) > 0 && !r.AllowBreaking {
		return v, review, breaking(review)
	}
	if r.Version == 0 {
		v, _, err = l.PublishDraft(ctx, f, r.By, r.Notes)
		return v, review, err
	}
	err = l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := l.MakeLive(ctx, r.By, f, r.Version); err != nil {
			return err
		}
		made, err := l.Store.FindVersion(ctx, f.WorkspaceID, f.ID, r.Version)
		if err != nil {
			return err
		}
		v = *made
		return nil
	})
	return v, review, err
}

// reviewed returns the document of a version or, if version is 0, the draft as the caller read it.
func (l *Library) reviewed(ctx context.Context, f *flow.Flow, version int64) (*flow.Document, error) {
	if version != 0 {
		return l.Document(ctx, f.WorkspaceID, f.ID, version)
	}
	d, problems := document.ParseDocument(f.Draft)
	return d, documentInvalid(problems)
}

// Archive archives a flow. It is idempotent.
func (l *Library) Archive(ctx context.Context, f *flow.Flow, by flow.Actor) error {
	if !f.ArchivedAt.IsZero() {
		return nil
	}
	return l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := l.Store.ArchiveFlow(ctx, f.WorkspaceID, f.ID); err != nil {
			return err
		}
		return l.audit(ctx, f, by, "flow.archive", f.Name)
	})
}

// Restore restores an archived flow. It is idempotent.
func (l *Library) Restore(ctx context.Context, f *flow.Flow, by flow.Actor) error {
	if f.ArchivedAt.IsZero() {
		return nil
	}
	return l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := l.Store.RestoreFlow(ctx, f.WorkspaceID, f.ID); err != nil {
			return err
		}
		return l.audit(ctx, f, by, "flow.restore", f.Name)
	})
}

// audit appends an entry about a flow to the workspace's audit log.
func (l *Library) audit(ctx context.Context, f *flow.Flow, by flow.Actor, action, detail string) error {
	return l.Store.AddAudit(ctx, flow.AuditEntry{WorkspaceID: f.WorkspaceID, Actor: by.ID, IP: by.IP, Action: action, Target: string(f.ID), Detail: detail})
}
