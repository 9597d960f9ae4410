package web

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
)

// Numbers of failed attempts after which each further one must wait. The one for
// addresses is higher, because an office may share one.
const (
	FreeTriesPerAccount = 5
	FreeTriesPerAddress = 30
)

// AttemptKey returns the name under which attempts are counted. It contains a hash of the
// value, because users sometimes type passwords into the wrong field.
func AttemptKey(what, value string) string { return what + ":" + flow.Hash([]byte(value)) }

// RetryAfter sets the Retry-After header.
func (c *Call) RetryAfter(wait time.Duration) {
	c.Response().Header().Set("Retry-After", Seconds(wait))
}

// WaitText returns a wait in words, rounded up, as in "2 minutes".
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

// LocalPath returns next if it is a path of this site, otherwise /flows. It prevents open
// redirects after sign-in.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	isLocal := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//")
	if !isLocal || strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "/flows"
	}
	return next
}

// Referrer returns the path of the page that sent a form. The query is included.
func Referrer(r *http.Request) string {
	_, after, _ := strings.Cut(r.Referer(), "//")
	_, path, _ := strings.Cut(after, "/")
	return "/" + path
}
