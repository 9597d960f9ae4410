// Package alarms says when runs need the attention of people, and what the messages say.
//
// It owns the kinds of alarms, their configuration, their state and their messages. It must not know how runs are stored or how
// messages are sent.
package alarms

import (
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
)

// Limits of alarms.
const (
	MaxPerWorkspace = 100
	// PerStranger is the limit of workspaces that anyone may create.
	PerStranger  = 10
	MaxReceivers = 5
	MaxName      = 64
	// Interval is how often an alarm looks at its flows.
	Interval = 15 * time.Second
	// MaxRuns is how many runs of a flow an alarm looks at, the latest ones.
	MaxRuns = 10_000
	// RecentRuns is how many runs of a flow an alarm looks at that counts failures in a row.
	RecentRuns = 2_000
	// MessageLife is how long messages are kept.
	MessageLife = 30 * 24 * time.Hour
	// Again is how long after a message the next one follows while an alarm fires.
	Again = 24 * time.Hour
	// named is how many runs a message names.
	named = 10
)

// Kind is what an alarm looks for.
type Kind string

// Kinds of alarms.
const (
	Failed     Kind = "failed"
	Slow       Kind = "slow"
	Cost       Kind = "cost"
	Silent     Kind = "silent"
	Skipped    Kind = "skipped"
	Deliveries Kind = "deliveries"
	Waiting    Kind = "waiting"
	FailedTest Kind = "test"
)

// Kinds lists all kinds.
var Kinds = []Kind{Failed, Slow, Cost, Silent, Skipped, Deliveries, Waiting, FailedTest}

// Config is the configuration of an alarm, as in the API and in files.
type Config struct {
	Kind       Kind       `json:"kind"`
	Count      int64      `json:"count,omitempty"`
	Percent    int64      `json:"percent,omitempty"`
	Least      int64      `json:"least,omitempty"`
	Window     string     `json:"window,omitempty"`
	Over       string     `json:"over,omitempty"`
	USD        float64    `json:"usd,omitempty"`
	Per        string     `json:"per,omitempty"`
	Factor     float64    `json:"factor,omitempty"`
	ClearAfter string     `json:"clear_after,omitempty"`
	To         []Receiver `json:"to,omitempty"`
}

// Receiver gets the messages of an alarm. It has exactly one of the first three.
type Receiver struct {
	Webhook string `json:"webhook,omitempty"` // URL
	Email   string `json:"email,omitempty"`
	Flow    string `json:"flow,omitempty"`   // ID or slug
	Format  string `json:"format,omitempty"` // of a webhook: json, slack or teams
}

// Channels of receivers.
const (
	Webhook = "webhook"
	Email   = "email"
	ToFlow  = "flow"
)

// Channel returns how a receiver gets messages, and where.
func (r *Receiver) Channel() (channel, target string) {
	switch {
	case r.Webhook != "":
		return Webhook, r.Webhook
	case r.Email != "":
		return Email, r.Email
	}
	return ToFlow, r.Flow
}

// ParseReceiver reads a receiver as people type it: an address, a URL, slack:URL, teams:URL or flow:SLUG.
func ParseReceiver(text string) Receiver {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "slack" || kind == "teams":
		return Receiver{Webhook: rest, Format: kind}
	case kind == "flow":
		return Receiver{Flow: rest}
	case strings.Contains(text, "://"):
		return Receiver{Webhook: text}
	}
	return Receiver{Email: text}
}

// Spends reports whether a receiver is a program: a webhook that is called, or a flow that runs.
func (c *Config) Spends() bool {
	for i := range c.To {
		if channel, _ := c.To[i].Channel(); channel != Email {
			return true
		}
	}
	return false
}

// WithoutURLs returns the configuration with only the hosts of webhooks: the rest of a URL may be a secret.
func (c *Config) WithoutURLs() Config {
	shown := *c
	shown.To = slices.Clone(c.To)
	for i := range shown.To {
		if shown.To[i].Webhook != "" {
			shown.To[i].Webhook = ShownURL(shown.To[i].Webhook)
		}
	}
	return shown
}

// ShownURL returns the host of a URL for people who may not know the rest.
func ShownURL(url string) string {
	if host := flow.HostOf(url); host != "" {
		scheme, _, _ := strings.Cut(url, "://")
		return scheme + "://" + host + "/…"
	}
	return "…"
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// ValidName reports whether an alarm may have a name.
func ValidName(name string) bool {
	return len(name) <= MaxName && validName.MatchString(name) && !strings.HasPrefix(name, flow.PrefixAlarm)
}

// ParseSpan parses a duration such as 30s, 15m, 12h or 2d.
func ParseSpan(text string) (time.Duration, bool) {
	var total time.Duration
	rest := strings.ToLower(strings.TrimSpace(text))
	if rest == "" {
		return 0, false
	}
	for rest != "" {
		i := strings.IndexAny(rest, "smhd")
		if i < 1 || i > 6 {
			return 0, false
		}
		n, err := strconv.ParseUint(rest[:i], 10, 32)
		if err != nil {
			return 0, false
		}
		total += time.Duration(n) * map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[rest[i]]
		rest = rest[i+1:]
	}
	return total, true
}

// span returns a duration of a configuration that was checked, or the default.
func span(text string, or time.Duration) time.Duration {
	if d, ok := ParseSpan(text); ok {
		return d
	}
	return or
}

// window is how far an alarm looks back.
func (c *Config) window() time.Duration {
	if c.Kind == Skipped {
		return span(c.Window, time.Hour)
	}
	return span(c.Window, 15*time.Minute)
}

// over is the duration beyond which an alarm fires.
func (c *Config) over() time.Duration { return span(c.Over, 5*time.Minute) }

// clearAfter is how long the condition must not have held before an alarm ends. That of tests ends with a test that passes.
func (c *Config) clearAfter() time.Duration {
	if c.Kind == FailedTest {
		return span(c.ClearAfter, 0)
	}
	return span(c.ClearAfter, 5*time.Minute)
}

// count and least return the numbers with their defaults.
func (c *Config) count() int { return int(max(c.Count, 1)) }

func (c *Config) least() int {
	if c.Least == 0 {
		return 20
	}
	return int(c.Least)
}

// uses lists the members that each kind has in addition to kind, clear_after and to.
var uses = map[Kind]map[string]bool{
	Failed:     {"count": true, "percent": true, "least": true, "window": true},
	Slow:       {"over": true, "window": true, "least": true},
	Cost:       {"usd": true, "per": true, "factor": true},
	Silent:     {"over": true},
	Skipped:    {"count": true, "window": true},
	Deliveries: {"over": true},
	Waiting:    {"over": true},
	FailedTest: {},
}

// checker collects problems.
type checker struct {
	*Config
	problems []flow.Problem
}

func (c *checker) fail(detail string, path ...any) {
	c.problems = append(c.problems, flow.Problem{Pointer: flow.Pointer(path...), Code: "invalid", Detail: detail})
}

// Check returns all problems of a configuration.
func (c *Config) Check() []flow.Problem {
	k := &checker{Config: c}
	known, ok := uses[c.Kind]
	if !ok {
		k.fail("must be failed, slow, cost, silent, skipped, deliveries, waiting or test", "kind")
		return k.problems
	}
	for name, set := range map[string]bool{"count": c.Count != 0, "percent": c.Percent != 0, "least": c.Least != 0, "window": c.Window != "", "over": c.Over != "", "usd": c.USD != 0, "per": c.Per != "", "factor": c.Factor != 0} {
		if set && !known[name] {
			k.fail("is no member of alarms of the kind "+string(c.Kind), name)
		}
	}
	k.spans()
	k.numbers()
	k.receivers()
	return k.problems
}

// spans checks the durations.
func (c *checker) spans() {
	for _, d := range []struct {
		name, text  string
		least, most time.Duration
	}{{"window", c.Window, time.Minute, 24 * time.Hour}, {"over", c.Over, time.Second, 30 * 24 * time.Hour}, {"clear_after", c.ClearAfter, time.Minute, 24 * time.Hour}} {
		if d.text == "" {
			continue
		}
		if v, ok := ParseSpan(d.text); !ok || v < d.least || v > d.most {
			c.fail(fmt.Sprintf("must be a duration such as 15m, from %s to %s", Span(d.least), Span(d.most)), d.name)
		}
	}
	if c.Over == "" && (c.Kind == Slow || c.Kind == Silent || c.Kind == Waiting) {
		c.fail("must be a duration such as 15m", "over")
	}
	if over, ok := ParseSpan(c.Over); ok && c.Kind == Silent && over < time.Minute {
		c.fail("must be at least 1m", "over")
	}
}

// numbers checks the numbers, and which of them go together.
func (c *checker) numbers() {
	for _, n := range []struct {
		name        string
		value, most int64
	}{{"count", c.Count, 1000}, {"percent", c.Percent, 100}, {"least", c.Least, MaxRuns}} {
		if n.value < 0 || n.value > n.most {
			c.fail(fmt.Sprintf("must be a whole number from 1 to %d", n.most), n.name)
		}
	}
	if c.Kind == Failed && c.Count != 0 && c.Percent != 0 {
		c.fail("either count, failures in a row, or percent", "percent")
	}
	if c.Kind == Failed && c.Percent == 0 && (c.Least != 0 || c.Window != "") {
		c.fail("is needed with least and window", "percent")
	}
	if c.Kind == Slow && c.Window == "" && c.Least != 0 {
		c.fail("is needed with least", "window")
	}
	if c.Kind != Cost {
		return
	}
	if c.Per != "" && c.Per != "day" && c.Per != "run" {
		c.fail("must be day or run", "per")
	}
	if !(c.USD >= 0 && c.USD <= flow.MaxUSD.Dollars()) || c.USD != 0 && flow.USDOf(c.USD) == 0 {
		c.fail("must be an amount in dollars such as 5", "usd")
	}
	if !(c.Factor == 0 || c.Factor > 1 && c.Factor <= 1000) {
		c.fail("must be a number above 1, at most 1000", "factor")
	}
	if (c.USD == 0) == (c.Factor == 0) {
		c.fail("must have either usd, or factor, a multiple of the mean of the last 7 days", "usd")
	}
	if c.Factor != 0 && c.Per == "run" {
		c.fail("must be day with factor", "per")
	}
}

// receivers checks to whom messages go, as far as a configuration alone says it.
func (c *checker) receivers() {
	if len(c.To) > MaxReceivers {
		c.fail(fmt.Sprintf("must have at most %d receivers", MaxReceivers), "to")
	}
	for i, r := range c.To {
		n := 0
		for _, text := range []string{r.Webhook, r.Email, r.Flow} {
			if text != "" {
				n++
			}
		}
		if n != 1 {
			c.fail("must have one of webhook, email and flow", "to", i)
		}
		if r.Format != "" && (r.Webhook == "" || r.Format != "json" && r.Format != "slack" && r.Format != "teams") {
			c.fail("must be json, slack or teams, for a webhook", "to", i, "format")
		}
		if r.Email != "" {
			if a, err := mail.ParseAddress(r.Email); err != nil || a.Address != r.Email {
				c.fail("must be an address such as ops@example.com", "to", i, "email")
			}
		}
		if len(r.Webhook) > 2048 || len(r.Flow) > 200 {
			c.fail("is too long", "to", i)
		}
	}
}

// Span returns a duration as configurations have it, such as 15m.
func Span(d time.Duration) string {
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
