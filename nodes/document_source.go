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

// opened is content that is about to be read, from a file or from the network.
type opened struct {
	name, mime, url string
	body            io.Reader
	close           func()
}

// maxRefusalRead is how much of a refused answer is read, in bytes, to quote its
// beginning.
const maxRefusalRead = 64 << 10

// fetch asks for what lies at an address. An answer that does not succeed is an
// error, worded like those of http_request.
func fetch(ctx context.Context, client HTTPClient, address string, limit int64, accept string) (*opened, error) {
	s, err := request(ctx, client, address, limit, accept)
	if err != nil {
		return nil, requestError(err)
	}
	return s, nil
}

// request is fetch with the errors of package outbound as they are.
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
	return &opened{
		name: answerName(answer.Header, answer.URL), mime: answer.Header.Get("Content-Type"), url: answer.URL,
		body: answer.Body, close: func() { _ = answer.Body.Close() },
	}, nil
}

// refusedAnswer reads the beginning of an answer and makes an error of it.
func refusedAnswer(answer *outbound.Stream, host string) error {
	defer answer.Body.Close()                                          //nolint:errcheck // nothing more is wanted of it
	data, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusalRead)) // half a sentence is better than none
	return statusError(host, answer.Status, answer.Header, documents.DecodeText(data, answer.Header.Get("Content-Type"), "text/html"))
}

// maxFileName is how long the name of a file may be, in characters.
const maxFileName = 200

// answerName is the name of a file that was fetched: the one its server gives,
// or else the end of its address.
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

// fileName is the last part of a path, without what does not belong into a name.
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

// keep stores what is read of an answer as a file of the run. An error of the
// network is worded as such, whatever the store made of it.
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

// mediaTypeOf is a Content-Type without what says nothing, so that the content
// itself tells.
func mediaTypeOf(contentType string) string {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType == "application/octet-stream" || mediaType == "binary/octet-stream" {
		return ""
	}
	return mediaType
}

// rememberError keeps the error that reading ended with, to tell it apart from
// an error of the store that keeps a file.
type rememberError struct {
	io.Reader
	err error
}

// Read keeps the error of the source, so that it can be told apart from one of the copy.
func (r *rememberError) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
