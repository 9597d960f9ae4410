package web

import (
	"math"
	"net/http"
	"net/url"
	"sluice/flow"
	"strconv"
	"strings"
	"time"
)

// Failures that cost no waiting. Behind one address may be a whole office.
const (
	FreeTriesPerAccount = 5
	FreeTriesPerAddress = 30
)

// TryName hides what was tried: people type passwords into the wrong field.
func AttemptKey(what, value string) string { return what + ":" + flow.Hash([]byte(value)) }

// RetryAfter tells programs what the page tells people.
func (c *Call) RetryAfter(wait time.Duration) {
	c.Response().Header().Set("Retry-After", Seconds(wait))
}

func WaitText(wait time.Duration) string {
	switch seconds := int(math.Ceil(wait.Seconds())); {
	case seconds == 1:
		return "1 second"
	case seconds < 60:
		return strconv.Itoa(seconds) + " seconds"
	case seconds <= 60:
		return "1 minute"
	default:
		return strconv.Itoa((seconds+59)/60) + " minutes"
	}
}

// LocalPath returns next if it is a path of this site, else the list of flows.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	ours := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//")
	if !ours || strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "/flows"
	}
	return next
}

// Referrer is the path of the page that a form was on.
func Referrer(r *http.Request) string {
	_, after, _ := strings.Cut(r.Referer(), "//")
	_, path, _ := strings.Cut(after, "/")
	return "/" + path
}
