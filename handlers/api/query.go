package api

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// query reads query parameters and collects their problems. Unknown parameters are
// ignored, so that clients of a later version work.
type query struct {
	problems
	values url.Values
}

// newQuery parses the query of a URL. A malformed one is a problem, because a dropped
// filter would return more than requested.
func newQuery(u *url.URL) *query {
	values, err := url.ParseQuery(u.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.add("", "invalid", "the query cannot be read; write it as name=value&name=value, percent-encoded")
	}
	return q
}

// one returns the value of a parameter, which may occur once.
func (q *query) single(name string) (string, bool) {
	list := q.values[name]
	if len(list) > 1 {
		q.add(flow.Pointer(name), "duplicate", "wanted this parameter once")
		return "", false
	}
	return strings.Join(list, ""), len(list) == 1
}

// integer returns a whole number within bounds, or a default.
func (q *query) integer(name string, least, most, otherwise int) int {
	s, ok := q.single(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		q.add(flow.Pointer(name), "out_of_range", fmt.Sprintf("wanted a whole number from %d to %d", least, most))
		return otherwise
	}
	return n
}

// wait returns how long to wait for the end of a run; 0 does not wait.
func (q *query) wait() time.Duration {
	return time.Duration(q.integer("wait", 0, int(maxWait/time.Second), 0)) * time.Second
}

// limit returns the page size.
func (q *query) limit() int { return q.integer("limit", 1, 100, 20) }

// time returns a point in time, or the zero time. Years before 1970 are rejected: they
// are mistakes, and microseconds since 1970 are stored.
func (q *query) time(name string) time.Time {
	s, ok := q.single(name)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 {
		q.add(flow.Pointer(name), "invalid", "wanted a time such as 2026-01-31T12:00:00Z")
		return time.Time{}
	}
	return t
}

// states returns a list of states. The parameter may be repeated, and contain commas.
func (q *query) states(name string) []flow.RunState {
	var list []flow.RunState
	for _, v := range q.values[name] {
		for s := range strings.SplitSeq(v, ",") {
			state := flow.RunState(s)
			if !slices.Contains(openapi.RunStates, state) {
				q.add(flow.Pointer(name), "not_allowed", "wanted one or more of queued, running, waiting, succeeded, failed, canceled")
				return nil
			}
			if !slices.Contains(list, state) {
				list = append(list, state)
			}
		}
	}
	return list
}

// cursor returns the ID in the cursor parameter. Clients treat cursors as opaque, so the
// format may change.
func (q *query) cursor(prefix string) string {
	s, ok := q.single("cursor")
	if !ok {
		return ""
	}
	id, ok := DecodeCursor(s, prefix)
	if !ok {
		q.add("/cursor", "invalid", "wanted the next_cursor of an earlier answer")
	}
	return id
}

// DecodeCursor returns the ID in a cursor.
func DecodeCursor(s, prefix string) (id string, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || !flow.ValidID(prefix, string(data)) {
		return "", false
	}
	return string(data), true
}

// pathCursor returns the path of a step in a cursor, or "".
func (q *query) pathCursor() string {
	s, ok := q.single("cursor")
	if !ok {
		return ""
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || !flow.IsSubStep(string(data)) {
		q.add("/cursor", "invalid", "wanted the next_cursor of an earlier answer")
	}
	return string(data)
}

// boolean returns a parameter that is 1 or true, or 0 or false.
func (q *query) boolean(name string) bool {
	s, ok := q.single(name)
	if !ok {
		return false
	}
	v, err := strconv.ParseBool(s)
	if err != nil {
		q.add(flow.Pointer(name), "invalid", "wanted true or false")
	}
	return v
}

// newCursor returns the cursor of the page after an ID, or nil for "".
func newCursor(id string) *string {
	if id == "" {
		return nil
	}
	s := base64.RawURLEncoding.EncodeToString([]byte(id))
	return &s
}

// Page removes the extra element that was read to detect a next page, and returns the
// cursor of that page, or nil.
func Page[T any](list []T, limit int, id func(*T) string) ([]T, *string) {
	if len(list) <= limit {
		return list, nil
	}
	list = list[:limit]
	return list, newCursor(id(&list[limit-1]))
}
