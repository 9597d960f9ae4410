package api

import (
	"context"
	"net/http"

	"sluice/flow"
)

// Files keeps what is uploaded and what runs produce.
type Files interface {
	flow.FileStore
	FindFile(ctx context.Context, ws, id string) (*flow.File, error)
	// FileByID finds a file in whatever workspace it is. Whoever asks checks
	// that the caller may know of it.
	FileByID(ctx context.Context, id string) (*flow.File, error)
	FileUses(ctx context.Context, ws, id string) ([]flow.FileUse, error)
	EraseFile(ctx context.Context, ws, id string) error
}

// fileObject is an uploaded file: the file value, which a run takes as it is,
// and when it was made.
type fileObject struct {
	File      string `json:"file" doc:"The ID. {\"file\": ID} is enough of a value to start a run with."`
	Name      string `json:"name"`
	MIME      string `json:"mime"`
	Size      int64  `json:"size" doc:"Bytes."`
	CreatedAt stamp  `json:"created_at"`
	URL       string `json:"url" doc:"Where anybody can fetch it without a key, for at least an hour. Each answer has a fresh one."`
}

// createFile is POST files.
func (s *Server) createFile(c *Call) error {
	if !s.Runner.Accepts() {
		return ErrDraining()
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	f, err := c.receiveFile()
	release()
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", filePath(f.ID))
	return c.WriteJSON(http.StatusCreated, fileObject{
		File: f.ID, Name: f.Name, MIME: f.MIME, Size: f.Size, CreatedAt: stamp(f.CreatedAt),
		URL: s.Links.URL(f.WorkspaceID, f.ID, s.LinksExpire()),
	})
}

func filePath(id string) string { return "/v1/files/" + id }

// findFile reads the file of the path as far as the key may use it. What it
// may not use is missing.
func (c *Call) findFile(key *flow.Key) (*flow.File, error) {
	if !flow.ValidID(flow.PrefixFile, c.fileID()) {
		return nil, errNotFound
	}
	ctx := c.Request().Context()
	f, err := c.s.Files.FindFile(ctx, key.WorkspaceID, c.fileID())
	if err != nil || flow.MayUseFile(key, f, nil) { // nearly always, without a look at its runs
		return f, err
	}
	uses, err := c.s.Files.FileUses(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	if !flow.MayUseFile(key, f, uses) {
		return nil, errNotFound
	}
	return f, nil
}

// eraseFile is DELETE file: for a key that manages, or for the one that
// uploaded it. A key that manages needs no other scope to find it.
func (s *Server) eraseFile(c *Call) error {
	key := *c.Key
	if key.Has(flow.ScopeManage) {
		key.Scopes = append(key.Scopes[:len(key.Scopes):len(key.Scopes)], flow.ScopeRead)
	}
	f, err := c.findFile(&key)
	if err != nil {
		return err
	}
	if own := f.KeyID != "" && f.KeyID == key.ID; !own && !key.Has(flow.ScopeManage) {
		return ErrMissingScope(flow.ScopeManage)
	}
	if err := s.Files.EraseFile(c.Request().Context(), f.WorkspaceID, f.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
