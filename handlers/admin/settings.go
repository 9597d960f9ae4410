package admin

import (
	"math"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Descriptions of valid values, for the message about an invalid one.
const (
	wantedCount = "wanted a whole number from 1 to 1000000000, or null for no limit"
	wantedUSD   = "wanted an amount such as 0.5, up to a million, or null for no limit"
	wantedBool  = "wanted true or false"
)

// settings reads the members of a body that change a T, and collects their problems, so that a
// response lists all of them.
type settings[T any] struct {
	body  map[string]any
	known map[string]bool
	wrong []flow.Problem
	set   []func(of *T)
}

// newSettings returns the settings in a body. Call read for each valid member, then apply.
func newSettings[T any](body map[string]any) *settings[T] {
	return &settings[T]{body: body, known: map[string]bool{}}
}

// read reads a member of the body. as converts its value and reports whether it is valid; wanted
// describes valid values in the problem. A missing member changes nothing.
func read[T, V any](r *settings[T], name, wanted string, as func(v any) (V, bool), set func(of *T, v V)) {
	r.known[name] = true
	given, present := r.body[name]
	if !present {
		return
	}
	v, ok := as(given)
	if !ok {
		r.wrong = append(r.wrong, flow.Problem{Pointer: flow.Pointer(name), Code: "wrong_type", Detail: wanted})
		return
	}
	r.set = append(r.set, func(of *T) { set(of, v) })
}

// apply returns a function that sets all members that were read, and an error with all problems of
// the body. unknown returns the problem of a member that was not read.
func (r *settings[T]) apply(unknown func(name string) flow.Problem) (func(of *T), error) {
	for _, name := range sorting.Keys(r.body) {
		if !r.known[name] {
			r.wrong = append(r.wrong, unknown(name))
		}
	}
	return func(of *T) {
		for _, set := range r.set {
			set(of)
		}
	}, invalid(r.wrong...)
}

// unknownSetting returns the function for unknown members that apply takes. of is a noun with an
// article, such as "a price".
func unknownSetting(of string) func(name string) flow.Problem {
	return func(name string) flow.Problem {
		return flow.Problem{Pointer: flow.Pointer(name), Code: "unknown_field", Detail: "this is not a setting of " + of}
	}
}

// invalid returns the error for a request with problems, or nil without any.
func invalid(wrong ...flow.Problem) error {
	if len(wrong) == 0 {
		return nil
	}
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "The request is invalid: " + wrong[0].Detail + ".", Fields: wrong}
}

// orZero reads null as the zero value.
func orZero[V any](as func(v any) (V, bool)) func(v any) (V, bool) {
	return func(v any) (zero V, ok bool) {
		if v == nil {
			return zero, true
		}
		return as(v)
	}
}

// asText and the functions below read a value of a JSON body as a type. They report
// whether it has that type, so that a body with several wrong fields gets one problem
// for each instead of the decoder's first error.
func asText(v any) (string, bool) { s, ok := v.(string); return s, ok }
func asBool(v any) (bool, bool)   { b, ok := v.(bool); return b, ok }

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
func asCount(v any) (int64, bool) { return asWhole(v, 1, 1e9) }

// asWhole reads a whole number from least to most, which are exact as floats below 2⁵³.
func asWhole(v any, least, most float64) (int64, bool) {
	n, ok := flow.Float(v)
	return int64(n), ok && n == math.Trunc(n) && n >= least && n <= most
}

// asUSD reads a limit in dollars. An amount that rounds to 0 billionths of a dollar is refused,
// because a stored 0 means no limit.
func asUSD(v any) (flow.NanoUSD, bool) {
	usd, ok := asPrice(v)
	return usd, ok && usd > 0
}

// asPrice reads an amount from 0 to flow.MaxUSD dollars, and rounds it to billionths.
func asPrice(v any) (flow.NanoUSD, bool) {
	n, ok := flow.Float(v)
	if !ok || n < 0 || n > flow.MaxUSD.Dollars() {
		return 0, false
	}
	return flow.USDOf(n), true
}

// loosens reports whether a limit would allow more than before; 0 means no limit.
func loosens(before, after int64) bool { return before > 0 && (after == 0 || after > before) }

// errLoosens returns the error for a key with limits that tries to raise a limit, and so to bypass
// its own. of is a noun with an article.
func errLoosens(of string) error {
	return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits, so it may only lower the limits of %s. Use a key without limits.", of)
}
