package pages

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
)

// keyShown is a key's text in an answer.
var keyShown = regexp.MustCompile(`data-new-key>(slu_[0-9A-Za-z]{36})<`)

// newKey reads the text of the key that an answer shows.
func (a *answer) newKey() string {
	a.t.Helper()
	m := keyShown.FindStringSubmatch(a.body)
	if m == nil || !flow.ValidKeyText(m[1]) {
		a.t.Fatalf("no key is shown in %s", a.body)
	}
	return m[1]
}

// onlyKey is the one key of the default workspace.
func (h *house) onlyKey() *flow.Key {
	h.t.Helper()
	list, err := h.store.ListKeys(context.Background(), flow.DefaultWorkspace)
	if err != nil || len(list) != 1 {
		h.t.Fatalf("%d keys, %v", len(list), err)
	}
	return &list[0]
}

func TestFlowKeys(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(greet)
	editor := h.as(flow.MemberEditor).part()
	editor.get("/flows/"+id+"/keys").is(http.StatusOK).has(`id="flow-keys"`, "No key may call this flow yet").lacks("<html")
	a := editor.post("/flows/"+id+"/keys", url.Values{"name": {"staging"}, "scope": {"run", "read"}}).is(http.StatusOK).has("Copy this key now.", "this flow only")
	text := a.newKey()
	a.has("Webhook secret", "<code>whsec_")
	if !strings.Contains(a.header.Get("HX-Trigger"), `"key:made":{"text":"`+text+`"}`) {
		t.Errorf("HX-Trigger: %s", a.header.Get("HX-Trigger"))
	}
	k := h.onlyKey()
	if k.Name != "staging" || !k.Allows(id) || len(k.Flows) != 1 || k.Hash != flow.Hash([]byte(text)) {
		t.Errorf("the key is %+v", k)
	}
	editor.get("/flows/"+id+"/keys").has("staging", k.Prefix).lacks(text)
}

// madeBy makes a key over the form and gives its text.
func (b *browser) makeKey(change ...string) string {
	b.t.Helper()
	form := url.Values{"name": {"Website"}, "scope": {"run", "read"}, "reach": {"all"}, "expires": {"90"}, "rpm": {"600"}, "runs_per_day": {"1000"}, "usd_per_day": {"0.5"}}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return b.post("/keys", form).is(http.StatusOK).newKey()
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	b.get("/keys").is(http.StatusOK).has("No key yet", "/keys/new")
	b.get("/keys/new").is(http.StatusOK).has("What it may do", "Runs a day")
	a := b.post("/keys", url.Values{"name": {"Website"}, "scope": {"run", "run"}, "reach": {"all"}, "expires": {"90"}, "rpm": {"600"}, "runs_per_day": {"1,000"}, "usd_per_day": {"0.5"}, "concurrency": {"3"}})
	text := a.is(http.StatusOK).has("Copy this key now.").newKey()
	if a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control: %q", a.header.Get("Cache-Control"))
	}
	k := h.onlyKey()
	if want := "run · all flows · 600 requests a minute · 3 runs at once · 1000 runs a day · $0.5 a day · expires "; !strings.HasPrefix(k.Terms(), want) || k.Hash != flow.Hash([]byte(text)) {
		t.Errorf("the key is %s", k.Terms())
	}
	b.get("/keys").has("Website", k.Prefix, "active").lacks(text)

	page := "/keys/" + k.ID
	b.get(page).is(http.StatusOK).has("600", "As it is:", "Roll it").lacks(text)
	b.post(page, url.Values{"name": {"Shop"}, "reach": {"all"}, "expires": {"keep"}, "runs_per_day": {"5"}}).see(page)
	if k = h.onlyKey(); k.Name != "Shop" || k.RPM != 0 || k.RunsPerDay != 5 || k.ExpiresAt.IsZero() || !k.Has(flow.ScopeRun) {
		t.Errorf("changed, the key is %q %s", k.Name, k.Terms())
	}
	b.get(page).has("It holds from the next call on")

	second := b.post(page+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"1h"}}).is(http.StatusOK).has("works until").newKey()
	b.post(page+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"1h"}}).is(http.StatusUnprocessableEntity).has("rolled meanwhile").lacks("data-new-key")
	b.get(page).has("was replaced by", "Nobody has used it since").lacks(second)
	b.post(page+"/end", nil).see(page)
	b.get(page).lacks("was replaced by")
	b.post(page+"/revoke", nil).see("/keys")
	b.get("/keys").has("is revoked", "No key works at present")
	b.get("/keys?show=all").has("Shop", "revoked")
	b.get(page).is(http.StatusOK).has("Revoked on").lacks("Roll it")
	h.as(flow.MemberOwner).get("/settings/audit").has("created the key", "changed the key", "rolled the key", "revoked the key", "Shop", "1000 runs a day")
}

func TestKeys_refuses(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.flow(greet)
	b := h.as(flow.MemberEditor)
	for name, c := range map[string]struct {
		form url.Values
		says string
	}{
		"no name":        {url.Values{"scope": {"run"}}, "Say what the key is for."},
		"no scope":       {url.Values{"name": {"kept name"}}, "Choose at least one."},
		"no flow":        {url.Values{"name": {"kept name"}, "scope": {"run"}, "reach": {"only"}}, "Choose at least one, or let it call all."},
		"strange flow":   {url.Values{"name": {"kept name"}, "scope": {"run"}, "reach": {"only"}, "flow": {"flow_nothing"}}, "There is no flow"},
		"no flow at all": {url.Values{"name": {"kept name"}, "scope": {"run"}, "reach": {"only"}, "flow": {"'"}}, "There is no flow"},
		"hidden name":    {url.Values{"name": {"kept\u202ename"}, "scope": {"run"}}, "does not show (U+202E)"},
		"strange scope":  {url.Values{"name": {"kept name"}, "scope": {strings.Repeat("admin", 100)}}, "There is no scope"},
		"no decimal":     {url.Values{"name": {"kept name"}, "scope": {"run"}, "usd_per_day": {"0x1p4"}}, "An amount such as 5"},
		"no number":      {url.Values{"name": {"kept name"}, "scope": {"run"}, "rpm": {"many"}}, "A whole number"},
		"nothing a day":  {url.Values{"name": {"kept name"}, "scope": {"run"}, "usd_per_day": {"0"}}, "An amount such as 5"},
		"no day":         {url.Values{"name": {"kept name"}, "scope": {"run"}, "expires": {"date"}}, "Choose the last day"},
		"past":           {url.Values{"name": {"kept name"}, "scope": {"run"}, "expires": {"date"}, "date": {"2020-01-01"}}, "This day is past"},
		"strange time":   {url.Values{"name": {"kept name"}, "scope": {"run"}, "expires": {"-3"}}, "Choose one of these"},
	} {
		a := b.post("/keys", c.form)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, c.says) || !strings.Contains(a.body, c.form.Get("name")) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	b.post("/keys", url.Values{"name": {strings.Repeat("x", maxForm)}}).is(http.StatusRequestEntityTooLarge).has("larger than 1 MiB")
	all := b.post("/keys", url.Values{"rpm": {"many"}}).is(http.StatusUnprocessableEntity)
	all.has("Say what the key is for.", "Choose at least one.", "A whole number", `value="many"`)
	if list, err := h.store.ListKeys(t.Context(), flow.DefaultWorkspace); err != nil || len(list) > 0 {
		t.Errorf("%d keys, %v", len(list), err)
	}
	sent := url.Values{"key": {flow.NewIDs().New(flow.PrefixKey)}, "name": {"once"}, "scope": {"run"}}
	b.post("/keys", sent).is(http.StatusOK).newKey()
	b.post("/keys", sent).see("/keys/" + sent.Get("key"))
	h.onlyKey()
}

// TestKeys_of_others holds that another workspace's key is what is not there,
// and that viewers only look.
func TestKeys_of_others(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(greet)
	h.as(flow.MemberEditor).makeKey()
	k := h.onlyKey()
	stranger := h.fresh("stranger")
	for _, path := range []string{"/keys/" + k.ID, "/flows/" + id + "/keys"} {
		if a, none := stranger.get(path), stranger.get(strings.Replace(path, k.ID, "key_nothing", 1)); a.status != http.StatusNotFound || none.status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, a.status)
		}
	}
	for _, path := range []string{"/keys/" + k.ID, "/keys/" + k.ID + "/roll", "/keys/" + k.ID + "/end", "/keys/" + k.ID + "/revoke", "/flows/" + id + "/keys", "/flows/" + id + "/keys/" + k.ID + "/roll", "/flows/" + id + "/keys/" + k.ID + "/revoke"} {
		stranger.post(path, url.Values{"name": {"x"}, "prefix": {k.Prefix}}).is(http.StatusNotFound)
		h.as(flow.MemberViewer).post(path, url.Values{"name": {"x"}, "prefix": {k.Prefix}}).is(http.StatusForbidden)
	}
	stranger.post("/keys", url.Values{"key": {k.ID}, "name": {"mine"}, "scope": {"run"}}).is(http.StatusOK).lacks(k.ID).newKey() // the ID of the form is free to choose
	viewer := h.as(flow.MemberViewer)
	viewer.get("/keys").is(http.StatusOK).has("Website").lacks("New key")
	viewer.get("/keys/"+k.ID).is(http.StatusOK).has("600 requests a minute at most").lacks("<form class=\"body", "Revoke")
	viewer.get("/flows/"+id+"/keys").is(http.StatusOK).has("Website").lacks("New key", "Roll")
	viewer.get("/keys/new").is(http.StatusForbidden)
	if now := h.onlyKey(); now.Prefix != k.Prefix || !now.RevokedAt.IsZero() {
		t.Errorf("the key is %+v", now)
	}
}

// TestFlowKeys_without_script walks the pane's forms as plain pages.
func TestFlowKeys_without_script(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(greet)
	at := "/flows/" + id + "/keys"
	b := h.as(flow.MemberEditor)
	b.get(at).is(http.StatusOK).has("<html", `value="Greet"`)
	b.post(at, url.Values{"name": {""}, "scope": {"run"}}).is(http.StatusUnprocessableEntity).has("Say what the key is for.")
	text := b.post(at, url.Values{"name": {"Greet"}, "scope": {"run", "read"}}).is(http.StatusOK).has("<html", "I have copied it").newKey()
	k := h.onlyKey()
	b.get(at).has(`value="Greet 2"`, k.Prefix).lacks(text)
	b.post(at+"/"+k.ID+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"24h"}}).is(http.StatusOK).has("works until").newKey()
	b.post(at+"/"+k.ID+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"24h"}}).is(http.StatusUnprocessableEntity).has("rolled meanwhile")
	b.post(at+"/"+k.ID+"/end", nil).see(at)
	b.post(at+"/"+k.ID+"/revoke", nil).see(at)
	b.get(at).has("is revoked", "No key may call this flow yet")
	b.post("/flows/"+h.flow(greet)+"/keys/"+k.ID+"/revoke", nil).is(http.StatusNotFound) // not a key of that flow
}

// TestKeys_text_is_nowhere looks for the texts of keys in every page that could
// show them, in the log and in the files of the database.
func TestKeys_text_is_nowhere(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(greet)
	b := h.as(flow.MemberOwner)
	texts := []string{b.makeKey(), b.part().post("/flows/"+id+"/keys", url.Values{"name": {"two"}, "scope": {"run"}}).newKey()}
	keys, err := h.store.ListKeys(t.Context(), flow.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, b.post("/keys/"+keys[0].ID+"/roll", url.Values{"prefix": {keys[0].Prefix}, "overlap": {"1h"}}).newKey())
	places := map[string]string{"the log": h.log.String()}
	for _, path := range []string{"/keys", "/keys?show=all", "/keys/" + keys[0].ID, "/keys/" + keys[1].ID, "/flows", "/flows/" + id, "/flows/" + id + "/keys", "/usage", "/runs", "/settings/audit"} {
		a := b.get(path).is(http.StatusOK)
		var headers strings.Builder
		_ = a.header.Write(&headers)
		places[path] = a.body + headers.String()
	}
	for _, file := range h.databaseFiles() {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places[file] = string(content)
	}
	for where, said := range places {
		for _, text := range texts {
			if strings.Contains(said, text) {
				t.Errorf("%s has the text of a key", where)
			}
		}
	}
}

// databaseFiles are all files of the database, what is not yet checkpointed too.
func (h *house) databaseFiles() (files []string) {
	h.t.Helper()
	var seq int
	var name, file string
	if err := h.store.SQLite().QueryRow("PRAGMA database_list").Scan(&seq, &name, &file); err != nil {
		h.t.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		h.t.Fatalf("no database at %q: %v", file, err)
	}
	return files
}

// TestKeyWarnings warns owners of keys in use that expire within a week.
func TestKeyWarnings(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.flow(greet)
	owner := h.as(flow.MemberOwner)
	owner.makeKey("expires", "7")
	k := h.onlyKey()
	owner.get("/flows").lacks("is in use and expires")
	if err := h.store.TouchKeys(t.Context(), []flow.KeyUse{{KeyID: k.ID, At: h.server.Now(), IP: "::1", Count: 1}}); err != nil {
		t.Fatal(err)
	}
	owner.get("/flows").has("is in use and expires in 7 days", "/keys/"+k.ID)
	h.as(flow.MemberEditor).get("/flows").lacks("is in use and expires")
	owner.get("/keys").has("expires in 7 days")
	owner.post("/keys/"+k.ID, url.Values{"name": {"Website"}, "reach": {"all"}, "expires": {"90"}}).see("/keys/" + k.ID)
	owner.get("/flows").lacks("is in use and expires")
}
