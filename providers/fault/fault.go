// Package fault finds errors in bodies that arrived with the status 200. Many servers of models
// report errors so, because a gateway hides the status or because a stream had begun. Such an
// error is treated like the same error with its own status, which this package finds by the
// code, the type or the text.
package fault

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
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
	body := gjson.ParseBytes(data)
	if body.IsArray() {
		body = body.Get("0") // Gemini's errors
	}
	if !body.IsObject() {
		return 0, nil, false
	}
	if choice := body.Get("choices.0"); IsFilled(choice.Get("error")) {
		body = choice
	}
	if !isFault(body) || !json.Valid(data) { // last, because it reads everything
		return 0, nil, false
	}
	return statusOf(body), []byte(body.Raw), true
}

// Status returns the HTTP status that an object corresponds to which is known to be an error.
func Status(data []byte) int { return statusOf(gjson.ParseBytes(data)) }

// isFault reports whether an object is an error; see Find.
func isFault(body gjson.Result) bool {
	switch {
	case IsFilled(body.Get("error")), body.Get("object").Str == "error", body.Get("type").Str == "error":
		return true
	case body.Get("base_resp.status_code").Int() != 0, IsFilled(body.Get("error_code")), IsFilled(body.Get("error_msg")):
		return true
	case body.Get("success").Type == gjson.False && (body.Get("errors").Exists() || sentenceIn(body) != ""):
		return true
	case hasAnswer(body):
		return false
	case IsFilled(body.Get("detail")), IsFilled(body.Get("errors")), IsFilled(body.Get("errorMessage")), IsFilled(body.Get("errorCode")):
		return true
	}
	return sentenceIn(body) != "" && failureCode(body)
}

// IsFilled reports whether a member says anything: not null, false, zero or empty, nor an
// object with only such members.
func IsFilled(v gjson.Result) bool {
	switch v.Type {
	case gjson.String:
		return v.Str != ""
	case gjson.Number:
		return v.Num != 0
	case gjson.JSON:
		filled := false
		v.ForEach(func(_, item gjson.Result) bool {
			filled = IsFilled(item)
			return !filled
		})
		return filled
	}
	return v.Type == gjson.True
}

// answerMembers are the members in which the wire formats have their answers.
var answerMembers = []string{"choices", "content", "delta", "message", "content_block", "output", "response", "data", "embeddings", "embedding"}

// hasAnswer reports whether an object has an answer or a part of one. A message that is text is
// part of an error.
func hasAnswer(body gjson.Result) bool {
	if body.Get("text").Type == gjson.String { // a transcript, which is empty for silence
		return true
	}
	for _, name := range answerMembers {
		if v := body.Get(name); v.Type == gjson.JSON && IsFilled(v) {
			return true
		}
	}
	kind := body.Get("type").Str // an event of Anthropic's or OpenAI's Responses stream
	return kind == "ping" || strings.HasPrefix(kind, "response.") || strings.HasPrefix(kind, "message_") || strings.HasPrefix(kind, "content_block_")
}

// sentenceIn returns the message of an error without a member that marks it as an error.
func sentenceIn(body gjson.Result) string {
	for _, name := range []string{"message", "msg", "Message", "title", "reason"} {
		if v := body.Get(name); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}

// codeMembers are the members in which errors have a code, most precise first.
var codeMembers = []string{"code", "status", "status_code", "statusCode", "http_code", "type", "errorCode", "error_type", "__type", "title"}

// failureCode reports whether an object has a code other than one of success.
func failureCode(body gjson.Result) bool {
	for _, name := range codeMembers {
		v := body.Get(name)
		if name == "title" || !IsFilled(v) {
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
func statusOf(body gjson.Result) int {
	if n := int(body.Get("base_resp.status_code").Int()); n != 0 {
		return orText(miniMaxStatuses[n], body)
	}
	if n := int(body.Get("error_code").Int()); n != 0 && (n < 400 || n >= 600) {
		return orText(baiduStatuses[n], body)
	}
	for _, at := range []string{"error.", "", "errors.0.", "detail.", "error_"} {
		for _, name := range codeMembers {
			if status := statusOfCode(body.Get(at + name)); status != 0 {
				return status
			}
		}
	}
	if body.Get("detail").IsArray() { // FastAPI's list of invalid parameters
		return http.StatusUnprocessableEntity
	}
	return orText(0, body)
}

// orText returns a status, or else the one that the text of an error suggests.
func orText(status int, body gjson.Result) int {
	if status != 0 {
		return status
	}
	return statusInText(body.Raw)
}

// statusOfCode returns the status of a code or type of an error, or 0 if it is unknown.
func statusOfCode(v gjson.Result) int {
	if n, err := strconv.Atoi(v.String()); err == nil {
		if n >= 400 && n < 600 {
			return n
		}
		return 0
	}
	if v.Type != gjson.String {
		return 0
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(v.Str))
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
