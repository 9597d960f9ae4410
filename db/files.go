package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/media"
)

// maxUses bounds how many runs FileUses reads, newest first.
const maxUses = 10_000

// SaveFile stores content, and then the row of the file and its link to a run in
// one durable transaction. If the process crashes in between, SweepFiles removes
// the content.
func (s *Files) SaveFile(ctx context.Context, n flow.NewFile, content io.Reader) (*flow.File, error) {
	limit := s.DB.Config.MaxFile
	if n.MaxSize > 0 {
		limit = min(limit, n.MaxSize)
	}
	m := blobs.NewMeter(content, limit)
	if n.RunID == "" || n.Refusable {
		if err := s.limitUpload(ctx, n.WorkspaceID, m); err != nil {
			return nil, err
		}
	}
	d, err := s.bucket.Put(ctx, m)
	if err != nil {
		return nil, err
	}
	defer d.Drop()
	f := &flow.File{
		ID: cmp.Or(n.ID, s.DB.IDs().New(flow.PrefixFile)), WorkspaceID: n.WorkspaceID, MIME: media.Type(n.MIME, m.Head),
		Size: m.Size, Hash: m.Sum(), KeyID: n.KeyID, CreatedAt: dbconn.TimeOf(s.DB.NowMicros()),
	}
	f.Name = media.FileName(n.Name, f.MIME)
	if err := d.Keep(ctx, m, func(tx *core.Tx) error { return addFile(tx, f, n) }); err != nil {
		return nil, err
	}
	return f, nil
}

// limitUpload stops an upload as soon as it exceeds the quota of the workspace,
// rather than after reading all of it.
func (s *Files) limitUpload(ctx context.Context, ws flow.WorkspaceID, m *blobs.Meter) error {
	w, err := (&Quotas{s.DB}).FindStorage(ctx, ws)
	if err != nil || w.Limit.Bytes == 0 {
		return err
	}
	m.Refusal = flow.Quota{Unit: flow.QuotaBytes, Limit: w.Limit.Bytes, Used: w.Used.Bytes}.Refusal()
	if m.Left = w.Limit.Bytes - w.Used.Bytes - flow.StorageItem; m.Left < 0 {
		return m.Refusal
	}
	return nil
}

// addFile inserts the row of a file and links it to a run, if any.
func addFile(tx *core.Tx, f *flow.File, n flow.NewFile) error {
	err := tx.Queries.InsertFile(tx.Ctx, gen.InsertFileParams{
		ID: f.ID, WorkspaceID: f.WorkspaceID, Name: f.Name, Mime: f.MIME, Size: f.Size, Hash: f.Hash,
		KeyID: f.KeyID, CreatedAt: dbconn.Micros(f.CreatedAt),
	})
	if err != nil {
		return err
	}
	kept := flow.Storage{Bytes: f.Size + flow.StorageItem}
	if n.RunID == "" {
		return tx.TrackWithinQuota(f.WorkspaceID, kept)
	}
	if n.Refusable {
		if err := tx.TrackWithinQuota(f.WorkspaceID, kept); err != nil {
			return err
		}
	} else {
		tx.TrackStorage(f.WorkspaceID, kept) // other files of an accepted run are never refused
	}
	// A fenced worker may still save files. If the content of the run was erased, nothing
	// would ever erase the file.
	held, err := tx.Queries.HoldRunContent(tx.Ctx, gen.HoldRunContentParams{ID: n.RunID, WorkspaceID: f.WorkspaceID})
	if err := dbconn.MustAffect(held, err, "run"); err != nil {
		return err
	}
	return tx.Queries.LinkFile(tx.Ctx, gen.LinkFileParams{RunID: n.RunID, FileID: f.ID, WorkspaceID: f.WorkspaceID})
}

// OpenFile opens a file for reading. The reader is valid until ctx ends.
func (s *Files) OpenFile(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.File, io.ReadSeekCloser, error) {
	f, err := s.FindFile(ctx, ws, id)
	if err != nil {
		return nil, nil, err
	}
	content, err := s.bucket.Open(ctx, f.Hash)
	if errors.Is(err, fs.ErrNotExist) { // erased in the meantime, or lost with its directory
		return nil, nil, flow.Errorf(flow.CodeNotFound, "The content of this file is gone. Upload it again.")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", id, err)
	}
	return f, content, nil
}

// ContentLink returns a URL with which anyone can download the content of a file from object storage for a
// while, with a media type and a Content-Disposition. It returns "" if the content is elsewhere or links are
// off.
func (s *Files) ContentLink(ctx context.Context, f *flow.File, mediaType, disposition string, lifetime time.Duration) (string, error) {
	objects, ok := s.bucket.(*blobs.Objects)
	if !ok || !s.DB.Config.ObjectsRedirect {
		return "", nil
	}
	return objects.Link(ctx, f.Hash, mediaType, disposition, lifetime)
}

// FindFile returns a file that is not erased.
func (s *Files) FindFile(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.File, error) {
	r, err := s.DB.Reads.FindFile(ctx, gen.FindFileParams{ID: id, WorkspaceID: ws})
	return dbconn.ConvertRow(r, err, "file", fileOf)
}

// FindFiles returns the files that exist, by ID.
func (s *Files) FindFiles(ctx context.Context, ws flow.WorkspaceID, ids []string) (map[string]*flow.File, error) {
	files := make(map[string]*flow.File, len(ids))
	for _, id := range ids {
		f, err := s.FindFile(ctx, ws, id)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", id, err)
		}
		files[id] = f
	}
	return files, nil
}

// FileByID returns a file of any workspace, for signed URLs. The caller must check
// the workspace.
func (s *Files) FileByID(ctx context.Context, id string) (*flow.File, error) {
	r, err := s.DB.Reads.FindFileAnywhere(ctx, id)
	return dbconn.ConvertRow(r, err, "file", fileOf)
}

// FileUses returns the flows and keys that used a file, each pair once.
func (s *Files) FileUses(ctx context.Context, ws flow.WorkspaceID, id string) ([]flow.FileUse, error) {
	rows, err := s.DB.Reads.ListUsesOfFile(ctx, gen.ListUsesOfFileParams{FileID: id, WorkspaceID: ws, MaxRows: maxUses})
	if err != nil {
		return nil, fmt.Errorf("list the uses of %s: %w", id, err)
	}
	var uses []flow.FileUse
	seen := map[flow.FileUse]bool{}
	for _, r := range rows {
		use := flow.FileUse{FlowID: r.FlowID, KeyID: r.KeyID}
		if !seen[use] {
			seen[use] = true
			uses = append(uses, use)
		}
	}
	return uses, nil
}

func fileOf(r gen.File) flow.File {
	return flow.File{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, MIME: r.Mime, Size: r.Size, Hash: r.Hash,
		KeyID: r.KeyID, CreatedAt: dbconn.TimeOf(r.CreatedAt),
	}
}
