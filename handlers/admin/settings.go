package admin

import (
	"time"

	"sluice/flow"
	"sluice/handlers/api"
)

// schema is a JSON Schema.
type schema = map[string]any

// Types of the members of bodies.
var (
	textsType = api.Type[[]string]{Schema: schema{"type": "array", "items": schema{"type": "string"}}, Wanted: "a list of texts", As: asTexts}
	timeType  = api.Type[time.Time]{Schema: schema{"type": "string", "format": "date-time"}, Wanted: "a time such as 2027-01-31T12:00:00Z, or null", As: asTime}.OrNull()
	limitType = api.Type[int64]{Schema: schema{"type": "integer", "minimum": 1, "maximum": 1_000_000_000}, Wanted: "a whole number from 1 to 1000000000, or null for no limit", As: asCount}.OrNull()
	priceType = api.Type[flow.NanoUSD]{Schema: schema{"type": "number", "minimum": 0, "maximum": flow.MaxUSD.Dollars()}, Wanted: "a number of dollars from 0 to a million", As: api.AsDollars}
)

// The functions below read a value of a JSON body as a type. They report whether it has that type,
// so that a body with several wrong fields gets one problem for each instead of the decoder's first
// error.

// asTexts reads a list whose items are all strings. It may be empty, but not null.
func asTexts(v any) (texts []string, ok bool) {
	list, ok := v.([]any)
	for _, item := range list {
		s, isText := item.(string)
		texts, ok = append(texts, s), ok && isText
	}
	return texts, ok
}

// asTime reads a time in RFC 3339, from 1970 on. It is cut to microseconds, the resolution of
// the database, so that this response and later ones have the same time.
func asTime(v any) (time.Time, bool) {
	s, _ := v.(string)
	at, err := time.Parse(time.RFC3339, s)
	return at.UTC().Truncate(time.Microsecond), err == nil && at.Year() >= 1970
}

// asCount reads a limit: a whole number from 1 to 10⁹. A fraction is refused instead of
// rounded.
func asCount(v any) (int64, bool) { return api.AsWhole(v, 1, 1e9) }
