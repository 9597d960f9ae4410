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

// feature is a set of optional parts of a request that only some models accept. A refused one is
// left out.
type feature uint32

// The features of requests with tools.
const (
	featStrict       feature = 1 << iota // strict mode of a tool
	featParallel                         // one call at a time
	featChoice                           // a choice of the tool
	featFormat                           // a format of the answer beside tools
	featEffort                           // effort or thinking
	featEncrypted                        // encrypted reasoning in the answer
	featCacheKey                         // the key of the provider's cache
	featInstructions                     // the system prompt as instructions
	featOpaque                           // reasoning and signatures of former answers
	featBare                             // calls of former answers without reasoning or signature
	featStream                           // the answer as a stream
	featResponses                        // the Responses API
	featRoom                             // the higher default of the limit on tokens; see anthropicLimit
	featLimit                            // the usual name of the limit on tokens
	featUsage                            // usage in a stream
	featAdaptive                         // thinking by effort on Anthropic's wire
	featBudget                           // thinking by budget on Anthropic's wire
)

// passing are the features that are refused because of one request, so that is not remembered.
const passing = featOpaque

// aboutFeatures matches what providers say about a feature that they refuse. The first match
// counts.
var aboutFeatures = []struct {
	feature feature
	about   *regexp.Regexp
}{
	{featBare, regexp.MustCompile(`(?i)missing a? ?.?(thought_signature|reasoning_content)|reasoning_content.*passed back`)},
	{featRoom, regexp.MustCompile(`max_tokens`)},
	{featEncrypted, regexp.MustCompile(`(?i)encrypted content is not supported|\binclude\b`)},
	{featOpaque, regexp.MustCompile(`(?i)encrypted|signature|thinking. (block|or)|reasoning_content|reasoning_details|extra_content|\bphase\b|item with id`)},
	{featCacheKey, regexp.MustCompile(`prompt_cache_key`)},
	{featInstructions, regexp.MustCompile(`\binstructions\b`)},
	{featParallel, regexp.MustCompile(`(?i)parallel_tool`)},
	{featChoice, regexp.MustCompile(`(?i)tool[_ ]choice`)},
	{featFormat, regexp.MustCompile(`(?i)response[_ ]?format|response mime type|json[_ ]?(schema|mode)|output_(config|format)|structured output|text\.format|grammar constraints`)},
	{featStrict, regexp.MustCompile(`(?i)strict|invalid.*schema|schema.*invalid|too complex|tools\.\d+`)},
	{featEffort, regexp.MustCompile(`(?i)reasoning|effort|thinking|adaptive`)},
	{featStream, regexp.MustCompile(`(?i)\bstream`)},
}

// otherThinking matches what Anthropic says about a conversation that another model began. It is
// continued without thinking.
var otherThinking = regexp.MustCompile("(?i)expected .?thinking")

// can reports whether a feature was not refused.
func (c *conversation) can(f feature) bool { return c.dialect.off&f == 0 }

// use reports whether a feature can be used, and notes that the request has it.
func (c *conversation) use(f feature) bool {
	if !c.can(f) {
		return false
	}
	c.sent |= f
	return true
}

// adapt changes the form of the request if a rejection names the cause, each part at most
// once, and reports whether it did. A provider that rejects a request has generated
// nothing, so nothing is billed twice.
func (m *dialect) adapt(err error, talk *conversation) bool {
	e, ok := err.(*Error)
	if !ok {
		return false
	}
	if missing := e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented; missing && talk.sent&featResponses != 0 {
		return m.missing(e, talk)
	}
	if e.Class != ClassRejected || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	unknown := refusesParameter.MatchString(e.about)
	switch {
	case !talk.agent && talk.form != nil && m.schema == SchemaStrict && aboutSchema.MatchString(e.about) && (unknown || invalidSchema.MatchString(e.about)):
		m.schema = SchemaJSON
	case talk.MaxTokens > 0 && unknown && m.maxTokens == talk.first.maxTokens && strings.Contains(e.about, m.maxTokens):
		m.off |= featLimit
		m.maxTokens = otherName(m.maxTokens)
	case m.streamUsage && unknown && aboutUsage.MatchString(e.about):
		m.off |= featUsage
		m.streamUsage = false
	case talk.sent&(featAdaptive|featBudget) != 0 && unknown && m.adaptive == talk.first.adaptive && aboutThinking.MatchString(e.about):
		m.off |= talk.sent & (featAdaptive | featBudget)
		m.adaptive = !m.adaptive
	default:
		return m.drop(e.about, talk)
	}
	return true
}

// missing adapts to a Responses API that does not exist, or that does not find an item: OpenAI
// answers that with 404 too. A model that does not exist is not found on any API.
func (m *dialect) missing(e *Error, talk *conversation) bool {
	switch {
	case strings.Contains(e.about, "Item with id"):
		return m.drop(e.about, talk)
	case strings.Contains(strings.ToLower(e.about), "model"):
		return false
	}
	m.off |= featResponses
	return true
}

// drop leaves out the feature that a rejection is about, and reports whether there is one.
func (m *dialect) drop(about string, talk *conversation) bool {
	for _, f := range aboutFeatures {
		if talk.sent&f.feature != 0 && f.about.MatchString(about) {
			if m.off |= f.feature; f.feature == featEffort && otherThinking.MatchString(about) {
				m.doubtful |= featEffort
			}
			return true
		}
	}
	return false
}

// otherName returns the other of the two names that providers have for the limit on
// tokens. It is tried once when a request is refused because of the name.
func otherName(name string) string {
	if name == maxTokens {
		return maxCompletionTokens
	}
	return maxTokens
}
