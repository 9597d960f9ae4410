package api

import (
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/value"
)

// linkLifetime is the longest lifetime of a download link; the shortest is half of it.
// Links expire on the hour, so that responses stay equal, and cacheable, for a while.
const linkLifetime = 2 * time.Hour

// LinksExpire returns when a download link that is created now expires.
func (s *Server) LinksExpire() time.Time {
	return s.Now().Truncate(linkLifetime / 2).Add(linkLifetime)
}

// LinkFiles returns a copy of named values in which each file has a download link.
func (s *Server) LinkFiles(ws flow.WorkspaceID, values *flow.Object) *flow.Object {
	return s.Links.Values(ws, values, s.LinksExpire())
}

// linkMap is LinkFiles for the values of a step.
func (s *Server) linkMap(ws flow.WorkspaceID, values map[string]any) map[string]any {
	if values == nil {
		return nil
	}
	return s.LinkFiles(ws, value.FromMap(values)).Map()
}

// linkedOutput returns an output event with download links in its value.
func (s *Server) linkedOutput(ws flow.WorkspaceID, o *contract.OutputEvent) contract.OutputEvent {
	named := value.NewObject(value.Member{Name: o.Name, Value: o.Value})
	return contract.OutputEvent{Name: o.Name, Value: s.LinkFiles(ws, named).Get(o.Name)}
}

// errInvalidLink is the error for every invalid link: expired, forged, or of an erased
// file.
var errInvalidLink = flow.Errorf(flow.CodeNotFound, "This link is invalid or has expired. Get the run again for a new link, or send a key.")

// followLink authorizes a request by the signature in its URL. It reports false without a
// signature, or if the signature is invalid but the request also has a key, which then decides.
func (c *Call) followLink() (followed bool, err error) {
	q := c.Request().URL.Query()
	if !q.Has("signature") {
		return false, nil
	}
	f, err := c.fileOfLink(q.Get("expires"), q.Get("signature"))
	switch {
	case err == nil:
		c.linkedFile = f
		return true, nil
	case err == errInvalidLink && c.Request().Header.Get("Authorization") != "":
		return false, nil
	}
	return false, err
}

// fileOfLink returns the file of the path if the signature is valid for it.
func (c *Call) fileOfLink(expires, signature string) (*flow.File, error) {
	at, err := strconv.ParseInt(expires, 10, 64)
	if c.linkExpires = time.Unix(at, 0); err != nil || !flow.ValidID(flow.PrefixFile, c.fileID()) {
		return nil, errInvalidLink
	}
	f, err := c.s.Files.FileByID(c.Request().Context(), c.fileID())
	if flow.IsNotFound(err) {
		return nil, errInvalidLink
	}
	if err == nil && !c.s.Links.Valid(f, expires, signature, c.s.Now()) {
		return nil, errInvalidLink
	}
	return f, err
}
