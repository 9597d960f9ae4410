package providers

import (
	"context"
	"net/http"
	"strings"
)

// Transcribe converts a recording to text. It streams the recording from Audio.Open; only the
// provider limits its length.
func (c *Client) Transcribe(ctx context.Context, ep Endpoint, req TranscribeRequest) (*TranscribeResult, error) {
	s, err := c.open(ep)
	if err != nil {
		return nil, err
	}
	if err := s.wanted(s.preset.Transcribe, "does not transcribe"); err != nil {
		return nil, err
	}
	if req.Model == "" {
		return nil, badRequest("No model is chosen.")
	}
	u := newUpload()
	u.field("model", req.Model)
	u.field("language", req.Language)
	u.field("prompt", req.Prompt)
	if strings.Contains(strings.ToLower(req.Model), "whisper") {
		// The Whisper models alone know the form with language and length; others
		// answer plain JSON, which is the default everywhere.
		u.field("response_format", "verbose_json")
	}
	u.file("file", req.Audio)
	resp, err := s.sendUpload(ctx, "audio/transcriptions", u, req.Key)
	if err == nil {
		var result *TranscribeResult
		if result, err = s.transcript(resp); err == nil {
			return result, nil
		}
	}
	return nil, s.lost(s.forModel(err, req.Model))
}

// transcript decodes the response to a recording. The text is empty for silence; a
// response without one is an error. Seconds is 0 if the provider does not
// report the length.
func (s *session) transcript(resp *http.Response) (*TranscribeResult, error) {
	var answer struct {
		Text     *string     `json:"text"`
		Language word        `json:"language"`
		Duration seconds     `json:"duration"`
		Usage    usageAnswer `json:"usage"`
	}
	if err := s.decode(resp, &answer); err != nil {
		return nil, err
	}
	if answer.Text == nil {
		return nil, s.notUnderstood()
	}
	return &TranscribeResult{Text: *answer.Text, Language: string(answer.Language),
		Seconds: float64(max(answer.Duration, answer.Usage.Seconds, answer.Usage.AudioSeconds)), Usage: answer.Usage.usage()}, nil
}

// sendUpload sends a multipart form to a path below the base URL. Its files are closed
// in any case.
func (s *session) sendUpload(ctx context.Context, path string, u *upload, key string) (*http.Response, error) {
	body, err := u.body()
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	return s.send(ctx, http.MethodPost, path, u.writer.FormDataContentType(), body, u.length, key)
}
