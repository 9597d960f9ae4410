package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func keysSamples(theme layout.Theme) map[string]templ.Component {
	in, rows := viewtest.Page("Keys", layout.SectionKeys, theme), sampleKeys()
	choices := []KeyFlow{{"flow_2", "Answer from the handbook"}, {"flow_1", "Route a support ticket"}}
	fresh := KeyForm{ID: "key_9", Scopes: []string{"run", "read"}, Choices: choices, More: 4800, Now: viewtest.Noon, Errors: components.Errors{}}
	wrong := KeyForm{
		ID: "key_9", Name: "Shop", Only: true, Choices: choices, Expiry: ExpiryDate, Date: "2020-01-01", RPM: "many", Now: viewtest.Noon,
		Errors: components.Errors{"scopes": "Choose at least one.", "flows": "Choose at least one, or let it call all.", "date": "This day is past. Choose a later one.", "rpm": "A whole number from 1 on. Leave it empty for no limit."},
	}
	existing := KeyForm{Name: "production", Only: true, Flows: []string{"flow_1"}, Choices: choices, Expiry: ExpiryKeep, RPM: "600", Existing: &rows[0].KeyFacts, Now: viewtest.Noon}
	made := &MadeKey{Text: "slu_8Zk1QmT4vB2nC6xY9aE3fH7jL0pR5sU1wR0aXyP7cD2", WebhookSecret: "whsec_c2VjcmV0", Key: rows[0], Done: "/keys"}
	rolled := &MadeKey{Text: made.Text, WebhookSecret: made.WebhookSecret, Key: rows[1], Rotated: true}
	mine := KeyForm{ID: "key_9", Name: "Route a support ticket", Scopes: fresh.Scopes, Within: "flow-", Now: viewtest.Noon}
	bad := mine
	bad.Name, bad.RPM, bad.Errors = "", "0", components.Errors{"name": "Say what the key is for.", "rpm": "A whole number from 1 on. Leave it empty for no limit."}
	return map[string]templ.Component{
		"keys":             Keys(in, KeysPage{Keys: rows, All: true, Active: 3, Ended: 2, MayEdit: true, Now: viewtest.Noon}),
		"keys-made":        Keys(in, KeysPage{Keys: rows[:1], Active: 1, Made: made, MayEdit: true, Now: viewtest.Noon}),
		"keys-viewer":      Keys(in, KeysPage{Keys: rows[:1], Active: 1, Now: viewtest.Noon}),
		"keys-none":        Keys(in, KeysPage{Ended: 2, MayEdit: true, Now: viewtest.Noon}),
		"keys-empty":       Keys(in, KeysPage{MayEdit: true, Now: viewtest.Noon}),
		"key-new":          NewKey(in, fresh),
		"key-errors":       NewKey(in, wrong),
		"key":              Key(in, KeyPage{Key: rows[0], Form: existing, MayEdit: true}),
		"key-rolled":       Key(in, KeyPage{Key: rows[1], Form: existing, Made: rolled, MayEdit: true}),
		"key-refused":      Key(in, KeyPage{Key: rows[2], Form: existing, Error: "Someone rotated this key meanwhile, so it has a newer secret. Nothing was changed.", MayEdit: true}),
		"key-revoked":      Key(in, KeyPage{Key: rows[3], MayEdit: true}),
		"key-viewer":       Key(in, KeyPage{Key: rows[0]}),
		"flow-keys":        FlowKeys(FlowKeysPanel{FlowID: "flow_1", Flow: "Route a support ticket", Keys: rows[:3], Form: mine, Made: made, MayEdit: true}),
		"flow-keys-errors": FlowKeys(FlowKeysPanel{FlowID: "flow_1", Flow: "Route a support ticket", Form: bad, MayEdit: true}),
		"flow-keys-viewer": FlowKeys(FlowKeysPanel{FlowID: "flow_1", Flow: "Route a support ticket", Keys: rows[:1]}),
		"flow-keys-page":   FlowKeysPage(in, FlowKeysPanel{FlowID: "flow_1", Flow: "Route a support ticket", Keys: rows[:2], Form: mine, More: 1990, MayEdit: true}),
		"flows-warnings":   Flows(viewtest.Page("Flows", layout.SectionFlows, theme), FlowsPage{Flows: sampleFlows(), Now: viewtest.Noon, MayEdit: true, Ending: []KeyWarning{{"key_3", "nightly import", viewtest.Noon.Add(5 * 24 * time.Hour)}}}),
	}
}

// sampleKeys are a key that lasts, one that was rolled, one that ends soon, and
// two that have ended.
func sampleKeys() []KeyRow {
	both := []string{"run", "read"}
	made := viewtest.Noon.Add(-20 * 24 * time.Hour)
	key := func(id, name, prefix string, change func(*KeyRow)) KeyRow {
		k := KeyRow{KeyFacts: KeyFacts{ID: id, Name: name, Prefix: prefix, Scopes: both, State: KeyActive, CreatedAt: made}, MadeBy: "Ada Kowalski", Now: viewtest.Noon}
		change(&k)
		if !k.ExpiresAt.IsZero() {
			k.RenewedExpiry = viewtest.Noon.Add(k.ExpiresAt.Sub(made))
		}
		return k
	}
	return []KeyRow{
		key("key_1", "production", "slu_8Zk1Qm", func(k *KeyRow) {
			k.FlowNames = []string{"Route a support ticket"}
			k.Limits, k.ExpiresAt, k.LastUsedAt, k.LastUsedIP, k.Uses = []string{"600 requests a minute"}, viewtest.Noon.Add(365*24*time.Hour), viewtest.Noon.Add(-4*time.Minute), "203.0.113.7", 12_318
		}),
		key("key_2", "staging", "slu_2bQ9Qe", func(k *KeyRow) {
			k.Overlaps, k.LastUsedAt, k.LastUsedIP, k.Uses = true, viewtest.Noon.Add(-2*time.Minute), "203.0.113.8", 318
			k.Previous = PreviousKey{Prefix: "slu_Ykg9p3", Until: viewtest.Noon.Add(23 * time.Hour), UsedAt: viewtest.Noon.Add(-2 * time.Minute), UsedIP: "203.0.113.8", Uses: 7}
		}),
		key("key_3", "nightly import", "slu_Mz02sn", func(k *KeyRow) {
			k.EndsSoon, k.Scopes, k.ExpiresAt, k.LastUsedAt, k.LastUsedIP, k.Uses = true, both[:1], viewtest.Noon.Add(5*24*time.Hour), viewtest.Noon.Add(-9*time.Hour), "2001:db8::7", 41
			k.FlowNames, k.MadeBy = []string{"Answer from the handbook", "Route a support ticket"}, "the command line"
		}),
		key("key_4", "old script", "slu_Ieetpl", func(k *KeyRow) {
			k.State, k.RevokedAt, k.MadeBy, k.Former = KeyRevoked, viewtest.Noon.Add(-time.Hour), "Lin Ma", true
		}),
		key("key_5", "trial", "slu_N0fFB7", func(k *KeyRow) { k.State, k.ExpiresAt = KeyExpired, viewtest.Noon.Add(-time.Hour) }),
	}
}
