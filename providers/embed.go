package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// embedAnswer is the response of /embeddings.
type embedAnswer struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float64 `json:"embedding"`
	} `json:"data"`
	Usage usageAnswer `json:"usage"`
}

// usageAnswer holds usage under the different names that providers use.
type usageAnswer struct {
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	InputTokens      int64   `json:"input_tokens"`
	OutputTokens     int64   `json:"output_tokens"`
	Seconds          float64 `json:"seconds"`
	AudioSeconds     float64 `json:"prompt_audio_seconds"` // Mistral
}

// usage returns the numbers under either of the names that providers use.
func (u usageAnswer) usage() Usage {
	return Usage{InputTokens: u.PromptTokens + u.InputTokens, OutputTokens: u.CompletionTokens + u.OutputTokens}
}

// Embed computes one vector per text. It sends all texts in one request; the caller must
// know the provider's limit. A response may have 16 MiB, about 200 vectors of 3,072 numbers.
func (c *Client) Embed(ctx context.Context, ep Endpoint, req EmbedRequest) (*EmbedResult, error) {
	s, err := c.open(ep)
	if err != nil {
		return nil, err
	}
	if err := s.wanted(s.preset.Embed, "makes no embeddings"); err != nil {
		return nil, err
	}
	if req.Model == "" || len(req.Texts) == 0 {
		return nil, badRequest("An embedding needs a model and at least one text.")
	}
	body := map[string]any{"model": req.Model, "input": req.Texts, "encoding_format": "float"}
	if req.Dimensions > 0 {
		body["dimensions"] = req.Dimensions
	}
	var answer embedAnswer
	if err := s.postJSON(ctx, "embeddings", body, "", &answer); err != nil {
		return nil, s.forModel(err, req.Model)
	}
	return s.vectors(answer, len(req.Texts))
}

// vectors returns the vectors in the order of the texts.
func (s *session) vectors(answer embedAnswer, texts int) (*EmbedResult, error) {
	out := make([][]float64, texts)
	for i, d := range answer.Data {
		at := i
		if d.Index != nil { // some servers do not number them
			at = *d.Index
		}
		if at < 0 || at >= texts || out[at] != nil || len(d.Embedding) == 0 {
			return nil, s.notUnderstood()
		}
		out[at] = d.Embedding
	}
	if len(answer.Data) != texts {
		return nil, &Error{Class: ClassBadAnswer, RequestID: s.requestID,
			Message: s.name + " sent " + itoa(len(answer.Data)) + " vectors for " + itoa(texts) + " texts."}
	}
	return &EmbedResult{Vectors: out, Usage: answer.Usage.usage()}, nil
}

// postJSON sends a JSON body and decodes a JSON response.
func (s *session) postJSON(ctx context.Context, path string, body map[string]any, key string, into any) error {
	resp, err := s.post(ctx, path, body, key)
	if err != nil {
		return err
	}
	return s.decode(resp, into)
}

// post sends a JSON body. key makes the request idempotent where the provider supports that.
func (s *session) post(ctx context.Context, path string, body map[string]any, key string) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, badRequest("The request to %s cannot be written as JSON.", s.name)
	}
	return s.send(ctx, http.MethodPost, path, "application/json", bytes.NewReader(data), int64(len(data)), key)
}
