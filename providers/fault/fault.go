// Package fault finds errors in bodies that arrived with the status 200. Many servers of models
// report errors so, because a gateway hides the status or because a stream had begun. Such an
// error is treated like the same error with its own status, which this package finds by the
// code, the type or the text.
package fault

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"sluice/flow/value"
)

// Find reports whether a body that arrived with the status 200 is an error. It returns the
// status that the error corresponds to, and the part of the body that describes it. These
// forms are known:
//
//	{"error": {…}} or "…"                          OpenAI and compatible servers, Anthropic
//	{"object": "error", "message": …, "code": 400} vLLM, SGLang
//	{"type": "error", "message": …}                OpenAI's Responses API
//	{"base_resp": {"status_code": 1004, …}}        MiniMax
//	{"error_code": 110, "error_msg": …}            Baidu
//	{"success": false, "errors": [{…}]}            Cloudflare
//	{"choices": [{"error": {…}}]}                  OpenRouter
//	{"code": 401, "msg": …}, {"detail": …},        without an answer beside it
//	{"errors": [{…}]}, {"message": …, "status": 503}
func Find(data []byte) (status int, text []byte, failed bool) {
	raw := value.Raw(data)
	if raw.IsList() {
		raw = raw.Item(0) // Gemini's errors
	}
	body := raw.Members()
	if body == nil {
		return 0, nil, false
	}
	if choice := body["choices"].Item(0); choice.Get("error").IsFilled() {
		raw, body = choice, choice.Members()
	}
	if !isFault(body) {
		return 0, nil, false
	}
	return statusOf(raw, body), raw, true
}

// Status returns the HTTP status that an object corresponds to which is known to be an error.
func Status(data []byte) int { return statusOf(data, value.Raw(data).Members()) }

// members are those of an object that may be an error.
type members map[string]value.Raw

// isFault reports whether an object is an error; see Find.
func isFault(body members) bool {
	switch {
	case body["error"].IsFilled(), body["object"].Text() == "error", body["type"].Text() == "error":
		return true
	case body["base_resp"].Get("status_code").Int() != 0, body["error_code"].IsFilled(), body["error_msg"].IsFilled():
		return true
	case body["success"].String() == "false" && (body["errors"] != nil || sentenceIn(body) != ""):
		return true
	case hasAnswer(body):
		return false
	case body["detail"].IsFilled(), body["errors"].IsFilled(), body["errorMessage"].IsFilled(), body["errorCode"].IsFilled():
		return true
	}
	return sentenceIn(body) != "" && failureCode(body)
}

// answerMembers are the members in which the wire formats have their answers.
var answerMembers = []string{"choices", "content", "delta", "message", "content_block", "output", "response", "data", "embeddings", "embedding"}

// hasAnswer reports whether an object has an answer or a part of one. A message that is text is
// part of an error.
func hasAnswer(body members) bool {
	if body["text"].IsText() { // a transcript, which is empty for silence
		return true
	}
	for _, name := range answerMembers {
		if v := body[name]; (v.IsObject() || v.IsList()) && v.IsFilled() {
			return true
		}
	}
	kind := body["type"].Text() // an event of Anthropic's or OpenAI's Responses stream
	return kind == "ping" || strings.HasPrefix(kind, "response.") || strings.HasPrefix(kind, "message_") || strings.HasPrefix(kind, "content_block_")
}

// sentenceIn returns the message of an error without a member that marks it as an error.
func sentenceIn(body members) string {
	for _, name := range []string{"message", "msg", "Message", "title", "reason"} {
		if text := body[name].Text(); text != "" {
			return text
		}
	}
	return ""
}

// codeMembers are the members in which errors have a code, most precise first.
var codeMembers = []string{"code", "status", "status_code", "statusCode", "http_code", "type", "errorCode", "error_type", "__type", "title"}

// failureCode reports whether an object has a code other than one of success.
func failureCode(body members) bool {
	for _, name := range codeMembers {
		v := body[name]
		if name == "title" || !v.IsFilled() {
			continue
		}
		switch code := strings.ToLower(v.String()); code {
		case "200", "201", "ok", "success", "succeeded", "true":
		default:
			return true
		}
	}
	return false
}

// statusOf returns the HTTP status that an error in a body corresponds to: its own, that of
// a known code or type, one that its text suggests, or 500.
func statusOf(raw value.Raw, body members) int {
	if n := int(body["base_resp"].Get("status_code").Int()); n != 0 {
		return orText(miniMaxStatuses[n], raw)
	}
	if n := int(body["error_code"].Int()); n != 0 && (n < 400 || n >= 600) {
		return orText(baiduStatuses[n], raw)
	}
	for _, m := range []members{body["error"].Members(), body, body["errors"].Item(0).Members(), body["detail"].Members()} {
		for _, name := range codeMembers {
			if status := statusOfCode(m[name]); status != 0 {
				return status
			}
		}
	}
	for _, name := range codeMembers {
		if status := statusOfCode(body["error_"+name]); status != 0 {
			return status
		}
	}
	if body["detail"].IsList() { // FastAPI's list of invalid parameters
		return http.StatusUnprocessableEntity
	}
	return orText(0, raw)
}

// orText returns a status, or else the one that the text of an error suggests.
func orText(status int, raw value.Raw) int {
	if status != 0 {
		return status
	}
	return statusInText(string(raw))
}

// statusOfCode returns the status of a code or type of an error, or 0 if it is unknown.
func statusOfCode(v value.Raw) int {
	if n, err := strconv.Atoi(v.String()); err == nil {
		if n >= 400 && n < 600 {
			return n
		}
		return 0
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(v.Text()))
	return statuses[strings.TrimSuffix(strings.TrimSuffix(name, "exception"), "error")]
}

// statuses maps the codes and types of errors to the HTTP statuses that they correspond to.
// The names are in lower case, without punctuation, and without "error" at the end.
var statuses = map[string]int{
	"invalidrequest": 400, "badrequest": 400, "invalidargument": 400, "failedprecondition": 400, "invalidprompt": 400, "invalidparameter": 400,
	"contextlengthexceeded": 400, "contextwindowexceeded": 400, "exceedcontextsize": 400, "stringabovemaxlength": 400, "validation": 422,
	"contentfilter": 400, "contentpolicyviolation": 400, "datainspectionfailed": 400, "unprocessableentity": 422,
	"authentication": 401, "unauthorized": 401, "unauthenticated": 401, "invalidapikey": 401, "incorrectapikey": 401,
	"billing": 402, "insufficientbalance": 402, "arrearage": 402, "paymentrequired": 402, "creditsexhausted": 402,
	"permission": 403, "permissiondenied": 403, "forbidden": 403, "accessdenied": 403,
	"notfound": 404, "modelnotfound": 404, "invalidmodel": 404, "modelnotavailable": 404, "modelnotexist": 404,
	"requesttoolarge": 413, "ratelimit": 429, "ratelimitexceeded": 429, "toomanyrequests": 429, "resourceexhausted": 429, "throttling": 429,
	"throttled": 429, "insufficientquota": 429, "tokens": 429, "requests": 429,
	"api": 500, "server": 500, "internalserver": 500, "internal": 500, "engine": 500, "unavailable": 503, "serviceunavailable": 503,
	"deadlineexceeded": 504, "timeout": 504, "overloaded": 529, "engineoverloaded": 529,
}

// miniMaxStatuses and baiduStatuses are the codes in the API references of these providers.
var (
	miniMaxStatuses = map[int]int{1001: 504, 1002: 429, 1004: 401, 1008: 402, 1013: 500, 1024: 500, 1026: 400, 1027: 400, 1033: 500, 1039: 429, 1041: 429, 1042: 400, 2013: 400, 2049: 401, 2056: 429}
	baiduStatuses   = map[int]int{1: 500, 2: 503, 3: 404, 4: 429, 6: 403, 13: 401, 14: 401, 15: 401, 17: 429, 18: 429, 19: 402, 100: 400, 110: 401, 111: 401,
		336000: 500, 336001: 400, 336002: 400, 336003: 400, 336004: 401, 336005: 401, 336006: 400, 336007: 400, 336100: 503, 336103: 400, 336104: 400, 336501: 429, 336502: 429}
)

// Texts of errors without a useful code. TooLong also overrides a status of the class 5xx,
// which several servers send for a prompt that exceeds the context.
var (
	// BadKey is how Gemini and xAI refuse a secret, with status 400.
	BadKey    = regexp.MustCompile(`(?i)(incorrect|invalid) api.?key|api.?key (is )?(not valid|incorrect|invalid)`)
	TooLong   = regexp.MustCompile(`(?i)context[ _]?(length|window|size)|maximum context|(prompt|input|request)( is| was)? too (long|large)|too many (input )?tokens|exceeds? the (available |maximum |max )?(context|number of tokens)|(max|maximum) (input )?(tokens|length) (is |of )?exceeded|reduce the length of`)
	textRules = []struct {
		text   *regexp.Regexp
		status int
	}{
		{TooLong, 400},
		{BadKey, 401},
		{regexp.MustCompile(`(?i)unauthori[sz]ed|authentication (failed|error)|(invalid|expired|missing|wrong) (access |auth(entication|orization)? |bearer )?(token|credential)|access token (is )?(invalid|expired)|no cookie auth`), 401},
		{regexp.MustCompile(`(?i)insufficient (balance|credit|fund)|(credit|balance) (is )?(too low|exhausted|not enough)|out of credits?|quota (is )?exhausted|payment required|in arrears`), 402},
		{regexp.MustCompile(`(?i)permission denied|forbidden|not allowed to|access denied`), 403},
		{regexp.MustCompile(`(?i)model .{0,80}(not found|does ?n.t exist|does not exist|not exist|not available)|(no such|unknown|invalid) model`), 404},
		{regexp.MustCompile(`(?i)rate.?limit|too many requests|throttl|requests per (minute|second|day)|quota exceeded|exceeded your .{0,40}quota|retry (after|in)`), 429},
		{regexp.MustCompile(`(?i)overloaded|at capacity|server (is )?busy|temporarily unavailable|service unavailable|try again later|no available (worker|server|node)`), 503},
		{regexp.MustCompile(`(?i)content (policy|filter|management)|safety|sensitive|moderation|prohibited`), 400},
		{regexp.MustCompile(`(?i)invalid (request|parameter|argument|value|input)|validation|bad request|(is|are) required|must be|not supported|unsupported|malformed`), 400},
	}
)

// maxText is how much of an error is searched, in bytes.
const maxText = 64 << 10

// statusInText returns the status that the text of an error suggests. An unknown error counts
// as one of the server, which may be transient.
func statusInText(text string) int {
	text = text[:min(len(text), maxText)]
	for _, rule := range textRules {
		if rule.text.MatchString(text) {
			return rule.status
		}
	}
	return http.StatusInternalServerError
}
