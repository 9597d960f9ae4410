package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// embedAnswer is the response of /embeddings.
type embedAnswer struct {
	Data []struct {
		Index     *int   `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage usageAnswer `json:"usage"`
}

// vector is an embedding. encoding/json would read null as 0, which is a wrong number.
type vector []float64

// UnmarshalJSON fails for anything but a list of numbers.
func (v *vector) UnmarshalJSON(data []byte) error {
	if bytes.Contains(data, []byte("null")) {
		return errNoVector
	}
	return json.Unmarshal(data, (*[]float64)(v))
}

// errNoVector refuses an embedding without numbers. Callers see notUnderstood instead.
var errNoVector = errors.New("providers: null in an embedding")

// usageAnswer holds usage under the different names that providers use.
type usageAnswer struct {
	PromptTokens     count   `json:"prompt_tokens"`
	CompletionTokens count   `json:"completion_tokens"`
	InputTokens      count   `json:"input_tokens"`
	OutputTokens     count   `json:"output_tokens"`
	TotalTokens      count   `json:"total_tokens"`
	Seconds          seconds `json:"seconds"`
	AudioSeconds     seconds `json:"prompt_audio_seconds"` // Mistral
}

// UnmarshalJSON never fails, because invalid usage must not discard a paid answer.
func (u *usageAnswer) UnmarshalJSON(data []byte) error {
	type plain usageAnswer
	_ = json.Unmarshal(data, (*plain)(u))
	return nil
}

// seconds is a duration; anything but a positive number counts as 0.
type seconds float64

// UnmarshalJSON never fails, for the same reason as that of count.
func (n *seconds) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 {
		*n = seconds(f)
	}
	return nil
}

// usage returns the numbers under either of the names that providers use. Some count only the
// total of an embedding, which is all input.
func (u usageAnswer) usage() Usage {
	usage := Usage{InputTokens: int64(u.PromptTokens + u.InputTokens), OutputTokens: int64(u.CompletionTokens + u.OutputTokens)}
	if usage.InputTokens+usage.OutputTokens == 0 {
		usage.InputTokens = int64(u.TotalTokens)
	}
	return usage
}

// Embed computes one vector per text. It sends all texts in one request; the caller must
// know the provider's limit. An answer that cannot be used is an error with a result that has
// only its usage. A response may have 16 MiB, about 200 vectors of 3,072 numbers.
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
		return nil, s.lost(s.forModel(err, req.Model))
	}
	result, err := s.vectors(answer, len(req.Texts))
	if used := answer.Usage.usage(); err != nil && used != (Usage{}) {
		return &EmbedResult{Usage: used}, err // it was paid for anyway
	}
	return result, s.lost(err)
}

// vectors returns the vectors in the order of the texts.
func (s *session) vectors(answer embedAnswer, texts int) (*EmbedResult, error) {
	if len(answer.Data) != texts {
		return nil, &Error{Class: ClassBadAnswer, RequestID: s.requestID,
			Message: s.name + " sent " + itoa(len(answer.Data)) + " vectors for " + itoa(texts) + " texts."}
	}
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
	used := answer.Usage.usage()
	used.Incomplete = used == Usage{}
	return &EmbedResult{Vectors: out, Usage: used}, nil
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
