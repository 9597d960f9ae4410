package providers

import "regexp"

// families are the abilities of models whose provider's list does not state them, by the models' IDs,
// as the documentation of the providers has them. Several rows may fit a model.
var families = map[string][]struct {
	id                  *regexp.Regexp
	vision, tools, json bool
}{
	"anthropic": {
		{regexp.MustCompile(`^claude-(3|sonnet|opus|haiku)`), true, true, false},
		{regexp.MustCompile(`^claude-(sonnet|opus|haiku)-(4-[5-9]|[5-9])|^claude-opus-4-1`), false, false, true},
	},
	"openai": {
		{regexp.MustCompile(`^gpt-(4o|4\.1|5)|^o(1|3|4-mini)($|-20)`), true, true, true},
		{regexp.MustCompile(`^o3-mini`), false, true, true},
		{regexp.MustCompile(`^gpt-4-turbo`), true, true, false},
		{regexp.MustCompile(`^gpt-3\.5-turbo`), false, true, false},
	},
	"gemini": {{regexp.MustCompile(`^gemini-(1\.5|2|3)`), true, true, true}},
}

// otherUses matches the IDs of models of a family that are for something else, and cannot do all that
// the family can.
var otherUses = regexp.MustCompile(`-(audio|realtime|search|transcribe|tts|image|live|embedding|chat|instruct|computer-use|native)|-2024-05-13`)

// addAbilities adds to a model what its family can do. What the provider's list says stays.
func addAbilities(provider string, m *Model) {
	if otherUses.MatchString(m.ID) {
		return
	}
	for _, f := range families[provider] {
		if f.id.MatchString(m.ID) {
			m.Vision, m.Tools, m.JSON = m.Vision || f.vision, m.Tools || f.tools, m.JSON || f.json
		}
	}
}
