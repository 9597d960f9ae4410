package admin_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/audit"
	"sluice/handlers/webtest"
)

// attack is a sequence of random requests of somebody who knows the secret of one key and
// learns those that responses show.
type attack struct {
	*env
	r       *rand.Rand
	first   flow.Key // as it was at the beginning
	known   []string // secrets
	ids     []string // of keys that requests name
	others  []flow.Key
	flows   []string
	secrets int // sent in credentials
}

func (a *attack) one(list ...string) string { return list[a.r.IntN(len(list))] }

// rights returns random scopes, flows, expiry and limits. Everything is as often missing.
func (a *attack) rights() flow.Key {
	some := func(n int64) int64 { return n * int64(a.r.IntN(2)) }
	k := flow.Key{RPM: some(100_000 + int64(a.r.IntN(3))), Concurrency: some(int64(1 + a.r.IntN(3))), RunsPerDay: some(int64(1 + a.r.IntN(3))), USDPerDay: flow.NanoUSD(some(int64(1+a.r.IntN(3)) * 1e9)), AllowUnpriced: a.r.IntN(2) == 0}
	for _, s := range flow.Scopes {
		if a.r.IntN(2) == 0 {
			k.Scopes = append(k.Scopes, s)
		}
	}
	if len(k.Scopes) == 0 {
		k.Scopes = []flow.Scope{flow.ScopeRun}
	}
	if a.r.IntN(2) == 0 {
		k.Flows = slices.Clone(a.flows[:1+a.r.IntN(len(a.flows))])
	}
	if a.r.IntN(2) == 0 {
		k.ExpiresAt = time.Now().Add(time.Duration(1+a.r.IntN(3)) * time.Hour).UTC().Truncate(time.Second)
	}
	return k
}

// within returns random rights that the first key has too.
func (a *attack) within() flow.Key {
	k := a.rights()
	if k.Scopes = slices.DeleteFunc(k.Scopes, func(s flow.Scope) bool { return !a.first.Has(s) }); len(k.Scopes) == 0 {
		k.Scopes = a.first.Scopes[:1]
	}
	if len(a.first.Flows) > 0 {
		k.Flows = a.first.Flows[:1]
	}
	if x := a.first.ExpiresAt; !x.IsZero() {
		k.ExpiresAt = x.Add(-time.Minute)
	}
	limit := func(most, n int64) int64 {
		if most > 0 && (n == 0 || n > most) {
			return 1
		}
		return n
	}
	k.RPM, k.Concurrency = limit(a.first.RPM, k.RPM), limit(a.first.Concurrency, k.Concurrency)
	k.RunsPerDay, k.USDPerDay = limit(a.first.RunsPerDay, k.RunsPerDay), flow.NanoUSD(limit(int64(a.first.USDPerDay), int64(k.USDPerDay)))
	k.AllowUnpriced = k.AllowUnpriced && (a.first.USDPerDay == 0 || a.first.AllowUnpriced)
	return k
}

// body returns a random body of a request that creates or changes a key.
func (a *attack) body() string {
	k := a.rights()
	number := func(n int64) string { return a.one(fmt.Sprint(max(n, 1)), "null") }
	members := []string{
		`"rpm": ` + number(k.RPM), `"concurrency": ` + number(k.Concurrency), `"runs_per_day": ` + number(k.RunsPerDay), `"usd_per_day": ` + number(int64(k.USDPerDay/1e9)),
		`"allow_unpriced": ` + a.one("true", "false"), `"flows": ` + strings.ReplaceAll(fmt.Sprintf("%q", k.Flows), " ", ", "),
		`"expires_at": ` + a.one("null", `"`+time.Now().Add(time.Duration(1+a.r.IntN(4))*time.Hour).UTC().Format(time.RFC3339)+`"`),
	}
	sent := []string{`"name": "k"`}
	for _, m := range members {
		if a.r.IntN(4) == 0 {
			sent = append(sent, m)
		}
	}
	return strings.Join(sent, ", ")
}

// step sends one request and returns what it was.
func (a *attack) step() (what string, got *reply) {
	caller, id := a.one(a.known...), a.one(a.ids...)
	path := "/v1/keys/" + id
	method, body := "GET", ""
	switch a.r.IntN(10) {
	case 0, 1, 2:
		scopes := fmt.Sprintf("%q", a.rights().Scopes)
		method, path, body = "POST", "/v1/keys", "{"+a.body()+`, "scopes": `+strings.ReplaceAll(a.one(scopes, `["admin" "run" "read"]`, `["admin"]`), " ", ", ")+"}"
	case 3, 4:
		method, body = "PATCH", "{"+a.body()+"}"
	case 5, 6:
		method, path, body = "POST", path+"/rotate", fmt.Sprintf(`{"overlap_s": %d}`, a.r.IntN(2)*3600)
	case 7:
		if a.r.IntN(3) == 0 {
			method, path = "DELETE", path+"?cascade="+a.one("true", "false")
		}
	case 8:
		a.secrets++
		method, path, body = "PUT", "/v1/credentials/"+a.one("a", "b"), fmt.Sprintf(`{"secret": "sk-n%d-secret", "hosts": ["h.example.com"]}`, a.secrets)
	case 9:
		path = a.one("/v1/keys", "/v1/webhook-secret", "/v1/credentials/a", "/v1/usage?by=key")
	}
	return method + " " + path + " " + body, a.send(caller, method, path, body)
}

var keyText = regexp.MustCompile(`slu_[0-9A-Za-z]{36}`)

// learn adds the key that a response shows. No other secret may be in one.
func (a *attack) learn(what string, got *reply) {
	a.T.Helper()
	shown := keyText.FindAllString(got.raw, -1)
	created := got.status < 300 && strings.HasPrefix(what, "POST /v1/keys")
	if got.status >= 500 || strings.Contains(got.raw, "-secret\"") && strings.Contains(got.raw, "sk-n") || !created && len(shown) > 0 {
		a.T.Fatalf("%s: %d %s", what, got.status, got.raw)
	}
	if strings.Contains(got.raw, "whsec_") && (got.status != 201 && !strings.Contains(what, "/v1/webhook-secret")) {
		a.T.Fatalf("%s shows the webhook secret of a key: %s", what, got.raw)
	}
	if created {
		a.known = append(a.known, got.secret())
		if !slices.Contains(a.ids, got.id()) {
			a.ids = append(a.ids, got.id())
		}
	}
}

// fault returns what a key may that the first one may not; "" if there is nothing. It is
// written apart from the rules that it checks.
func (a *attack) fault(k *flow.Key) string {
	x := &a.first
	for _, s := range k.Scopes {
		if !slices.Contains(x.Scopes, s) {
			return "the scope " + string(s)
		}
	}
	for _, id := range a.flows {
		reaches := len(k.Flows) == 0 || slices.Contains(k.Flows, id)
		if reaches && len(x.Flows) > 0 && !slices.Contains(x.Flows, id) {
			return "another flow"
		}
	}
	if len(x.Flows) > 0 && len(k.Flows) == 0 {
		return "all flows"
	}
	if !x.ExpiresAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(x.ExpiresAt)) {
		return "a longer life"
	}
	higher := func(least, n int64) bool { return least > 0 && (n == 0 || n > least) }
	if higher(x.RPM, k.RPM) || higher(x.Concurrency, k.Concurrency) || higher(x.RunsPerDay, k.RunsPerDay) || higher(int64(x.USDPerDay), int64(k.USDPerDay)) {
		return "a higher limit"
	}
	if x.USDPerDay > 0 && !x.AllowUnpriced && k.AllowUnpriced {
		return "models without a price"
	}
	return ""
}

// check looks at every key that the attacker holds and at those of others.
func (a *attack) check(what string) {
	a.T.Helper()
	ctx := a.T.Context()
	tree, err := a.Store.ListKeyTree(ctx, a.first.WorkspaceID, a.first.ID)
	if err != nil {
		a.T.Fatal(err)
	}
	bounded := a.first.RPM+a.first.Concurrency+a.first.RunsPerDay+int64(a.first.USDPerDay) > 0
	for _, text := range a.known {
		k, err := a.Store.FindKeyByHash(ctx, flow.Hash([]byte(text)))
		if err != nil {
			continue // replaced by a rotation
		}
		if fault := a.fault(k); fault != "" {
			a.T.Fatalf("after %s: a key has %s: %s, of %s", what, fault, audit.KeyTerms(k), audit.KeyTerms(&a.first))
		}
		own := slices.Contains(tree, k.ID)
		if bounded && !own {
			a.T.Fatalf("after %s: what %s uses does not count against the limits of %s", what, k.ID, a.first.ID)
		}
		if !own && k.Has(flow.ScopeRun) && !a.first.Has(flow.ScopeRead) {
			a.T.Fatalf("after %s: a key of somebody else shows runs", what)
		}
	}
	for i := range a.others {
		old := &a.others[i]
		k, err := a.Store.FindKey(ctx, old.WorkspaceID, old.ID)
		if err != nil {
			a.T.Fatal(err)
		}
		changed := k.Name != old.Name || audit.KeyTerms(k) != audit.KeyTerms(old) || k.Hash != old.Hash || !k.RevokedAt.Equal(old.RevokedAt)
		if changed && a.fault(old) != "" {
			a.T.Fatalf("after %s: the key with %s was changed: %s from %s", what, a.fault(old), audit.KeyTerms(k), audit.KeyTerms(old))
		}
		if changed && a.fault(k) != "" {
			a.T.Fatalf("after %s: the key of somebody else has %s", what, a.fault(k))
		}
		loosened := func(was, is int64) bool { return was > 0 && (is == 0 || is > was) }
		if bounded && (loosened(old.RPM, k.RPM) || loosened(old.Concurrency, k.Concurrency) || loosened(old.RunsPerDay, k.RunsPerDay) || loosened(int64(old.USDPerDay), int64(k.USDPerDay))) {
			a.T.Fatalf("after %s: the limits of a key of somebody else are higher than before", what)
		}
	}
	for _, name := range []string{"a", "b"} {
		if _, secret, err := a.Store.OpenCredential(ctx, a.first.WorkspaceID, name); err == nil && (len(a.first.Flows) > 0 || !strings.HasPrefix(secret, "sk-n")) {
			a.T.Fatalf("after %s: the credential %s was set", what, name)
		}
	}
}

// TestKeys_random_changes_gain_no_rights sends random sequences of creations, changes, rotations, revocations
// and credentials, with every secret that responses show. None of them gives more than
// the first key had, shows a secret, or touches keys beyond it.
func TestKeys_random_changes_gain_no_rights(t *testing.T) {
	t.Parallel()
	accepted := map[string]int{}
	for seed := range uint64(12) {
		e := setup(t)
		a := &attack{env: e, r: rand.New(rand.NewPCG(seed, 5))}
		for range 3 {
			a.flows = append(a.flows, e.PublishedFlow(webtest.Greeting))
		}
		first := a.rights()
		if seed%3 == 0 { // then rotating the key of somebody else shows its runs, at most
			first = flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}
		}
		if !first.Has(flow.ScopeAdmin) {
			first.Scopes = append(first.Scopes, flow.ScopeAdmin)
		}
		k, text := e.key(first)
		a.first, a.known, a.ids = *k, []string{text}, []string{k.ID}
		for i := range 8 {
			rights := a.rights()
			if i%2 == 0 {
				rights = a.within()
			}
			k, _ := e.key(rights)
			a.others, a.ids = append(a.others, *k), append(a.ids, k.ID)
		}
		for range 120 {
			what, got := a.step()
			a.learn(what, got)
			if got.status < 300 {
				accepted[strings.Fields(what)[0]]++
			}
			a.check(what)
		}
	}
	for method, least := range map[string]int{"POST": 60, "PATCH": 20, "DELETE": 5, "PUT": 5, "GET": 50} {
		if accepted[method] < least {
			t.Errorf("only %d %s requests were accepted, so little was tested: %v", accepted[method], method, accepted)
		}
	}
}
