package nodes

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"sluice/providers"
)

// fakeProviders echo requests immediately, and record the last one in calls, if set.
type fakeProviders struct{ calls *calls }

// calls records the requests to providers.
type calls struct {
	mu       sync.Mutex
	at       []providers.Endpoint
	requests []any
}

func (f fakeProviders) note(at providers.Endpoint, request any) {
	if f.calls == nil {
		return
	}
	f.calls.mu.Lock()
	defer f.calls.mu.Unlock()
	f.calls.at, f.calls.requests = append(f.calls.at, at), append(f.calls.requests, request)
}

// Chat streams the prompt word by word.
func (f fakeProviders) Chat(ctx context.Context, at providers.Endpoint, r providers.ChatRequest, emit func(string)) (*providers.ChatResult, error) {
	f.note(at, r)
	text := "You said: " + r.Prompt
	for word := range strings.SplitAfterSeq(text, " ") {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if emit != nil {
			emit(word)
		}
	}
	return &providers.ChatResult{Text: text, Model: r.Model, Stop: "stop", Usage: usageOf(r.System+" "+r.Prompt, text)}, nil
}

// Turn answers like Chat, without calling a tool.
func (f fakeProviders) Turn(ctx context.Context, at providers.Endpoint, r providers.TurnRequest, emit func(string)) (*providers.TurnResult, error) {
	return turnOf(f.Chat(ctx, at, r.ChatRequest, emit))
}

// turnOf returns an answer of Chat as one of Turn.
func turnOf(r *providers.ChatResult, err error) (*providers.TurnResult, error) {
	if r == nil {
		return nil, err
	}
	items := []providers.Item{{Type: providers.ItemText, Role: "assistant", Text: r.Text}}
	return &providers.TurnResult{Items: items, Text: r.Text, JSON: r.JSON, Model: r.Model, Stop: r.Stop, Usage: r.Usage}, err
}

func (f fakeProviders) Embed(ctx context.Context, at providers.Endpoint, r providers.EmbedRequest) (*providers.EmbedResult, error) {
	f.note(at, r)
	out := &providers.EmbedResult{Usage: usageOf(strings.Join(r.Texts, " "), "")}
	for _, text := range r.Texts {
		out.Vectors = append(out.Vectors, make([]float64, max(r.Dimensions, 4)))
		out.Vectors[len(out.Vectors)-1][len(text)%4] = 1
	}
	return out, ctx.Err()
}

// Image returns images whose content is a text with the prompt.
func (f fakeProviders) Image(ctx context.Context, at providers.Endpoint, r providers.ImageRequest) (*providers.ImageResult, error) {
	f.note(at, r)
	out := &providers.ImageResult{Usage: usageOf(r.Prompt, "")}
	for i := range max(r.Count, 1) {
		content := fmt.Sprintf("picture %d of %s", i+1, r.Prompt)
		out.Images = append(out.Images, providers.Blob{MIME: "image/png", Body: io.NopCloser(strings.NewReader(content))})
	}
	return out, ctx.Err()
}

func (f fakeProviders) Speech(ctx context.Context, at providers.Endpoint, r providers.SpeechRequest) (*providers.Blob, error) {
	f.note(at, r)
	return &providers.Blob{MIME: "audio/mpeg", Body: io.NopCloser(strings.NewReader("sound of " + r.Text))}, ctx.Err()
}

// Transcribe returns the content of the recording.
func (f fakeProviders) Transcribe(ctx context.Context, at providers.Endpoint, r providers.TranscribeRequest) (*providers.TranscribeResult, error) {
	f.note(at, r)
	content, err := r.Audio.Open()
	if err != nil {
		return nil, &providers.Error{Class: providers.ClassBadRequest, Message: "The recording cannot be read."}
	}
	defer content.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, &providers.Error{Class: providers.ClassBadRequest, Message: "The recording cannot be read to its end."}
	}
	return &providers.TranscribeResult{Text: string(data), Language: r.Language, Seconds: 2.5}, ctx.Err()
}

// usageOf counts words as tokens.
func usageOf(in, out string) providers.Usage {
	return providers.Usage{InputTokens: int64(len(strings.Fields(in))), OutputTokens: int64(len(strings.Fields(out)))}
}
