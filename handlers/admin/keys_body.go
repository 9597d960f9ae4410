package admin

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Properties of the bodies of requests about keys.
var (
	changeableKey = map[string]any{
		"name":           map[string]any{"type": "string", "minLength": 1, "maxLength": 100, "description": "What the key is for."},
		"flows":          map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"type": "string"}, "description": "IDs or slugs of the flows that it may call. Null or empty: all, including future ones."},
		"expires_at":     map[string]any{"type": []string{"string", "null"}, "format": "date-time", "description": "Null: never."},
		"rpm":            keyLimit("Requests per minute."),
		"concurrency":    keyLimit("Runs at once."),
		"runs_per_day":   keyLimit("Runs per day."),
		"usd_per_day":    map[string]any{"type": []string{"number", "null"}, "exclusiveMinimum": 0, "maximum": flow.MaxUSD.Dollars(), "description": "Dollars per day; null for no limit."},
		"allow_unpriced": map[string]any{"type": "boolean", "description": "With a limit in dollars: allow models whose price is unknown."},
	}
	keySchemas = map[string]map[string]any{
		"CreateKey": {
			"type": "object", "additionalProperties": false, "required": []string{"name"},
			"properties": withScopes(changeableKey),
			"examples":   []any{map[string]any{"name": "deploy", "scopes": []string{"run"}, "expires_at": "2027-01-31T00:00:00Z"}},
		},
		"ChangeKey": {
			"type": "object", "additionalProperties": false, "properties": changeableKey,
			"examples": []any{map[string]any{"rpm": 600}},
		},
		"RotateKey": {
			"type": "object", "additionalProperties": false,
			"properties": map[string]any{"overlap_s": map[string]any{"type": "integer", "minimum": 0, "maximum": int(flow.MaxOverlap.Seconds()), "default": int(defaultOverlap.Seconds()), "description": "Seconds for which the old secret keeps working."}},
			"examples":   []any{map[string]any{"overlap_s": 3600}},
		},
	}
)

// defaultOverlap is how long the old secret keeps working by default.
const defaultOverlap = 24 * time.Hour

// keyLimit returns the schema of a limit, which null removes. The bounds are those of asCount.
func keyLimit(text string) map[string]any {
	return map[string]any{"type": []string{"integer", "null"}, "minimum": 1, "maximum": 1_000_000_000, "description": text + " Null: no limit."}
}

// withScopes returns the properties of a new key: those that can be changed later, and
// the scopes, which cannot.
func withScopes(properties map[string]any) map[string]any {
	all := maps.Clone(properties)
	all["scopes"] = map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "enum": flow.Scopes}, "default": []flow.Scope{flow.ScopeRun, flow.ScopeRead}}
	return all
}

// readKeySettings returns a function that applies a body to a key. Missing members change nothing;
// null removes a limit, an expiry or a list of flows.
func readKeySettings(body map[string]any, create bool) (func(k *flow.Key), error) {
	r := newSettings[flow.Key](body)
	read(r, "name", "wanted text", asText, func(k *flow.Key, v string) { k.Name = v })
	read(r, "flows", "wanted a list of texts", orZero(asTexts), func(k *flow.Key, v []string) { k.Flows = v })
	read(r, "expires_at", "wanted a time such as 2027-01-31T12:00:00Z, or null", orZero(asTime), func(k *flow.Key, v time.Time) { k.ExpiresAt = v })
	read(r, "rpm", wantedCount, orZero(asCount), func(k *flow.Key, v int64) { k.RPM = v })
	read(r, "concurrency", wantedCount, orZero(asCount), func(k *flow.Key, v int64) { k.Concurrency = v })
	read(r, "runs_per_day", wantedCount, orZero(asCount), func(k *flow.Key, v int64) { k.RunsPerDay = v })
	read(r, "usd_per_day", wantedUSD, orZero(asUSD), func(k *flow.Key, v flow.NanoUSD) { k.USDPerDay = v })
	read(r, "allow_unpriced", wantedBool, asBool, func(k *flow.Key, v bool) { k.AllowUnpriced = v })
	if create {
		read(r, "scopes", "wanted a list of texts", asTexts, func(k *flow.Key, v []string) {
			k.Scopes = nil
			for _, s := range v {
				k.Scopes = append(k.Scopes, flow.Scope(s))
			}
		})
	}
	return r.apply(unknownKeyField)
}

// unknownKeyField returns the problem of a field that cannot be set. Scopes have a message of their
// own, because they can be set when a key is created.
func unknownKeyField(name string) flow.Problem {
	detail := "this is not a setting of a key"
	if name == "scopes" {
		detail = "the scopes of a key never change; create another key"
	}
	return flow.Problem{Pointer: flow.Pointer(name), Code: "unknown_field", Detail: detail}
}

// readOverlap reads the overlap, which is at most limit, from the body of a rotation.
func readOverlap(body map[string]any, limit time.Duration) (time.Duration, error) {
	overlap := defaultOverlap
	var wrong []flow.Problem
	for _, name := range sorting.Keys(body) {
		n, ok := flow.Float(body[name])
		switch {
		case name != "overlap_s":
			wrong = append(wrong, flow.Problem{Pointer: flow.Pointer(name), Code: "unknown_field", Detail: "this is not a setting of a rotation"})
		case !ok || n != math.Trunc(n) || n < 0 || n > limit.Seconds():
			wrong = append(wrong, flow.Problem{Pointer: "/overlap_s", Code: "out_of_range", Detail: fmt.Sprintf("wanted a whole number of seconds from 0 to %d", int(limit.Seconds()))})
		default:
			overlap = time.Duration(n) * time.Second
		}
	}
	return overlap, invalid(wrong...)
}

// keyError returns an error whose pointers use the names of the API. Package library names the
// fields of forms, in which the expiry has another name.
func keyError(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	own := *e
	own.Fields = slices.Clone(e.Fields)
	for i := range own.Fields {
		if own.Fields[i].Pointer == "/expires" {
			own.Fields[i].Pointer = "/expires_at"
		}
	}
	return &own
}
