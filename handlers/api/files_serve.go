package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/media"
	"sluice/handlers/web"
)

// showFile is GET and HEAD file: its content, for a key that may use it or with a signed
// link.
func (s *Server) showFile(c *Call) error {
	f := c.linkedFile
	if f == nil {
		var err error
		if f, err = c.findFile(c.Key, c.fileID()); err != nil {
			return err
		}
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	link, err := c.contentLink(f)
	if err != nil {
		return err
	}
	if link != "" {
		c.Response().Header().Set("Cache-Control", "no-store")
		return c.Redirect(http.StatusTemporaryRedirect, link)
	}
	f, content, err := s.Files.OpenFile(c.Request().Context(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	defer content.Close()
	return c.serveFile(f, content)
}

// redirectLifetime is how long the link of a redirect is valid. The client follows it immediately.
const redirectLifetime = time.Minute

// contentLink returns the URL in object storage to which a download is redirected, or "" if the content is
// served from here: for conditional requests, and for pages, whose policy allows no other host.
func (c *Call) contentLink(f *flow.File) (string, error) {
	type linker interface {
		ContentLink(ctx context.Context, f *flow.File, mediaType, disposition string, lifetime time.Duration) (string, error)
	}
	l, ok := c.s.Files.(linker)
	h := c.Request().Header
	if mode := h.Get("Sec-Fetch-Mode"); !ok || c.Request().Method != http.MethodGet || mode != "" && mode != "navigate" || h.Get("If-None-Match") != "" {
		return "", nil
	}
	disposition := "attachment" + strings.TrimPrefix(strings.TrimPrefix(media.Disposition(f), "attachment"), "inline")
	return l.ContentLink(c.Request().Context(), f, media.ContentType(f), disposition, redirectLifetime)
}

// serveFile responds with the content or the requested range of it.
func (c *Call) serveFile(f *flow.File, content io.ReadSeeker) error {
	c.fileHeaders(f)
	w := &fileWriter{ResponseWriter: c.Response()}
	web.LimitWrite(w)
	http.ServeContent(w, c.Request(), "", f.CreatedAt, content)
	if w.refused == 0 {
		return nil
	}
	for _, name := range []string{"Content-Disposition", "Content-Security-Policy", "Last-Modified", "Accept-Ranges"} {
		c.Response().Header().Del(name) // they describe the content; the response is a problem instead
	}
	switch w.refused {
	case http.StatusPreconditionFailed:
		return flow.Errorf(flow.CodePreconditionFailed, "The file does not match the conditional headers of the request.")
	case http.StatusRequestedRangeNotSatisfiable:
		return flow.Errorf(flow.CodeRangeNotSatisfiable, "The file has %d bytes; request a range within them.", f.Size)
	}
	return fmt.Errorf("serve %s: http.ServeContent responded with %d", f.ID, w.refused)
}

// fileHeaders sets headers that keep browsers from guessing another type and from running
// scripts in a file, whose content is untrusted.
func (c *Call) fileHeaders(f *flow.File) {
	h := c.Response().Header()
	h.Set("Content-Type", media.ContentType(f))
	h.Set("Content-Disposition", media.Disposition(f))
	h.Set("Content-Security-Policy", media.Policy)
	h.Set("ETag", media.ETag(f))
	if c.linkedFile == nil {
		h.Set("Cache-Control", "private, no-cache")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		return
	}
	// A link may be embedded in a page of any site. A cached copy must not
	// outlive it.
	left := min(c.linkExpires.Sub(c.s.Now()), linkLifetime/2)
	h.Set("Cache-Control", fmt.Sprintf("private, max-age=%d", int(left/time.Second)))
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// fileWriter gives the client a minute for each write, however long the file. It
// drops the errors of http.ServeContent, which serveFile returns as problems.
type fileWriter struct {
	http.ResponseWriter
	refused int // status of the dropped error; 0 for none
}

// WriteHeader sends the status unless it is an error.
func (w *fileWriter) WriteHeader(status int) {
	if status >= 400 {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes content, and reports success for the text of a dropped error.
func (w *fileWriter) Write(p []byte) (int, error) {
	if w.refused != 0 {
		return len(p), nil
	}
	web.LimitWrite(w.ResponseWriter)
	return w.ResponseWriter.Write(p)
}
