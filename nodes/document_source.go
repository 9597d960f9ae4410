package nodes

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"

	"sluice/documents"
	"sluice/flow"
	"sluice/outbound"
)

// opened is an open file or download. The caller must call close.
type opened struct {
	name, mime, url string
	body            io.Reader
	close           func()
}

// maxRefusalRead is the number of bytes of an error response that are read in order to quote
// its beginning.
const maxRefusalRead = 64 << 10

// fetch downloads from a URL. limit is in bytes. A status other than 2xx is an error, as in
// the kind http_request, and so is one that says that there is no content.
func fetch(ctx context.Context, client HTTPClient, address string, limit int64, accept string) (*opened, error) {
	s, err := request(ctx, client, address, limit, accept)
	if err != nil {
		return nil, requestError(err)
	}
	return s, nil
}

// request is like fetch, but returns errors of package outbound unchanged.
func request(ctx context.Context, client HTTPClient, address string, limit int64, accept string) (*opened, error) {
	u, err := outbound.ParseURL(strings.TrimSpace(address))
	if err != nil {
		return nil, err
	}
	answer, err := client.Stream(ctx, outbound.Request{
		URL: u.String(), MaxRedirects: outbound.MaxRedirects, MaxBody: limit, Header: http.Header{"Accept": {accept}},
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if answer.Status/100 != 2 {
		return nil, refusedAnswer(answer, u.Hostname())
	}
	if answer.Status == http.StatusNoContent || answer.Status == http.StatusResetContent {
		_ = answer.Body.Close() // it is empty
		return nil, flow.Errorf(flow.CodeHTTPFailed, "%s answered %d %s: there is nothing to read at this URL.", u.Hostname(), answer.Status, http.StatusText(answer.Status))
	}
	return &opened{
		name: answerName(answer.Header, answer.URL), mime: answer.Header.Get("Content-Type"), url: answer.URL,
		body: answer.Body, close: func() { _ = answer.Body.Close() },
	}, nil
}

// refusedAnswer returns an error that quotes the beginning of an error response.
func refusedAnswer(answer *outbound.Stream, host string) error {
	defer answer.Body.Close()                                          //nolint:errcheck // the rest is not needed
	data, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusalRead)) // an incomplete text is still useful
	text, _, _ := documents.DecodeText(data, answer.Header.Get("Content-Type"), "text/html", "")
	return statusError(host, answer.Status, answer.Header, text)
}

// maxFileName is the maximum length of a file name in characters.
const maxFileName = 200

// answerName returns the name of a downloaded file: from Content-Disposition, or else the
// last part of its URL, or else the host.
func answerName(header http.Header, address string) string {
	if _, params, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		if name := fileName(params["filename"]); name != "" {
			return name
		}
	}
	if u, err := url.Parse(address); err == nil {
		if name := fileName(u.Path); name != "" {
			return name
		}
		return u.Hostname()
	}
	return "file"
}

// fileName returns the last part of a path without characters that are invalid in a name, and
// shortened to maxFileName. It keeps the file extension.
func fileName(s string) string {
	s = path.Base(strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\\", "/"))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
	if s = strings.Trim(s, " "); strings.Trim(s, "./") == "" {
		return ""
	}
	if runes := []rune(s); len(runes) > maxFileName {
		ending := []rune(path.Ext(s))
		if len(ending) > 20 {
			ending = nil
		}
		s = string(runes[:maxFileName-len(ending)]) + string(ending)
	}
	return s
}

// keep stores the body of a response as a file of the run. If reading the body fails, it
// returns that error and not the store's error about it.
func keep(ctx context.Context, in *flow.In, name, mediaType string, body io.Reader) (map[string]any, error) {
	content := &rememberError{Reader: body}
	value, err := in.SaveFile(ctx, name, mediaType, content)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case content.err != nil:
		return nil, requestError(content.err)
	}
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeBodyTooLarge {
		err = flow.Errorf(flow.CodeInputInvalid, "%s", e.Message)
	}
	return value, err
}

// mediaTypeOf returns the media type in a Content-Type header, or "" for a generic one, so
// that the store detects the type from the content.
func mediaTypeOf(contentType string) string {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType == "application/octet-stream" || mediaType == "binary/octet-stream" {
		return ""
	}
	return mediaType
}

// rememberError is a reader that remembers its error, to distinguish a failed download from
// a failed store.
type rememberError struct {
	io.Reader
	err error
}

// Read remembers every error except io.EOF.
func (r *rememberError) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
