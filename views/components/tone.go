package components

// Tone is the meaning of a color.
type Tone string

// The tones. ToneNone is neutral.
const (
	ToneNone   Tone = ""
	ToneOK     Tone = "ok"
	ToneRun    Tone = "run"
	ToneWait   Tone = "wait"
	ToneBad    Tone = "bad"
	ToneAccent Tone = "accent"
)

// Icon returns the icon of a tone, which conveys it without color.
func (t Tone) Icon() string {
	switch t {
	case ToneOK:
		return "circle-check"
	case ToneBad:
		return "circle-alert"
	case ToneWait:
		return "triangle-alert"
	}
	return "info"
}
