package admin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/flow"
	"sluice/handlers/api"
)

// Bodies of requests about keys. Package library checks the name of a new one. The scopes of a key can be set only when it is created.
var (
	createKeyBody = api.Body[flow.Key]{Name: "CreateKey", Of: "a key", Fields: append([]api.Field[flow.Key]{keyFields[0].Required(""),
		api.Member("scopes", "What it may do.", scopesType, func(k *flow.Key) *[]flow.Scope { return &k.Scopes })}, keyFields[1:]...),
		Example: schema{"name": "deploy", "scopes": []string{"run"}, "expires_at": "2027-01-31T00:00:00Z"}}
	changeKeyBody = api.Body[flow.Key]{Name: "ChangeKey", Of: "a key", Fields: keyFields, Example: schema{"rpm": 600},
		Refused: map[string]string{"scopes": "the scopes of a key never change; create another key"}}
	rotateKeyBody = rotationBody("RotateKey", "Seconds for which the old secret keeps working.", flow.MaxOverlap)
)

// keyFields are the settings of a key that can be changed later. Null removes a limit, an expiry or
// a list of flows.
var keyFields = []api.Field[flow.Key]{
	api.Member("name", "What the key is for.", api.TextType.With("minLength", 1).With("maxLength", 100), func(k *flow.Key) *string { return &k.Name }),
	api.Member("flows", "IDs or slugs of the flows that it may call. Null or empty: all, including future ones.", textsType.OrNull(), func(k *flow.Key) *[]string { return &k.Flows }),
	api.Member("expires_at", "Null: never.", timeType, func(k *flow.Key) *time.Time { return &k.ExpiresAt }),
	api.Member("rpm", "Requests per minute. Null: no limit.", limitType, func(k *flow.Key) *int64 { return &k.RPM }),
	api.Member("concurrency", "Runs at once. Null: no limit.", limitType, func(k *flow.Key) *int64 { return &k.Concurrency }),
	api.Member("runs_per_day", "Runs per day. Null: no limit.", limitType, func(k *flow.Key) *int64 { return &k.RunsPerDay }),
	api.Member("usd_per_day", "Dollars per day. Null: no limit.", api.DollarsType, func(k *flow.Key) *flow.NanoUSD { return &k.USDPerDay }),
	api.Member("allow_unpriced", "With a limit in dollars: allow models whose price is unknown.", api.BoolType, func(k *flow.Key) *bool { return &k.AllowUnpriced }),
}

// scopesType is the type of a list of scopes. Package library checks that they exist.
var scopesType = api.Type[[]flow.Scope]{
	Schema: schema{"type": "array", "minItems": 1, "items": schema{"type": "string", "enum": flow.Scopes}, "default": []flow.Scope{flow.ScopeRun, flow.ScopeRead}},
	Wanted: "a list of at least one scope",
	As: func(v any) (scopes []flow.Scope, ok bool) {
		texts, ok := asTexts(v)
		for _, s := range texts {
			scopes = append(scopes, flow.Scope(s))
		}
		return scopes, ok
	},
}

// defaultOverlap is how long the old secret keeps working by default.
const defaultOverlap = 24 * time.Hour

// rotationBody declares the body of a rotation, whose overlap is at most limit.
func rotationBody(name, text string, limit time.Duration) api.Body[time.Duration] {
	seconds := int(limit.Seconds())
	overlap := api.Type[time.Duration]{
		Schema: schema{"type": "integer", "minimum": 0, "maximum": seconds, "default": int(defaultOverlap.Seconds())},
		Code:   "out_of_range", Wanted: fmt.Sprintf("a whole number of seconds from 0 to %d", seconds),
		As: func(v any) (time.Duration, bool) {
			n, ok := api.AsWhole(v, 0, limit.Seconds())
			return time.Duration(n) * time.Second, ok
		},
	}
	return api.Body[time.Duration]{Name: name, Of: "a rotation", Optional: true, Example: schema{"overlap_s": 3600},
		Fields: []api.Field[time.Duration]{api.Member("overlap_s", text, overlap, func(d *time.Duration) *time.Duration { return d })}}
}

// readOverlap reads the optional body of a rotation.
func readOverlap(c *api.Call, b *api.Body[time.Duration]) (time.Duration, error) {
	set, err := b.ReadFrom(c)
	if err != nil {
		return 0, err
	}
	overlap := defaultOverlap
	set(&overlap)
	return overlap, nil
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
