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

// maxFetch is the default limit in bytes of a file that is given by URL.
const maxFetch = 64 << 20

// sniffed is the number of bytes that are read to detect the type of a file.
const sniffed = 3072

// Fetcher downloads files that callers pass by URL. It implements flow.Fetcher and is safe for
// concurrent use.
type Fetcher struct {
	HTTP HTTPClient
	Max  int64 // bytes of one file; 0: 64 MiB
}

// FetchFile implements flow.Fetcher. It sends one request and does not retry, because the
// author of the flow decides about retries.
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
	head, _ := body.Peek(sniffed) // an error is returned again by the next Read
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
	case content.err != nil: // the store's error is only a consequence
		return fetchError(content.err, limit)
	case errors.Is(err, &flow.Error{Code: flow.CodeBodyTooLarge}):
		return flow.Errorf(flow.CodeInputInvalid, "%s", flow.AsError(err).Message)
	}
	return err
}

// open decodes a data URL, or requests any other URL.
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

// fetchError is requestError with advice for a file that is too large.
func fetchError(err error, limit int64) error {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok || e.Class != outbound.ClassTooLarge {
		return requestError(err)
	}
	return flow.Errorf(flow.CodeInputInvalid, "The file is larger than %s, the limit for downloads. Upload it with POST /v1/files, or ask the operator to raise SLUICE_MAX_FETCH.", flow.Size(limit))
}
