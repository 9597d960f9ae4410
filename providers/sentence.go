package providers

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sluice/outbound"
	"sluice/providers/fault"
)

// refusal is the decoded error response of a provider.
type refusal struct {
	sentence string
	code     string // such as insufficient_quota; the type if there is no code
	param    string
	after    time.Duration
	plain    bool // not JSON: from a proxy or another kind of server
}

// codePolicy is the code of a request that violates a content policy.
const codePolicy = "content_policy_violation"

// noMoney reports whether the account is out of credit. Retrying does not help then,
// even if the status (429) suggests it.
func (r refusal) noMoney() bool {
	switch r.code {
	// OpenAI sends the first with 429, which would otherwise mean "later".
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "insufficient_balance", "402":
		return true
	}
	return strings.Contains(r.sentence, "credit balance is too low") // Anthropic, with 400
}

// badKey reports whether the secret is invalid, for servers that respond with
// status 400 instead of 401.
func (r refusal) badKey() bool {
	return r.code == "invalid_api_key" || fault.BadKey.MatchString(r.sentence)
}

// noModel reports whether the model does not exist or is not available to the account,
// for servers that do not respond with 404.
func (r refusal) noModel() bool {
	return r.code == "model_not_found" || r.code == "invalid_model" || r.code == "model_not_available"
}

// parseRefusal extracts code and message from the formats that providers use: OpenAI's
// {"error": {…}}, that in a list (Gemini), {"error": "…"} (Ollama, Hugging
// Face, xAI), {"message": "…"} (Mistral, Cerebras), {"detail": …} (everything
// made with FastAPI, Replicate), or a line of text. HTML is ignored.
func parseRefusal(data []byte) refusal {
	var body any
	if json.Unmarshal(data, &body) != nil {
		text := clean(string(data))
		if strings.HasPrefix(text, "<") || len(text) > maxPlain {
			text = ""
		}
		return refusal{sentence: text, after: waitInText(text), plain: true}
	}
	return readRefusal(body)
}

// maxPlain is the maximum length of a plain-text message in bytes. Longer text is a page.
const maxPlain = 500

// readRefusal finds the code and the sentence in the decoded body of an error.
// Providers nest them differently; see parseRefusal.
func readRefusal(body any) refusal {
	if list, ok := body.([]any); ok && len(list) > 0 {
		body = list[0]
	}
	fields, _ := body.(map[string]any)
	if text, ok := body.(string); ok {
		fields = map[string]any{"message": text}
	}
	for _, name := range []string{"error", "base_resp", "fault"} {
		if inner, ok := fields[name].(map[string]any); ok {
			fields = inner
		}
	}
	r := refusal{code: firstText(fields, "code", "type", "status", "error_code", "status_code", "errorCode"), param: firstText(fields, "param")}
	for _, name := range messageMembers {
		if r.sentence = clean(said(fields[name])); r.sentence != "" {
			break
		}
	}
	r.sentence = withUpstream(r.sentence, fields)
	if meta, _ := fields["metadata"].(map[string]any); meta["reasons"] != nil {
		r.code = codePolicy // OpenRouter's moderation, with status 403
	}
	if r.after = waitInText(r.sentence); r.after == 0 {
		r.after = retryDelay(fields["details"])
	}
	return r
}

// messageMembers are the members in which providers have the message of an error.
var messageMembers = []string{"message", "error", "detail", "msg", "error_msg", "status_msg", "error_description", "errorMessage", "errors", "title", "faultstring", "Message", "reason"}

// retryDelay returns the wait in the details of Google's errors, {"retryDelay": "34.07s"}, or 0.
func retryDelay(details any) time.Duration {
	list, _ := details.([]any)
	for _, item := range list {
		info, _ := item.(map[string]any)
		if d, err := time.ParseDuration(firstText(info, "retryDelay")); err == nil {
			return wait(d.Seconds())
		}
	}
	return 0
}

// said returns a message, or the first three of FastAPI's list of problems.
func said(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, item := range v[:min(len(v), 3)] {
			problem, _ := item.(map[string]any)
			place, _ := problem["loc"].([]any)
			text := firstText(problem, "msg", "message", "detail")
			if line, isText := item.(string); isText {
				text = line
			}
			if n := len(place); n > 0 && text != "" {
				text = textOf(place[n-1]) + ": " + text
			}
			if text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		return said(v["detail"]) + firstText(v, "message")
	}
	return ""
}

// withUpstream adds the message of the provider behind a router. OpenRouter's own message is
// then only "Provider returned error".
func withUpstream(sentence string, fields map[string]any) string {
	meta, _ := fields["metadata"].(map[string]any)
	raw := firstText(meta, "raw")
	if raw == "" {
		return sentence
	}
	inner := parseRefusal([]byte(raw))
	if inner.sentence == "" || inner.sentence == sentence {
		return sentence
	}
	return strings.TrimSuffix(sentence, ".") + ": " + inner.sentence
}

// firstText returns the first of the named fields that has a text or a number, or "".
func firstText(fields map[string]any, names ...string) string {
	for _, name := range names {
		if text := textOf(fields[name]); text != "" {
			return text
		}
	}
	return ""
}

// textOf converts a code to text; some providers use numbers.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// maxSentence is the maximum length of a message in characters. Some providers repeat the
// request in it.
const maxSentence = 600

// clean converts a text to one line of at most maxSentence characters.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxSentence {
		text = string(runes[:maxSentence]) + " …"
	}
	return text
}

// wait converts seconds to a duration, limited like Retry-After.
func wait(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN too
		return 0
	}
	return time.Duration(min(seconds, outbound.MaxRetryAfter.Seconds()) * float64(time.Second))
}

// waitText matches "Please try again in 1m12.5s", "Please retry in 34.07s" and
// "try again in 20 seconds".
var waitText = regexp.MustCompile(`(?i)(?:try again|retry|wait|resets?) (?:in|after|for)? ?((?:\d+(?:\.\d+)?(?:ms|s|m|h))+|(\d+(?:\.\d+)?) (second|minute|millisecond))`)

// waitInText returns the time to wait in a sentence such as "try again in 1m2.5s", or
// 0. Some providers send it only there and not in Retry-After.
func waitInText(text string) time.Duration {
	m := waitText.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	if m[2] == "" {
		d, _ := time.ParseDuration(m[1])
		return wait(d.Seconds())
	}
	n, _ := strconv.ParseFloat(m[2], 64)
	units := map[string]float64{"second": 1, "minute": 60, "millisecond": 0.001}
	return wait(n * units[strings.ToLower(m[3])])
}

// requestID returns the ID that the provider's support needs to find the call.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Generation-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" && len(id) <= 200 {
			return id
		}
	}
	return ""
}

// itoa is strconv.Itoa, abbreviated because many messages contain numbers.
func itoa(n int) string { return strconv.Itoa(n) }
