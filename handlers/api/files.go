package api

import (
	"context"
	"net/http"

	"sluice/flow"
)

// Files stores uploaded files and those that runs produce.
type Files interface {
	flow.FileStore
	FindFile(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.File, error)
	// FileByID finds a file of any workspace. The caller must check access.
	FileByID(ctx context.Context, id string) (*flow.File, error)
	FileUses(ctx context.Context, ws flow.WorkspaceID, id string) ([]flow.FileUse, error)
	EraseFile(ctx context.Context, ws flow.WorkspaceID, id string) error
}

// fileObject is the JSON of an uploaded file: a file value, which can be an input of a
// run, with its creation time.
type fileObject struct {
	File      string `json:"file" doc:"The ID. {\"file\": ID} is enough as an input."`
	Name      string `json:"name"`
	MIME      string `json:"mime"`
	Size      int64  `json:"size" doc:"Bytes."`
	CreatedAt stamp  `json:"created_at"`
	URL       string `json:"url" doc:"Download link that needs no key, valid for at least an hour. Each response has a new one."`
}

// createFile is POST files: it uploads a file.
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

// filePath returns the path of a file in the API.
func filePath(id string) string { return "/v1/files/" + id }

// findFile returns a file if the key may use it: one that it uploaded or that is in a run it
// may see.
func (c *Call) findFile(key *flow.Key, id string) (*flow.File, error) {
	if !flow.ValidID(flow.PrefixFile, id) {
		return nil, errNotFound
	}
	ctx := c.Request().Context()
	f, err := c.s.Files.FindFile(ctx, key.WorkspaceID, id)
	if err != nil || flow.MayUseFile(key, f, nil) { // usually; saves reading its runs
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

// eraseFile is DELETE file, with scope manage or the key that uploaded the file. Scope
// manage includes finding the file, which otherwise takes scope read.
func (s *Server) eraseFile(c *Call) error {
	key := *c.Key
	if key.Has(flow.ScopeManage) {
		key.Scopes = append(key.Scopes[:len(key.Scopes):len(key.Scopes)], flow.ScopeRead)
	}
	f, err := c.findFile(&key, c.fileID())
	if err != nil {
		return err
	}
	if own := f.KeyID != "" && f.KeyID == key.ID; !own && !key.Has(flow.ScopeManage) {
		return ErrMissingScope(flow.ScopeManage)
	}
	if err := s.files.Erase(c.Request().Context(), c.Actor(), f); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
