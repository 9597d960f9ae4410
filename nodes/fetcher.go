package nodes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"sluice/flow"
	"sluice/flow/media"
	"sluice/outbound"
)

// maxFetch is the default limit for a file that is given by URL, in bytes.
const maxFetch = 64 << 20

// sniffed is how many bytes of a file are read to detect its type.
const sniffed = 3072

// Fetcher fetches files that a caller gave by URL. It implements flow.Fetcher.
type Fetcher struct {
	HTTP HTTPClient
	Max  int64 // bytes of one file; 0: 64 MiB
}

// FetchFile implements flow.Fetcher. It sends one request: a failure is reported
// and not retried, because the run's author decides about retries.
func (f *Fetcher) FetchFile(ctx context.Context, r flow.RemoteFile, accepts func(*flow.File) error, save func(name, mime string, content io.Reader) error) error {
	limit := f.Max
	if limit == 0 {
		limit = maxFetch
	}
	s, err := f.open(ctx, r, limit)
	if err != nil {
		return fetchError(err, limit)
	}
	defer s.close()
	content := &rememberError{Reader: s.body}
	body := bufio.NewReaderSize(content, sniffed)
	head, _ := body.Peek(sniffed) // an error comes again when the content is read
	if name := fileName(r.Name); name != "" {
		s.name = name
	}
	mediaType := media.Type(s.mime, head)
	if accepts != nil && content.err == nil {
		if err := accepts(&flow.File{Name: media.FileName(s.name, mediaType), MIME: mediaType}); err != nil {
			return err
		}
	}
	err = save(s.name, mediaType, body)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case content.err != nil: // the store's own error is only about this one
		return fetchError(content.err, limit)
	case errors.Is(err, &flow.Error{Code: flow.CodeBodyTooLarge}):
		return flow.Errorf(flow.CodeInputInvalid, "%s", flow.AsError(err).Message)
	}
	return err
}

// open opens the content of a data URL, or sends the request for another.
func (f *Fetcher) open(ctx context.Context, r flow.RemoteFile, limit int64) (*opened, error) {
	if !r.IsData() {
		return request(ctx, f.HTTP, r.URL, limit, "*/*")
	}
	content, mediaType, err := r.Data()
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, &outbound.Error{Class: outbound.ClassTooLarge}
	}
	return &opened{name: "file", mime: mediaType, body: bytes.NewReader(content), close: func() {}}, nil
}

// fetchError is requestError that says what can be done about a file that is too
// large.
func fetchError(err error, limit int64) error {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok || e.Class != outbound.ClassTooLarge {
		return requestError(err)
	}
	return flow.Errorf(flow.CodeInputInvalid, "The file is larger than %s, the most that is fetched. Upload it with POST /v1/files, or let the operator raise SLUICE_MAX_FETCH.", flow.Size(limit))
}
