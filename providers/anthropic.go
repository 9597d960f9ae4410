package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
)

// anthropicMaxTokens is sent when a request sets no limit, because this wire
// demands one. All current models allow it.
const anthropicMaxTokens = 4096

// anthropicOptions bind the official library to the session. The service is
// built from them alone: anthropic.NewClient would add keys, profiles, addresses
// and headers from the environment.
func (s *session) anthropicOptions(key string) []option.RequestOption {
	base := *s.base
	base.Path = strings.TrimSuffix(base.Path, "/v1") // the library's paths begin with it
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(anthropicBody{s}),
		option.WithMaxRetries(0), // retries are the flow's to decide
	}
	if key != "" {
		opts = append(opts, option.WithHeader("Idempotency-Key", idempotencyKey(key)))
	}
	return opts
}

// anthropicBody bounds the single events of an answer, which the library reads
// itself.
type anthropicBody struct{ session *session }

func (a anthropicBody) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("Accept", "text/event-stream")
	resp, err := a.session.Do(req)
	if err == nil {
		streamed(resp)
	}
	return resp, err
}

func (s *session) askAnthropic(ctx context.Context, talk *conversation, out *outlet) (*reply, error) {
	messages := anthropic.NewMessageService(s.anthropicOptions(talk.key())...)
	stream := messages.NewStreaming(ctx, talk.anthropicParams())
	defer stream.Close() //nolint:errcheck // read to its end or given up
	return s.readAnthropic(ctx, stream, out, talk.form != nil && talk.manner.schema == SchemaStrict)
}

func (c *conversation) anthropicParams() anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model:         c.Model,
		MaxTokens:     cmp.Or(int64(c.MaxTokens), anthropicMaxTokens),
		Messages:      c.anthropicMessages(),
		StopSequences: c.Stop,
	}
	if system := c.instructions(); system != "" {
		p.System = []anthropic.TextBlockParam{{Text: system}}
	}
	if c.Temperature != nil {
		p.Temperature = anthropic.Float(*c.Temperature)
	}
	if c.TopP != nil {
		p.TopP = anthropic.Float(*c.TopP)
	}
	if c.form != nil && c.manner.schema == SchemaStrict {
		p.Tools = []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(c.form.toolSchema(), answerName)}
		p.ToolChoice = anthropic.ToolChoiceParamOfTool(answerName)
	}
	return p
}

// toolSchema is the schema as the input of the tool that a model is forced to
// use. It is sent as it is: a tool's schema has no strict form to fit.
func (f *form) toolSchema() anthropic.ToolInputSchemaParam {
	extra := maps.Clone(f.schema)
	delete(extra, "type")
	delete(extra, "$schema")
	return anthropic.ToolInputSchemaParam{ExtraFields: extra}
}

func (c *conversation) anthropicMessages() []anthropic.MessageParam {
	var parts []anthropic.ContentBlockParamUnion
	for _, p := range c.pictures {
		if p.url != "" {
			parts = append(parts, anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: p.url}))
		} else {
			parts = append(parts, anthropic.NewImageBlockBase64(p.mime, p.data))
		}
	}
	if c.Prompt != "" || len(parts) == 0 {
		parts = append(parts, anthropic.NewTextBlock(c.Prompt)) // pictures first, as its guide advises
	}
	list := []anthropic.MessageParam{anthropic.NewUserMessage(parts...)}
	if c.repair != nil {
		list = append(list,
			anthropic.NewAssistantMessage(anthropic.NewTextBlock(cmp.Or(strings.TrimSpace(c.repair.answer), "…"))), // an empty text is refused
			anthropic.NewUserMessage(anthropic.NewTextBlock(c.repair.request())))
	}
	return list
}

// anthropicStream is what has come of a streamed answer.
type anthropicStream struct {
	reply
	form    bool // the answer comes as the input of a tool; text beside it is chat
	refusal string
	ended   bool
}

func (s *session) readAnthropic(ctx context.Context, stream *ssestream.Stream[anthropic.MessageStreamEventUnion], out *outlet, form bool) (*reply, error) {
	got := anthropicStream{form: form}
	for !got.ended && stream.Next() {
		if err := got.take(stream.Current(), out); err != nil {
			return nil, err
		}
	}
	whole := got.ended || got.stop != "" || got.refusal != ""
	if err := stream.Err(); err != nil && !whole {
		return nil, s.anthropicFailed(ctx, err)
	}
	got.text = out.end()
	return s.ended(&got.reply, whole, got.refusal)
}

func (got *anthropicStream) take(event anthropic.MessageStreamEventUnion, out *outlet) error {
	switch event.Type {
	case "message_start":
		u := event.Message.Usage
		got.model = event.Message.Model
		got.usage.InputTokens = u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
		got.usage.OutputTokens = u.OutputTokens
	case "content_block_delta":
		if got.form {
			return out.write(event.Delta.PartialJSON)
		}
		return out.write(event.Delta.Text)
	case "message_delta":
		got.finish(event)
	case "message_stop":
		got.ended = true
	}
	return nil // pings, and whatever is new
}

func (got *anthropicStream) finish(event anthropic.MessageStreamEventUnion) {
	got.usage.OutputTokens = cmp.Or(event.Usage.OutputTokens, got.usage.OutputTokens)
	switch reason := string(event.Delta.StopReason); reason {
	case "end_turn", "stop_sequence", "tool_use":
		got.stop = stopEnd
	case "max_tokens", "model_context_window_exceeded":
		got.stop = stopLength
	case "refusal":
		got.refusal = cmp.Or(event.Delta.StopDetails.Explanation, "its safety rules do not allow it")
	case "":
	default:
		got.stop = reason
	}
}

// anthropicFailed words the errors of the library: those of the session pass
// through it, those in the stream are its own.
func (s *session) anthropicFailed(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		return s.refusedInStream([]byte(e.RawJSON()))
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || kind || strings.HasPrefix(err.Error(), "received error while streaming") {
		return s.notUnderstood()
	}
	return s.failed(ctx, err)
}
