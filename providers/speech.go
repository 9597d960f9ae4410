package providers

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
)

// speechTypes are the media types of speech formats, for servers that do not send them.
var speechTypes = map[string]string{
	"mp3": "audio/mpeg", "wav": "audio/wav", "opus": "audio/ogg", "flac": "audio/flac", "aac": "audio/aac",
}

// Speech converts a text to speech. The body streams while it is generated, ends with the
// context, and must be closed.
func (c *Client) Speech(ctx context.Context, ep Endpoint, req SpeechRequest) (*Blob, error) {
	s, err := c.open(ep)
	if err != nil {
		return nil, err
	}
	if err := s.wanted(s.preset.Speech, "does not speak"); err != nil {
		return nil, err
	}
	if req.Model == "" || req.Text == "" {
		return nil, badRequest("Speech needs a model and a text.")
	}
	format := cmp.Or(req.Format, "mp3")
	body := map[string]any{"model": req.Model, "input": req.Text, "voice": req.Voice, "response_format": format}
	if req.Instructions != "" {
		body["instructions"] = req.Instructions
	}
	if req.Speed > 0 {
		body["speed"] = req.Speed
	}
	resp, err := s.post(ctx, "audio/speech", body, req.Key)
	if err != nil {
		return nil, s.lost(s.forModel(err, req.Model))
	}
	blob, err := s.sound(resp, format)
	if err != nil {
		_ = resp.Body.Close()
		return nil, s.lost(s.forModel(err, req.Model))
	}
	return blob, nil
}

// sound returns the recording in a response. It looks at the first bytes: an empty recording,
// and text or JSON in place of one, which has a reason, are errors.
func (s *session) sound(resp *http.Response, format string) (*Blob, error) {
	in := bufio.NewReader(resp.Body)
	front, err := in.Peek(1)
	if err != nil && err != io.EOF {
		return nil, s.bodyFailed(resp, err)
	}
	mime := mediaType(resp)
	switch {
	case len(front) == 0:
		return nil, &Error{Class: ClassBadAnswer, RequestID: s.requestID, Message: s.name + " sent a recording without any content."}
	case strings.HasPrefix(mime, "text/"), strings.HasSuffix(mime, "json"), strings.ContainsRune("{[<", rune(front[0])):
		data, _ := io.ReadAll(io.LimitReader(in, maxError)) // a partial body is good enough
		if err := s.errorIn("", bytes.TrimSpace(data)); err != nil {
			return nil, err
		}
		return nil, s.notAnAnswer(resp, data)
	case !strings.HasPrefix(mime, "audio/"):
		mime = cmp.Or(speechTypes[format], "application/octet-stream")
	}
	return &Blob{MIME: mime, Body: soundBody{in, resp, s}}, nil
}

// soundBody is the rest of a recording. The call was paid for, so it is not retried if the
// recording breaks off.
type soundBody struct {
	in      *bufio.Reader
	resp    *http.Response
	session *session
}

// Read returns the error of bodyFailed if the recording breaks off.
func (b soundBody) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if err != nil && err != io.EOF {
		err = b.session.bodyFailed(b.resp, err)
	}
	return n, err
}

// Close closes the response.
func (b soundBody) Close() error { return b.resp.Body.Close() }
