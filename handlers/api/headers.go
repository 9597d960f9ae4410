package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
)

// maxWait bounds how long a request may wait for the end of a run.
const maxWait = 60 * time.Second

// maxIdempotencyKey bounds an Idempotency-Key, in characters.
const maxIdempotencyKey = 255

// idempotencyKey returns the Idempotency-Key header, or "".
func idempotencyKey(h http.Header) (string, error) {
	v, present, err := SingleHeader(h, "Idempotency-Key")
	if err != nil || !present {
		return "", err
	}
	if v == "" || len(v) > maxIdempotencyKey || strings.ContainsFunc(v, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return "", flow.Errorf(flow.CodeInvalidHeader, "Idempotency-Key takes 1 to 255 printable ASCII characters.")
	}
	return v, nil
}

// preferWait returns wait=N of the Prefer header (RFC 7240), or 0. Unknown preferences
// are ignored, as the RFC requires.
func preferWait(h http.Header) (time.Duration, error) {
	for p := range strings.SplitSeq(strings.Join(h.Values("Prefer"), ","), ",") {
		p, _, _ = strings.Cut(p, ";")
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
		if err != nil || n < 1 || n > int(maxWait/time.Second) {
			return 0, flow.Errorf(flow.CodeInvalidHeader, "Prefer: wait takes 1 to 60 seconds.")
		}
		return time.Duration(n) * time.Second, nil
	}
	return 0, nil
}

// lastEventID returns the number of the event after which a stream continues, or 0 for
// the beginning.
func lastEventID(h http.Header) (int64, error) {
	v, present, err := SingleHeader(h, "Last-Event-ID")
	if err != nil || !present || v == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, flow.Errorf(flow.CodeInvalidHeader, "Last-Event-ID is not the number of an event.")
	}
	return n, nil
}
