package components

// Tone is what a color means.
type Tone string

// The tones. ToneNone is for what is neither good nor bad.
const (
	ToneNone   Tone = ""
	ToneOK     Tone = "ok"
	ToneRun    Tone = "run"
	ToneWait   Tone = "wait"
	ToneBad    Tone = "bad"
	ToneAccent Tone = "accent"
)

// icon is the sign of a tone, for those who do not see colors.
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
