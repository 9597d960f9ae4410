package providers

import (
	"net/http"
	"regexp"
	"strings"
)

var (
	// refusesParameter matches messages that reject a parameter itself and not its value.
	refusesParameter = regexp.MustCompile(`(?i)unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra (input|field)|extra_forbidden|instead`)
	aboutSchema      = regexp.MustCompile(`(?i)response[_ ]?format|json[_ ]?schema|input_schema|structured output`)
	aboutUsage       = regexp.MustCompile(`stream_options|include_usage`)
	// invalidSchema matches messages that reject the schema. Strict mode supports only a
	// part of JSON Schema, so a request without it may succeed.
	invalidSchema = regexp.MustCompile(`(?i)invalid.*schema`)
	aboutThinking = regexp.MustCompile(`(?i)thinking|effort|output_config|adaptive`)
)

// adapt changes the form of the request if a rejection names the cause, each part at most
// once, and reports whether it did. A provider that rejects a request has generated
// nothing, so nothing is billed twice.
func (m *dialect) adapt(err error, talk *conversation) bool {
	e, ok := err.(*Error)
	if !ok || e.Class != ClassRejected || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	unknown := refusesParameter.MatchString(e.about)
	switch {
	case talk.form != nil && m.schema == SchemaStrict && aboutSchema.MatchString(e.about) && (unknown || invalidSchema.MatchString(e.about)):
		m.schema = SchemaJSON
	case talk.MaxTokens > 0 && unknown && m.maxTokens == talk.first.maxTokens && strings.Contains(e.about, m.maxTokens):
		m.maxTokens = otherName(m.maxTokens)
	case m.streamUsage && unknown && aboutUsage.MatchString(e.about):
		m.streamUsage = false
	case talk.thinks() && unknown && m.adaptive == talk.first.adaptive && aboutThinking.MatchString(e.about):
		m.adaptive = !m.adaptive
	default:
		return false
	}
	return true
}

// otherName returns the other of the two names that providers have for the limit on
// tokens. It is tried once when a request is refused because of the name.
func otherName(name string) string {
	if name == maxTokens {
		return maxCompletionTokens
	}
	return maxTokens
}
