package providers

import (
	"cmp"
	"context"
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
		return nil, s.forModel(err, req.Model)
	}
	mime := mediaType(resp)
	if strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "json") {
		_ = resp.Body.Close()
		return nil, s.notUnderstood()
	}
	if !strings.HasPrefix(mime, "audio/") {
		mime = cmp.Or(speechTypes[format], "application/octet-stream")
	}
	return &Blob{MIME: mime, Body: resp.Body}, nil
}
