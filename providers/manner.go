package providers

import (
	"net/http"
	"regexp"
	"strings"
)

var (
	// refusesParameter is how servers say that they do not take a parameter at
	// all, rather than its value.
	refusesParameter = regexp.MustCompile(`(?i)unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra (input|field)|extra_forbidden|instead`)
	aboutSchema      = regexp.MustCompile(`(?i)response[_ ]?format|json[_ ]?schema|input_schema|structured output`)
	aboutUsage       = regexp.MustCompile(`stream_options|include_usage`)
	// invalidSchema is about the schema itself. Strict mode takes only some of JSON
	// Schema, so asking without it can help here too.
	invalidSchema = regexp.MustCompile(`(?i)invalid.*schema`)
	aboutThinking = regexp.MustCompile(`(?i)thinking|effort|output_config|adaptive`)
)

// adapt puts the request in another form when a refusal names what it does not
// like, each part once, and reports whether that was so. A provider that
// rejects a request has generated nothing, so nothing is billed twice.
func (m *manner) adapt(err error, talk *conversation) bool {
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
