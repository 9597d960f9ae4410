package nodes

import (
	"context"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// The transcribe kind converts a recording to text.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "transcribe", Title: "Transcribe", Group: groupModels, Icon: "mic", Class: flow.Outside, Timeout: flow.ModelTimeout,
		Summary: "Transcribes a recording.",
		Doc: "Sends a recording to a model and outputs its text. The recording is a file, a URL or a data URL; a URL can return up to 25 MiB, and for files the provider's limit applies. " +
			"`language` and `seconds` have a value only if the provider reports them; nodes connected to a port without a value are skipped.\n\n" +
			"A price per second that the workspace entered for the model applies to the seconds of the recording.",
		Fields: []flow.Field{
			requiredField(modelField(taskTranscribe, "It must transcribe audio.")),
			{Name: "audio", Title: "Audio", Type: flow.FieldFile, Secrets: flow.SecretsInURL, Value: flow.TypeSource, Required: true, Accept: []string{"audio/*", "video/*"},
				Help: "The recording: a file, a URL or a data URL."},
			{Name: "language", Title: "Language", Type: flow.FieldText, Help: "A two-letter code such as en. Empty: detected."},
			{Name: "prompt", Title: "Prompt", Type: flow.FieldArea, Template: true, More: true, Help: "Hints, such as names that occur. Type {{ to insert a value."},
			credentialField,
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The transcript."},
			{Name: "language", Title: "Language", Type: flow.TypeText, Optional: true, Help: "The language, as the provider names it."},
			{Name: "seconds", Title: "Seconds", Type: flow.TypeNumber, Optional: true, Help: "Length of the recording in seconds."},
		},
		Example: flow.Example{
			Config: map[string]any{"model": "openai/whisper-1", "language": "en"},
			Ports:  map[string]any{"audio": "https://example.com/call.mp3"},
		},
		Sends:     modelDestination,
		Check:     checkModel(taskTranscribe),
		Charge:    chargeModel,
		Untrusted: fromOutside,
		Tool:      &flow.ToolUse{Result: []string{"text"}},
		Run:       func(ctx context.Context, in *flow.In) (flow.Out, error) { return transcribe(ctx, d, in) },
	}
})

// transcribe calls a provider to convert a recording to text. It outputs the language and the
// length only if the provider reports them.
func transcribe(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	m, err := d.findTarget(ctx, in, taskTranscribe)
	if err != nil {
		return flow.Out{}, err
	}
	g := &gatherer{client: d.HTTP, in: in, field: "audio", max: maxRecording, total: maxRecording}
	audio, err := g.gather(ctx, in.Config["audio"])
	if err != nil {
		return flow.Out{}, err
	}
	result, err := d.Providers.Transcribe(ctx, m.at, providers.TranscribeRequest{Model: m.model, Audio: audio,
		Language: strings.TrimSpace(in.Text("language")), Prompt: in.Text("prompt"), Key: in.Key})
	var out flow.Out
	if err != nil {
		m.chargeCall(&out, providers.Usage{}, err)
		return out, m.failed(ctx, err)
	}
	m.charge(&out, result.Usage, billed(result.Seconds))
	outputs := map[string]any{"text": result.Text}
	if result.Language != "" {
		outputs["language"] = result.Language
	}
	if result.Seconds > 0 {
		outputs["seconds"] = flow.Number(result.Seconds)
	}
	out.Outputs = outputs
	return out, nil
}
