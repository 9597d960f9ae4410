package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// keyNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document.
var keyNames = map[reflect.Type]string{
	reflect.TypeFor[keyObject]():      "Key",
	reflect.TypeFor[createdKey]():     "CreatedKey",
	reflect.TypeFor[rotatedKey]():     "RotatedKey",
	reflect.TypeFor[previousSecret](): "PreviousKeySecret",
	reflect.TypeFor[keyList]():        "KeyList",
}

// keyParams are the parameters that routes name in their Params.
var keyParams = map[string]map[string]any{
	"key_id":  {"name": "key_id", "in": "path", "required": true, "schema": map[string]any{"type": "string"}},
	"cascade": queryParam("cascade", "Also revokes the keys that this key made, directly or through others.", map[string]any{"type": "boolean", "default": false}),
}

// keyRoutes returns the routes of keys. A key with the scope admin manages other keys, but only
// within its own rights: no key can create one with more rights than it has.
func (s *Server) keyRoutes() api.Extension {
	const path, tag = "/v1/keys", "Keys"
	const within = "The key in the request manages only keys within its own rights: their scopes and flows are among its own, they expire no later, and their limits are not higher."
	body := []flow.Code{flow.CodeStorageFull, flow.CodeExceedsKey}
	return api.Extension{Names: keyNames, Params: keyParams, Routes: []api.Route{{
		Method: get, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.listKeys,
		Role: flow.MemberViewer, Commands: []string{"key list", "key revoke"},
		Doc: openapi.Operation{ID: "listKeys", Tag: tag, Summary: "List keys, newest first",
			Text:   "Without their secrets, and revoked ones too. A key with a list of flows gets only keys for these flows.",
			Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("One page of keys.", keyList{})},
	}, {
		Method: http.MethodPost, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.createKey,
		Role: flow.MemberEditor, Audit: []string{"key.create"}, Commands: []string{"key create"},
		Doc: openapi.Operation{ID: "createKey", Tag: tag, Summary: "Create a key",
			Text: within + " What is left out is as in that key, except for the scopes, which are run and read. What the new key uses counts against the limits of the key that made it, too.",
			Body: createKeyBody.Doc(), Problems: append([]flow.Code{flow.CodeQuotaExceeded}, body...),
			Answers: openapi.Created("The key with its secret, which no other response contains.", createdKey{})},
	}, {
		Method: get, Path: path + "/:key_id", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.showKey,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "showKey", Tag: tag, Summary: "Show a key, without its secret", Problems: []flow.Code{flow.CodeExceedsKey},
			Answers: openapi.OK("The key.", keyObject{})},
	}, {
		Method: get, Path: path + "/:key_id/webhook-secret", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.showKeySecret,
		Audit: []string{"key.secret.read"}, Commands: []string{"key secret"},
		Doc: openapi.Operation{ID: "showSecretOfKey", Tag: tag, Summary: "Read the webhook secret of a key",
			Text:     "Only of the key in the request and of keys that it made, directly or through others. Reading it is recorded in the audit log.",
			Problems: []flow.Code{flow.CodeExceedsKey, flow.CodeStorageFull},
			Answers:  openapi.OK("The secret that signs the webhooks which requests with this key ask for.", api.KeySecret{})},
	}, {
		Method: http.MethodPatch, Path: path + "/:key_id", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.changeKey,
		Role: flow.MemberEditor, Audit: []string{"key.change"}, Limited: "may not loosen keys that it did not make",
		Doc: openapi.Operation{ID: "changeKey", Tag: tag, Summary: "Change the name, flows, expiry or limits of a key",
			Text: "What is left out stays. Scopes never change. " + within + " That holds before and after the change. A key with limits may not loosen keys that it did not make.",
			Body: changeKeyBody.Doc(), Problems: body,
			Answers: openapi.OK("The key after the change.", keyObject{})},
	}, {
		Method: http.MethodPost, Path: path + "/:key_id/rotate", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.rotateKey,
		Role: flow.MemberEditor, Audit: []string{"key.roll"}, Commands: []string{"key rotate"}, Limited: "only itself and keys that it made",
		Doc: openapi.Operation{ID: "rotateKey", Tag: tag, Summary: "Rotate a key",
			Text: "Issues a new secret; the old one keeps working for overlap_s seconds. A key with an expiry gets a new term of the same length, at most that of the key in the request. " + within + " A key with limits, or without the scope read, rotates only itself and keys that it made.",
			Body: rotateKeyBody.Doc(), Problems: body,
			Answers: openapi.OK("The key with its new secret, which no other response contains.", rotatedKey{})},
	}, {
		Method: http.MethodDelete, Path: path + "/:key_id", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.revokeKey,
		Role: flow.MemberEditor, Audit: []string{"key.revoke"}, Commands: []string{"key revoke"},
		Doc: openapi.Operation{ID: "revokeKey", Tag: tag, Summary: "Revoke a key",
			Text:   "It stops working immediately; runs that it started continue. The keys that it made keep working unless cascade is true. Revoking a key again changes nothing.",
			Params: []string{"cascade"}, Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeStorageFull, flow.CodeExceedsKey},
			Answers: openapi.NoContent("Revoked.")},
	}}}
}

// keyObject is the JSON of a key, without its secret.
type keyObject struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Prefix        string          `json:"prefix" doc:"The first characters of the secret."`
	Scopes        []flow.Scope    `json:"scopes"`
	Flows         []string        `json:"flows" doc:"IDs of the flows that it may call; empty for all, including future ones."`
	State         flow.KeyState   `json:"state" doc:"active, expired or revoked."`
	RPM           *int64          `json:"rpm" doc:"Requests per minute; null for no limit, as in the other limits."`
	Concurrency   *int64          `json:"concurrency" doc:"Runs at once."`
	RunsPerDay    *int64          `json:"runs_per_day"`
	USDPerDay     *json.Number    `json:"usd_per_day"`
	AllowUnpriced bool            `json:"allow_unpriced" doc:"With a limit in dollars: whether models without a price may be used."`
	CreatedAt     api.Time        `json:"created_at"`
	CreatedBy     string          `json:"created_by" doc:"ID of the person or of the key that made it, or cli for the command line."`
	ExpiresAt     api.Time        `json:"expires_at" doc:"Null if it never expires."`
	RevokedAt     api.Time        `json:"revoked_at"`
	RotatedAt     api.Time        `json:"rotated_at"`
	LastUsedAt    api.Time        `json:"last_used_at"`
	LastUsedIP    string          `json:"last_used_ip"`
	Calls         int64           `json:"calls"`
	Previous      *previousSecret `json:"previous" doc:"The secret before the last rotation while it still works, else null."`
}

// previousSecret is the secret that a key had before its rotation.
type previousSecret struct {
	Prefix     string   `json:"prefix"`
	Until      api.Time `json:"until"`
	LastUsedAt api.Time `json:"last_used_at" doc:"Since the rotation."`
	LastUsedIP string   `json:"last_used_ip"`
	Calls      int64    `json:"calls" doc:"Since the rotation."`
}

// createdKey is the only JSON with the secret of a new key.
type createdKey struct {
	keyObject
	Key           string `json:"key" doc:"The secret, shown once."`
	WebhookSecret string `json:"webhook_secret" doc:"Signs the webhooks that requests with this key ask for. GET /v1/webhook-secret returns it again."`
}

// rotatedKey is the only JSON with the new secret of a key.
type rotatedKey struct {
	keyObject
	Key string `json:"key" doc:"The new secret, shown once."`
}

// keyList is one page of keys.
type keyList struct {
	Keys       []keyObject `json:"keys"`
	NextCursor *string     `json:"next_cursor"`
}

// newKeyObject returns the JSON of a key at the given time. An unset limit is 0 in the store and
// null in JSON. The previous secret is included only while it still works.
func newKeyObject(k *flow.Key, now time.Time) keyObject {
	o := keyObject{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: append([]flow.Scope{}, k.Scopes...), Flows: append([]string{}, k.Flows...), State: k.State(now),
		RPM: orNull(k.RPM), Concurrency: orNull(k.Concurrency), RunsPerDay: orNull(k.RunsPerDay), AllowUnpriced: k.AllowUnpriced,
		CreatedAt: api.Time(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: api.Time(k.ExpiresAt), RevokedAt: api.Time(k.RevokedAt), RotatedAt: api.Time(k.RotatedAt),
		LastUsedAt: api.Time(k.LastUsedAt), LastUsedIP: k.LastUsedIP, Calls: k.Uses,
	}
	if k.USDPerDay > 0 {
		usd := json.Number(k.USDPerDay.String())
		o.USDPerDay = &usd
	}
	if k.Overlaps(now) {
		p := &k.Previous
		o.Previous = &previousSecret{p.Prefix, api.Time(p.Until), api.Time(p.UsedAt), p.UsedIP, p.Uses}
	}
	return o
}

// orNull returns nil, which is null in JSON, for a zero value such as 0, which is "no limit" in the store.
func orNull[T comparable](n T) *T {
	var zero T
	if n == zero {
		return nil
	}
	return &n
}

// keyring manages keys with the rights of the key in the request. The operator may manage all.
func (s *Server) keyring(c *api.Call) *library.Keyring {
	ring := &library.Keyring{Store: s.Store, IDs: s.IDs, Now: s.now}
	if !c.Operator() {
		ring.Caller = c.Key
	}
	return ring
}

// listKeys is GET keys.
func (s *Server) listKeys(c *api.Call) error {
	before, limit, err := c.QueryPage(flow.PrefixKey)
	if err != nil {
		return err
	}
	var keys []flow.Key
	for more := true; more && len(keys) <= limit; {
		page, err := s.Store.ListKeysBefore(c.Request().Context(), c.Key.WorkspaceID, before, limit+1)
		if err != nil {
			return err
		}
		for i := range page {
			if before = page[i].ID; library.Sees(c.Key, &page[i]) {
				keys = append(keys, page[i])
			}
		}
		more = len(page) > limit
	}
	keys = keys[:min(len(keys), limit+1)]
	keys, next := api.Page(keys, limit, func(k *flow.Key) string { return k.ID })
	list := keyList{Keys: []keyObject{}, NextCursor: next}
	for i := range keys {
		list.Keys = append(list.Keys, newKeyObject(&keys[i], s.now()))
	}
	return c.WriteJSON(http.StatusOK, list)
}

// showKey is GET keys/key.
func (s *Server) showKey(c *api.Call) error {
	k, err := s.keyring(c).Find(c.Request().Context(), c.Key.WorkspaceID, c.Param("key_id"))
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, newKeyObject(k, s.now()))
}

// showKeySecret is GET keys/key/webhook-secret. A key reads only its own secret and those of
// keys that it made. The audit entry is written before the secret is sent.
func (s *Server) showKeySecret(c *api.Call) error {
	ring, ctx := s.keyring(c), c.Request().Context()
	k, err := ring.Find(ctx, c.Key.WorkspaceID, c.Param("key_id"))
	if err != nil {
		return err
	}
	if err := ring.MayReadSecret(ctx, k); err != nil {
		return err
	}
	secret, err := s.secrets.ReadOfKey(ctx, c.Actor(), k)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, api.KeySecret{Secret: secret})
}

// createKey is POST keys.
func (s *Server) createKey(c *api.Call) error {
	k := &flow.Key{
		WorkspaceID: c.Key.WorkspaceID, Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}, Flows: c.Key.Flows, ExpiresAt: c.Key.ExpiresAt,
		RPM: c.Key.RPM, Concurrency: c.Key.Concurrency, RunsPerDay: c.Key.RunsPerDay, USDPerDay: c.Key.USDPerDay, AllowUnpriced: c.Key.AllowUnpriced,
	}
	settings, err := createKeyBody.ReadFrom(c)
	if err != nil {
		return err
	}
	settings(k)
	text, err := s.keyring(c).Create(c.Request().Context(), c.Actor(), k)
	if err != nil {
		return keyError(err)
	}
	secret, err := s.Store.KeyWebhookSecret(c.Request().Context(), k.WorkspaceID, k.ID)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusCreated, createdKey{newKeyObject(k, s.now()), text, secret})
}

// changeKey is PATCH keys/key.
func (s *Server) changeKey(c *api.Call) error {
	settings, err := changeKeyBody.ReadFrom(c)
	if err != nil {
		return err
	}
	k, err := s.keyring(c).Change(c.Request().Context(), c.Actor(), c.Key.WorkspaceID, c.Param("key_id"), settings)
	if err != nil {
		return keyError(err)
	}
	return c.WriteJSON(http.StatusOK, newKeyObject(k, s.now()))
}

// rotateKey is POST keys/key/rotate.
func (s *Server) rotateKey(c *api.Call) error {
	overlap, err := readOverlap(c, &rotateKeyBody)
	if err != nil {
		return err
	}
	ring, ctx := s.keyring(c), c.Request().Context()
	k, err := ring.Find(ctx, c.Key.WorkspaceID, c.Param("key_id"))
	if err != nil {
		return keyError(err)
	}
	k, text, err := ring.Rotate(ctx, c.Actor(), k.WorkspaceID, k.ID, k.Prefix, overlap)
	if err != nil {
		return keyError(err)
	}
	return c.WriteJSON(http.StatusOK, rotatedKey{newKeyObject(k, s.now()), text})
}

// revokeKey is DELETE keys/key.
func (s *Server) revokeKey(c *api.Call) error {
	cascade, err := api.QueryBool(c, "cascade")
	if err != nil {
		return err
	}
	if _, _, err := s.keyring(c).Revoke(c.Request().Context(), c.Actor(), c.Key.WorkspaceID, c.Param("key_id"), cascade); err != nil {
		return keyError(err)
	}
	return c.NoContent(http.StatusNoContent)
}
