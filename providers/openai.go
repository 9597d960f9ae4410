package providers

import (
	"context"
	"encoding/json"
	"math"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// Why an answer ended, as results say it on both wires.
const (
	stopEnd    = "stop"
	stopLength = "length"
)

// answerName is what the form of an answer is called towards providers.
const answerName = "answer"

// openAI is the official library bound to the session. It is built from its
// options alone: openai.NewClient would add keys, addresses and headers from
// the environment.
func (s *session) openAI(key string) *openai.Client {
	opts := []option.RequestOption{
		option.WithBaseURL(s.base.String()),
		option.WithHTTPClient(s),
		option.WithMaxRetries(0), // retries are the flow's to decide
		option.WithHeader("Accept", "text/event-stream"),
	}
	if key != "" {
		opts = append(opts, option.WithHeader("Idempotency-Key", idempotencyKey(key)))
	}
	return &openai.Client{Options: opts}
}

func (s *session) askOpenAI(ctx context.Context, talk *conversation, out *outlet) (*reply, error) {
	var resp *http.Response
	err := s.openAI(talk.key()).Post(ctx, "chat/completions", s.openAIParams(talk), &resp, option.WithJSONSet("stream", true))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	streamed(resp)
	return s.readOpenAI(ssestream.NewDecoder(resp), out)
}

// streamed bounds the single events of an answer too.
func streamed(resp *http.Response) {
	if b, ok := resp.Body.(*answerBody); ok {
		b.events = true
	}
}

func (s *session) openAIParams(talk *conversation) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: talk.Model, Messages: talk.openAIMessages()}
	if talk.Temperature != nil {
		p.Temperature = openai.Float(*talk.Temperature)
	}
	if talk.TopP != nil {
		p.TopP = openai.Float(*talk.TopP)
	}
	if talk.MaxTokens > 0 && talk.manner.maxTokens == maxCompletionTokens {
		p.MaxCompletionTokens = openai.Int(int64(talk.MaxTokens))
	} else if talk.MaxTokens > 0 {
		p.MaxTokens = openai.Int(int64(talk.MaxTokens))
	}
	if len(talk.Stop) > 0 {
		p.Stop.OfStringArray = talk.Stop
	}
	if talk.manner.streamUsage {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	p.ResponseFormat = talk.responseFormat()
	if s.preset.Name == nameOpenRouter {
		p.SetExtraFields(map[string]any{"usage": map[string]any{"include": true}}) // its price comes with it
	}
	return p
}

func (c *conversation) openAIMessages() []openai.ChatCompletionMessageParamUnion {
	var list []openai.ChatCompletionMessageParamUnion
	if system := c.instructions(); system != "" {
		list = append(list, openai.SystemMessage(system))
	}
	if len(c.pictures) == 0 {
		list = append(list, openai.UserMessage(c.Prompt)) // servers without vision take text only
	} else {
		list = append(list, openai.UserMessage(c.openAIParts()))
	}
	if c.repair != nil {
		list = append(list, openai.AssistantMessage(c.repair.answer), openai.UserMessage(c.repair.request()))
	}
	return list
}

func (c *conversation) openAIParts() []openai.ChatCompletionContentPartUnionParam {
	parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(c.Prompt)}
	for _, p := range c.pictures {
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: p.dataURL()}))
	}
	return parts
}

func (c *conversation) responseFormat() (f openai.ChatCompletionNewParamsResponseFormatUnion) {
	switch {
	case c.form == nil || c.manner.schema == SchemaNone:
	case c.manner.schema == SchemaJSON:
		f.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	default:
		ask := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: answerName, Schema: c.form.schema, Strict: openai.Bool(false)}
		if c.form.strict != nil {
			ask.Schema, ask.Strict = c.form.strict, openai.Bool(true)
		}
		f.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: ask}
	}
	return f
}

// request asks for a better answer than the last.
func (r *repair) request() string {
	return "This answer is not valid: " + sentenceEnd(r.wrong) + " Answer again with one JSON value that is valid by the schema, and with nothing else."
}

// openAIStream is what has come of a streamed answer.
type openAIStream struct {
	reply
	refusal string
	ended   bool // the model finished; what follows are figures
}

// readOpenAI reads events itself, because the library's own stream ends with an
// error at an event that has "error": null in it, as some servers send.
func (s *session) readOpenAI(events ssestream.Decoder, out *outlet) (*reply, error) {
	var got openAIStream
	for events.Next() {
		data := events.Event().Data
		if string(trimmed(data)) == "[DONE]" {
			got.ended = true
			break
		}
		if err := s.takeOpenAI(&got, data, out); err != nil {
			return nil, err
		}
	}
	if err := events.Err(); err != nil && !got.ended {
		return nil, s.streamFailed(err)
	}
	got.text = out.end()
	return s.ended(&got.reply, got.ended, got.refusal)
}

func (s *session) takeOpenAI(got *openAIStream, data []byte, out *outlet) error {
	var failure struct {
		Error any `json:"error"`
	}
	var chunk openai.ChatCompletionChunk
	if json.Unmarshal(data, &failure) != nil || json.Unmarshal(data, &chunk) != nil {
		return s.notUnderstood()
	}
	if failure.Error != nil && failure.Error != "" {
		return s.refusedInStream(data)
	}
	if chunk.Model != "" {
		got.model = chunk.Model
	}
	if chunk.JSON.Usage.Valid() {
		got.usage = s.openAIUsage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one was asked for
		}
		if choice.FinishReason != "" {
			got.stop, got.ended = choice.FinishReason, true
		}
		got.refusal += choice.Delta.Refusal
		if err := out.write(choice.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

// openAIUsage reads the figures, and the price where a provider reports one:
// OpenRouter in usage.cost, Perplexity in usage.cost.total_cost, both in
// dollars.
func (s *session) openAIUsage(u openai.CompletionUsage) Usage {
	usage := Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens}
	raw := []byte(u.JSON.ExtraFields["cost"].Raw())
	var dollars float64
	switch s.preset.Name {
	case nameOpenRouter:
		_ = json.Unmarshal(raw, &dollars) // without a price it stays zero
	case namePerplexity:
		var cost struct {
			Total float64 `json:"total_cost"`
		}
		_ = json.Unmarshal(raw, &cost)
		dollars = cost.Total
	}
	if dollars > 0 && dollars < 1e6 { // beyond that it is not a price
		usage.CostNanoUSD = int64(math.Round(dollars * 1e9))
	}
	return usage
}
