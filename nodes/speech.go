package nodes

import (
	"context"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// speechFormats are the options of the field "format".
var speechFormats = []string{"mp3", "wav", "opus", "flac", "aac"}

// The speech kind converts text to speech.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "speech", Title: "Speech", Group: groupModels, Icon: "volume-2", Class: flow.Outside, Timeout: flow.ModelTimeout,
		Summary: "Converts a text to speech.",
		Doc: "Generates speech from a text and stores the recording as a file of the run. " +
			"The maximum length of the text depends on the provider: OpenAI accepts 4,096 characters.\n\n" +
			"Providers report no tokens for speech, so the cost is known only if the workspace entered a price per call.",
		Fields: []flow.Field{
			requiredField(modelField(taskSpeech, "It must generate speech.")),
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Template: true, Help: "What to say. Type {{ to insert a value."},
			{Name: "voice", Title: "Voice", Type: flow.FieldText, Default: "alloy",
				Help: "Each provider has its own, such as alloy, coral or verse of OpenAI."},
			{Name: "instructions", Title: "Instructions", Type: flow.FieldArea, More: true, Help: "How to speak, such as slowly and warmly. Not all models support it."},
			{Name: "format", Title: "Format", Type: flow.FieldSelect, Options: speechFormats, Default: "mp3", More: true, Help: "The format of the file."},
			{Name: "speed", Title: "Speed", Type: flow.FieldNumber, Min: ptr(0.25), Max: ptr(4), More: true, Help: "1 is normal."},
			credentialField,
		},
		Outputs: []flow.Port{{Name: "audio", Title: "Audio", Type: flow.TypeFile, Accept: []string{"audio/*"}, Help: "The recording."}},
		Example: flow.Example{
			Config: map[string]any{"model": "openai/gpt-4o-mini-tts", "voice": "coral"},
			Ports:  map[string]any{"text": "Your parcel arrives on Tuesday."},
		},
		Sends:  modelDestination,
		Check:  checkModel(taskSpeech),
		Charge: chargeModel,
		Run:    func(ctx context.Context, in *flow.In) (flow.Out, error) { return speech(ctx, d, in) },
	}
})

// speech calls a provider and stores the recording as a file. It returns the usage even if
// storing fails, because the call was paid for.
func speech(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	r, err := speechRequest(in)
	if err != nil {
		return flow.Out{}, err
	}
	m, err := d.findTarget(ctx, in, taskSpeech)
	if err != nil {
		return flow.Out{}, err
	}
	r.Model = m.model
	blob, err := d.Providers.Speech(ctx, m.at, r)
	var out flow.Out
	m.chargeCall(&out, providers.Usage{}, err)
	if err != nil {
		return out, m.failed(ctx, err)
	}
	audio, err := m.keep(ctx, in, "speech", *blob)
	if err == nil {
		out.Outputs = map[string]any{"audio": audio}
	}
	return out, err
}

// speechRequest reads the fields. It validates values from edges as strictly as typed ones.
func speechRequest(in *flow.In) (r providers.SpeechRequest, err error) {
	r = providers.SpeechRequest{Voice: strings.TrimSpace(in.Text("voice")), Instructions: in.Text("instructions"), Key: in.Key}
	if r.Text, err = requiredText(in, "text"); err != nil {
		return r, err
	}
	if r.Format, err = optionalChoice(in, "format", speechFormats); err != nil {
		return r, err
	}
	speed, err := optionalNumber(in, "speed", 0.25, 4)
	if speed != nil {
		r.Speed = *speed
	}
	return r, err
}
