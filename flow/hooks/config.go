package hooks

import (
	"fmt"
	"mime"
	"strings"

	"sluice/flow"
	"sluice/flow/signature"
)

// Limits of incoming webhooks.
const (
	DefaultBody = 1 << 20
	MaxBody     = 32 << 20
	// DefaultPerMinute is how many requests a minute are accepted, unless the configuration says otherwise.
	DefaultPerMinute = 600
	// DefaultPerDay bounds the runs a day of a webhook that checks nothing, unless the configuration says otherwise.
	DefaultPerDay  = 1000
	DefaultWait    = 10 // seconds
	MaxWait        = 60 // seconds
	MaxSecrets     = 2
	MaxExpressions = 50
	maxPerMinute   = 100_000
	maxPerDay      = 10_000_000
)

// Replies to an accepted request.
const (
	ReplyAccepted = "accepted" // 200 with the ID of the run
	ReplyOutputs  = "outputs"  // waits for the chosen outputs
	LateTimeout   = "timeout"  // 504 if they are late
)

// Values of Config.Once that are not expressions.
const (
	OnceBody  = "body"
	OnceNever = "never"
)

// Config is the configuration of an incoming webhook, as in the API and in files.
type Config struct {
	Verify    Verify       `json:"verify"`
	When      string       `json:"when,omitempty"`   // expression; a request for which it is false starts nothing
	Inputs    *flow.Object `json:"inputs,omitempty"` // values, or expressions as {"cel": "…"}; empty: members of the body by name
	Once      string       `json:"once,omitempty"`   // body, never or an expression; empty: the ID of the scheme
	Reply     string       `json:"reply,omitempty"`
	WaitS     int64        `json:"wait_s,omitempty"`
	OnLate    string       `json:"on_late,omitempty"`
	Response  *Response    `json:"response,omitempty"`
	MaxBody   int64        `json:"max_body,omitempty"`
	PerMinute *int64       `json:"per_minute,omitempty"` // 0: unlimited
	PerDay    *int64       `json:"per_day,omitempty"`    // 0: unlimited
}

// Verify says how requests are checked.
type Verify struct {
	signature.Config
	Secrets   []string `json:"secrets,omitempty"`   // names of credentials; any of them will do
	Challenge string   `json:"challenge,omitempty"` // meta: name of the credential with the verify token
}

// Response says which outputs make the response.
type Response struct {
	Status string `json:"status,omitempty"` // output with the status; empty: 200
	Body   string `json:"body,omitempty"`   // output with the body; empty: all outputs
	Type   string `json:"type,omitempty"`   // media type; empty: text/plain for a text, otherwise JSON
}

// variables are the names that expressions may use.
var variables = []string{"body", "headers", "query", "method"}

// Check returns the problems of a configuration. compile returns an error for a wrong expression over names.
func (c *Config) Check(compile func(source string, names ...string) error) (problems []flow.Problem) {
	fail := func(detail string, path ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(path...), Code: "invalid", Detail: detail})
	}
	for _, p := range c.Verify.Check() {
		fail(p.Detail, "verify", p.Field)
	}
	c.checkSecrets(fail)
	expression := func(source string, path ...any) {
		if err := compile(source, variables...); err != nil {
			fail(strings.TrimSuffix(flow.AsError(err).Message, "."), path...)
		}
	}
	if c.When != "" {
		expression(c.When, "when")
	}
	if c.Once != "" && c.Once != OnceBody && c.Once != OnceNever {
		expression(c.Once, "once")
	}
	count := 0
	for name, v := range c.Inputs.All() {
		if source, ok := expressionOf(v); ok {
			if count++; count <= MaxExpressions {
				expression(source, "inputs", name, "cel")
			}
		}
	}
	if count > MaxExpressions {
		fail(fmt.Sprintf("must have at most %d expressions", MaxExpressions), "inputs")
	}
	c.checkReply(fail)
	inRange := func(field string, n, low, high int64) {
		if n != 0 && (n < low || n > high) {
			fail(fmt.Sprintf("must be between %d and %d", low, high), field)
		}
	}
	inRange("wait_s", c.WaitS, 1, MaxWait)
	inRange("max_body", c.MaxBody, 1, MaxBody)
	if c.PerMinute != nil {
		inRange("per_minute", *c.PerMinute, 1, maxPerMinute)
	}
	if c.PerDay != nil {
		inRange("per_day", *c.PerDay, 1, maxPerDay)
	}
	return problems
}

// checkSecrets checks the names of credentials. Whether they exist is checked by the caller.
func (c *Config) checkSecrets(fail func(detail string, path ...any)) {
	switch needed := signature.NeedsSecret(c.Verify.Scheme); {
	case needed && len(c.Verify.Secrets) == 0:
		fail("is required: the name of the credential with the secret", "verify", "secrets")
	case !needed && len(c.Verify.Secrets) > 0:
		fail("must be empty without verification", "verify", "secrets")
	case len(c.Verify.Secrets) > MaxSecrets:
		fail(fmt.Sprintf("must have at most %d names", MaxSecrets), "verify", "secrets")
	}
	if c.Verify.Challenge != "" && c.Verify.Scheme != "meta" {
		fail("is only for meta", "verify", "challenge")
	}
}

// checkReply checks the fields of the response.
func (c *Config) checkReply(fail func(detail string, path ...any)) {
	outputs := c.Reply == ReplyOutputs
	if c.Reply != "" && c.Reply != ReplyAccepted && !outputs {
		fail("must be accepted or outputs", "reply")
	}
	if c.OnLate != "" && c.OnLate != ReplyAccepted && c.OnLate != LateTimeout {
		fail("must be accepted or timeout", "on_late")
	}
	if !outputs && (c.WaitS != 0 || c.OnLate != "" || c.Response != nil) {
		fail("must be outputs for wait_s, on_late and response", "reply")
	}
	if c.Response == nil || c.Response.Type == "" {
		return
	}
	if _, _, err := mime.ParseMediaType(c.Response.Type); err != nil || strings.ContainsAny(c.Response.Type, "\r\n") {
		fail("must be a media type such as text/xml", "response", "type")
	}
	if kind, _, _ := mime.ParseMediaType(c.Response.Type); isActive(kind) {
		fail("must not be a page, whose scripts would run at the address of this server", "response", "type")
	}
}

// isActive reports whether browsers run scripts in content of a media type.
func isActive(kind string) bool {
	return kind == "text/html" || strings.Contains(kind, "xhtml") || strings.Contains(kind, "svg") || strings.Contains(kind, "javascript")
}

// Wait returns how many seconds a reply waits for outputs.
func (c *Config) Wait() int64 {
	if c.WaitS == 0 {
		return DefaultWait
	}
	return c.WaitS
}

// Body returns how many bytes a body may have.
func (c *Config) Body() int64 {
	if c.MaxBody == 0 {
		return DefaultBody
	}
	return c.MaxBody
}

// Minute returns how many requests a minute are accepted; 0 is unlimited.
func (c *Config) Minute() int64 {
	if c.PerMinute == nil {
		return DefaultPerMinute
	}
	return *c.PerMinute
}

// Day returns how many runs a day are started; 0 is unlimited.
func (c *Config) Day() int64 {
	switch {
	case c.PerDay != nil:
		return *c.PerDay
	case !signature.NeedsSecret(c.Verify.Scheme):
		return DefaultPerDay
	}
	return 0
}

// WithoutHeaders returns the configuration without the inputs whose expressions use the headers of a request, and the names of these.
// compile returns an error for a wrong expression over names.
func (c *Config) WithoutHeaders(compile func(source string, names ...string) error) (without *Config, left []string) {
	own := *c
	own.Inputs = c.Inputs.Clone()
	for _, name := range c.Inputs.Names() {
		source, computed := expressionOf(c.Inputs.Get(name))
		if computed && compile(source, "body", "query", "method") != nil {
			own.Inputs.Delete(name)
			left = append(left, name)
		}
	}
	return &own, left
}

// expressionOf returns the expression of an input. An input with one is an object whose only member is cel.
func expressionOf(v any) (source string, ok bool) {
	o, ok := v.(*flow.Object)
	if !ok || o.Len() != 1 {
		return "", false
	}
	source, ok = o.Get("cel").(string)
	return source, ok
}
