package nodes

import (
	"testing"

	"sluice/flow"
	"sluice/providers"
)

func TestSpeech(t *testing.T) {
	t.Parallel()
	say := func(ports map[string]any) use {
		return use{kind: "speech", config: map[string]any{"model": "openai/tts", "text": "Hello {{name}}"}, ports: ports}
	}
	t.Run("stores the recording", func(t *testing.T) {
		t.Parallel()
		w, got := newFixture(), &calls{}
		w.prices = priceList{"openai/tts": {Call: 15}}
		u := say(map[string]any{"name": "Ada", "speed": number("1.5"), "instructions": "slowly", "format": "wav", "voice": " nova "})
		r := u.executeIn(t, w, Deps{Providers: fakeProviders{got}})
		if r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		if content := w.files.content(t, r.Outputs["audio"]); content != "sound of Hello Ada" {
			t.Errorf("kept %q", content)
		}
		same(t, "name", member(r.Outputs["audio"], "name"), "speech.mp3") // by what it is, not by what was asked for
		want := providers.SpeechRequest{Model: "tts", Text: "Hello Ada", Voice: "nova", Instructions: "slowly", Format: "wav", Speed: 1.5, Key: "run_1:n"}
		if got.requests[0] != want {
			t.Errorf("sent %+v", got.requests[0])
		}
		if r.Usage.CostNanoUSD != 15 {
			t.Errorf("usage %+v", r.Usage)
		}
	})
	for name, c := range map[string]struct {
		ports map[string]any
		says  string
	}{
		"an empty text":    {map[string]any{"text": "\n"}, `"text" is empty`},
		"too much speed":   {map[string]any{"name": "x", "speed": number("5")}, `"speed" must be a number from 0.25 to 4`},
		"an odd format":    {map[string]any{"name": "x", "format": "midi"}, `"format" must be one of mp3`},
		"an invalid model": {map[string]any{"name": "x", "model": "tts"}, "openai/gpt-4o-mini-tts"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			u := say(c.ports)
			if _, whole := c.ports["text"]; whole {
				u.config["text"] = "typed"
			}
			has(t, u.fails(t, fakes(), flow.CodeInputInvalid).Message, c.says)
		})
	}
}
