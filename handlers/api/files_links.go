package api

import (
	"errors"
	"strconv"
	"time"

	"sluice/flow"
)

// linksHold is at most how long the links of an answer hold, and half of it at
// least: they end on the hour, so that equal answers stay equal for a while.
const linkLifetime = 2 * time.Hour

func (s *Server) LinksExpire() time.Time {
	return s.Now().Truncate(linkLifetime / 2).Add(linkLifetime)
}

// linked is values by name with links to the files in them.
func (s *Server) LinkFiles(ws string, values map[string]any) map[string]any {
	return s.Links.Values(ws, values, s.LinksExpire())
}

func (s *Server) linkedOutput(ws string, o *flow.OutputEvent) flow.OutputEvent {
	named := map[string]any{o.Name: o.Value}
	return flow.OutputEvent{Name: o.Name, Value: s.LinkFiles(ws, named)[o.Name]}
}

// errLink is the one answer for a link that leads nowhere: it may have
// expired, been changed, or its file may be gone.
var errInvalidLink = flow.Errorf(flow.CodeNotFound, "This link leads nowhere, or has expired. Ask for the run again to get a fresh one, or send a key.")

// followLink finds the file that a signed link leads to. One that does not
// hold leaves it to the key, if there is one.
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

func (c *Call) fileOfLink(expires, signature string) (*flow.File, error) {
	at, err := strconv.ParseInt(expires, 10, 64)
	if c.linkExpires = time.Unix(at, 0); err != nil || !flow.ValidID(flow.PrefixFile, c.fileID()) {
		return nil, errInvalidLink
	}
	f, err := c.s.Files.FileByID(c.Request().Context(), c.fileID())
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return nil, errInvalidLink
	}
	if err == nil && !c.s.Links.Valid(f, expires, signature, c.s.Now()) {
		return nil, errInvalidLink
	}
	return f, err
}
