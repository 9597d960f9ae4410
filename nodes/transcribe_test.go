package nodes

import (
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers"
)

func hear(audio any) use {
	return use{kind: "transcribe", config: map[string]any{"model": "openai/whisper-1"}, ports: map[string]any{"audio": audio}}
}

func TestTranscribe(t *testing.T) {
	t.Parallel()
	t.Run("transcribes a file", func(t *testing.T) {
		t.Parallel()
		w, got := newFixture(), &calls{}
		w.prices = priceList{"openai/whisper-1": {Second: 100}}
		u := hear(w.files.put(t, "call.m4a", "audio/mp4", "Good morning"))
		u.config["language"], u.config["prompt"] = " en ", "Names: {{names}}"
		u.ports["names"] = "Ada"
		r := u.executeIn(t, w, Deps{Providers: fakeProviders{got}})
		if r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		same(t, "outputs", r.Outputs, map[string]any{"text": "Good morning", "language": "en", "seconds": number("2.5")})
		request := got.requests[0].(providers.TranscribeRequest)
		if request.Audio.Name != "call.m4a" || request.Audio.MIME != "audio/mp4" || request.Audio.Size != 12 || request.Prompt != "Names: Ada" || request.Key != "run_1:n" {
			t.Errorf("sent %+v", request)
		}
		if r.Usage.CostNanoUSD != 250 {
			t.Errorf("usage %+v", r.Usage)
		}
	})
	t.Run("omits values that the provider does not report", func(t *testing.T) {
		t.Parallel()
		r := hear("data:audio/wav;base64,SGk=").execute(t, fakes())
		same(t, "outputs", r.Outputs, map[string]any{"text": "Hi", "seconds": number("2.5")})
	})
	t.Run("fetches a URL", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", map[string]string{"/page": "text/html", "/call": "audio/mpeg"}[r.URL.Path])
			_, _ = w.Write([]byte("What was said"))
		})
		got := &calls{}
		s.deps.Providers = fakeProviders{got}
		same(t, "text", hear(s.URL+"/call").succeeds(t, s.deps)["text"], "What was said")
		if audio := got.requests[0].(providers.TranscribeRequest).Audio; audio.Name != "call.mp3" || audio.MIME != "audio/mpeg" {
			t.Errorf("sent %+v", audio)
		}
		has(t, hear(s.URL+"/page").fails(t, s.deps, flow.CodeInputInvalid).Message, "text/html", `"audio"`)
	})
	t.Run("rejects a file that is not audio", func(t *testing.T) {
		t.Parallel()
		for _, audio := range []any{"", "call.mp3", number("3"), []any{}, map[string]any{"file": "report.pdf"}, "data:text/plain;base64,SGk="} {
			message := hear(audio).fails(t, fakes(), flow.CodeInputInvalid).Message
			if has(t, message, "audio"); strings.Contains(message, "map[") {
				t.Error(message)
			}
		}
	})
}
