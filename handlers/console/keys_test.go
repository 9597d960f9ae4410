package console_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/audit"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

func TestFlowKeys(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.PublishGreeting)
	editor := h.As(flow.MemberEditor).Fragment()
	editor.Get("/flows/"+id+"/keys").Is(http.StatusOK).Has(`id="flow-keys"`, "No key can call this flow yet").Lacks("<html")
	a := editor.Post("/flows/"+id+"/keys", url.Values{"name": {"staging"}, "scope": {"run", "read"}}).Is(http.StatusOK).Has("Copy this key now.", "this flow only")
	text := a.NewKey()
	a.Has("Webhook secret", "<code>whsec_")
	if !strings.Contains(a.Header.Get("HX-Trigger"), `"key:made":{"text":"`+text+`"}`) {
		t.Errorf("HX-Trigger: %s", a.Header.Get("HX-Trigger"))
	}
	k := onlyKey(h)
	if k.Name != "staging" || !k.Allows(flow.FlowID(id)) || len(k.Flows) != 1 || k.Hash != flow.Hash([]byte(text)) {
		t.Errorf("the key is %+v", k)
	}
	editor.Get("/flows/"+id+"/keys").Has("staging", k.Prefix).Lacks(text)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	b.Get("/keys").Is(http.StatusOK).Has("No keys yet", "/keys/new")
	b.Get("/keys/new").Is(http.StatusOK).Has("Permissions", "Runs per day")
	a := b.Post("/keys", url.Values{"name": {"Website"}, "scope": {"run", "run"}, "reach": {"all"}, "expires": {"90"}, "rpm": {"600"}, "runs_per_day": {"1,000"}, "usd_per_day": {"0.5"}, "concurrency": {"3"}})
	text := a.Is(http.StatusOK).Has("Copy this key now.").NewKey()
	if a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control: %q", a.Header.Get("Cache-Control"))
	}
	k := onlyKey(h)
	if want := "run · all flows · 600 requests a minute · 3 runs at once · 1000 runs a day · $0.5 a day · expires "; !strings.HasPrefix(audit.KeyTerms(k), want) || k.Hash != flow.Hash([]byte(text)) {
		t.Errorf("the key is %s", audit.KeyTerms(k))
	}
	b.Get("/keys").Has("Website", k.Prefix, "Active").Lacks(text)

	page := "/keys/" + k.ID
	b.Get(page).Is(http.StatusOK).Has("600", "As it is:", "Rotate key").Lacks(text)
	b.Post(page, url.Values{"name": {"Shop"}, "reach": {"all"}, "expires": {"keep"}, "runs_per_day": {"5"}}).RedirectsTo(page)
	if k = onlyKey(h); k.Name != "Shop" || k.RPM != 0 || k.RunsPerDay != 5 || k.ExpiresAt.IsZero() || !k.Has(flow.ScopeRun) {
		t.Errorf("changed, the key is %q %s", k.Name, audit.KeyTerms(k))
	}
	b.Get(page).Has("was saved")

	second := b.Post(page+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"1h"}}).Is(http.StatusOK).Has("works until").NewKey()
	b.Post(page+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"1h"}}).Is(http.StatusUnprocessableEntity).Has("rotated this key meanwhile").Lacks("data-new-key")
	b.Get(page).Has("was replaced by", "Not used since").Lacks(second)
	b.Post(page+"/end", nil).RedirectsTo(page)
	b.Get(page).Lacks("was replaced by")
	b.Post(page+"/revoke", nil).RedirectsTo("/keys")
	b.Get("/keys").Has("was revoked", "No active keys")
	b.Get("/keys?show=all").Has("Shop", "Revoked")
	b.Get(page).Is(http.StatusOK).Has("Revoked on").Lacks("Rotate key")
	h.As(flow.MemberOwner).Get("/settings/audit").Has("created the key", "changed the key", "rotated the key", "revoked the key", "Shop", "1000 runs a day")
}

func TestKeys_refuses(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	h.Flow(webtest.PublishGreeting)
	b := h.As(flow.MemberEditor)
	for name, c := range map[string]struct {
		form url.Values
		says string
	}{
		"no name":        {url.Values{"scope": {"run"}}, "Say what the key is for."},
		"no scope":       {url.Values{"name": {"kept name"}}, "Choose at least one."},
		"no flow":        {url.Values{"name": {"kept name"}, "scope": {"run"}, "reach": {"only"}}, "Choose at least one flow, or allow all."},
		"strange flow":   {url.Values{"name": {"kept name"}, "scope": {"run"}, "reach": {"only"}, "flow": {"flow_nothing"}}, "There is no flow"},
		"no flow at all": {url.Values{"name": {"kept name"}, "scope": {"run"}, "reach": {"only"}, "flow": {"'"}}, "There is no flow"},
		"hidden name":    {url.Values{"name": {"kept\u202ename"}, "scope": {"run"}}, "invisible character (U+202E)"},
		"strange scope":  {url.Values{"name": {"kept name"}, "scope": {strings.Repeat("admin", 100)}}, "There is no scope"},
		"no decimal":     {url.Values{"name": {"kept name"}, "scope": {"run"}, "usd_per_day": {"0x1p4"}}, "Enter an amount such as 5"},
		"no number":      {url.Values{"name": {"kept name"}, "scope": {"run"}, "rpm": {"many"}}, "Enter a whole number"},
		"nothing a day":  {url.Values{"name": {"kept name"}, "scope": {"run"}, "usd_per_day": {"0"}}, "Enter an amount such as 5"},
		"no day":         {url.Values{"name": {"kept name"}, "scope": {"run"}, "expires": {"date"}}, "Choose the last day"},
		"past":           {url.Values{"name": {"kept name"}, "scope": {"run"}, "expires": {"date"}, "date": {"2020-01-01"}}, "This day is in the past"},
		"strange time":   {url.Values{"name": {"kept name"}, "scope": {"run"}, "expires": {"-3"}}, "Choose one of the options"},
	} {
		a := b.Post("/keys", c.form)
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, c.says) || !strings.Contains(a.Body, c.form.Get("name")) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	b.Post("/keys", url.Values{"name": {strings.Repeat("x", web.MaxForm)}}).Is(http.StatusRequestEntityTooLarge).Has("larger than 1 MiB")
	all := b.Post("/keys", url.Values{"rpm": {"many"}}).Is(http.StatusUnprocessableEntity)
	all.Has("Say what the key is for.", "Choose at least one.", "Enter a whole number", `value="many"`)
	if list, err := h.Store.ListKeys(t.Context(), flow.DefaultWorkspace); err != nil || len(list) > 0 {
		t.Errorf("%d keys, %v", len(list), err)
	}
	sent := url.Values{"key": {flow.NewIDs().New(flow.PrefixKey)}, "name": {"once"}, "scope": {"run"}}
	b.Post("/keys", sent).Is(http.StatusOK).NewKey()
	b.Post("/keys", sent).RedirectsTo("/keys/" + sent.Get("key"))
	onlyKey(h)
}

// TestKeys_hides_other_workspaces checks that a key of another workspace is not found, and that
// keys are read-only for viewers.
func TestKeys_hides_other_workspaces(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.PublishGreeting)
	makeKey(h.As(flow.MemberEditor))
	k := onlyKey(h)
	stranger := h.NewUser("stranger")
	for _, path := range []string{"/keys/" + k.ID, "/flows/" + id + "/keys"} {
		if a, none := stranger.Get(path), stranger.Get(strings.Replace(path, k.ID, "key_nothing", 1)); a.Status != http.StatusNotFound || none.Status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, a.Status)
		}
	}
	for _, path := range []string{"/keys/" + k.ID, "/keys/" + k.ID + "/roll", "/keys/" + k.ID + "/end", "/keys/" + k.ID + "/revoke", "/flows/" + id + "/keys", "/flows/" + id + "/keys/" + k.ID + "/roll", "/flows/" + id + "/keys/" + k.ID + "/revoke"} {
		stranger.Post(path, url.Values{"name": {"x"}, "prefix": {k.Prefix}}).Is(http.StatusNotFound)
		h.As(flow.MemberViewer).Post(path, url.Values{"name": {"x"}, "prefix": {k.Prefix}}).Is(http.StatusForbidden)
	}
	stranger.Post("/keys", url.Values{"key": {k.ID}, "name": {"mine"}, "scope": {"run"}}).Is(http.StatusOK).Lacks(k.ID).NewKey() // the ID of the form is free to choose
	viewer := h.As(flow.MemberViewer)
	viewer.Get("/keys").Is(http.StatusOK).Has("Website").Lacks("New key")
	viewer.Get("/keys/"+k.ID).Is(http.StatusOK).Has("600 requests a minute at most").Lacks("<form class=\"body", "Revoke")
	viewer.Get("/flows/"+id+"/keys").Is(http.StatusOK).Has("Website").Lacks("New key", "Rotate")
	viewer.Get("/keys/new").Is(http.StatusForbidden)
	if now := onlyKey(h); now.Prefix != k.Prefix || !now.RevokedAt.IsZero() {
		t.Errorf("the key is %+v", now)
	}
}

// TestFlowKeys_without_script uses the forms of the pane as plain pages.
func TestFlowKeys_without_script(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.PublishGreeting)
	at := "/flows/" + id + "/keys"
	b := h.As(flow.MemberEditor)
	b.Get(at).Is(http.StatusOK).Has("<html", `value="Key 1"`)
	b.Post(at, url.Values{"name": {""}, "scope": {"run"}}).Is(http.StatusUnprocessableEntity).Has("Say what the key is for.")
	text := b.Post(at, url.Values{"name": {"Key 1"}, "scope": {"run", "read"}}).Is(http.StatusOK).Has("<html", "Done").NewKey()
	k := onlyKey(h)
	b.Get(at).Has(`value="Key 2"`, k.Prefix).Lacks(text)
	b.Post(at+"/"+k.ID+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"24h"}}).Is(http.StatusOK).Has("works until").NewKey()
	b.Post(at+"/"+k.ID+"/roll", url.Values{"prefix": {k.Prefix}, "overlap": {"24h"}}).Is(http.StatusUnprocessableEntity).Has("rotated this key meanwhile")
	b.Post(at+"/"+k.ID+"/end", nil).RedirectsTo(at)
	b.Post(at+"/"+k.ID+"/revoke", nil).RedirectsTo(at)
	b.Get(at).Has("was revoked", "No key can call this flow yet")
	b.Post("/flows/"+h.Flow(webtest.PublishGreeting)+"/keys/"+k.ID+"/revoke", nil).Is(http.StatusNotFound) // not a key of that flow
}

// TestKeys_stores_no_secret searches for the secrets of keys in every page that could show
// them, in the log and in the files of the database.
func TestKeys_stores_no_secret(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.PublishGreeting)
	b := h.As(flow.MemberOwner)
	texts := []string{makeKey(b), b.Fragment().Post("/flows/"+id+"/keys", url.Values{"name": {"two"}, "scope": {"run"}}).NewKey()}
	keys, err := h.Store.ListKeys(t.Context(), flow.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, b.Post("/keys/"+keys[0].ID+"/roll", url.Values{"prefix": {keys[0].Prefix}, "overlap": {"1h"}}).NewKey())
	places := map[string]string{"the log": h.Log.String()}
	for _, path := range []string{"/keys", "/keys?show=all", "/keys/" + keys[0].ID, "/keys/" + keys[1].ID, "/flows", "/flows/" + id, "/flows/" + id + "/keys", "/usage", "/runs", "/settings/audit"} {
		a := b.Get(path).Is(http.StatusOK)
		var headers strings.Builder
		_ = a.Header.Write(&headers)
		places[path] = a.Body + headers.String()
	}
	for _, file := range databaseFiles(h) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places[file] = string(content)
	}
	for where, said := range places {
		for _, text := range texts {
			if strings.Contains(said, text) {
				t.Errorf("%s has the secret of a key", where)
			}
		}
	}
}

// TestKeyWarnings warns owners of keys in use that expire within a week.
func TestKeyWarnings(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	h.Flow(webtest.PublishGreeting)
	owner := h.As(flow.MemberOwner)
	makeKey(owner, "expires", "7")
	k := onlyKey(h)
	owner.Get("/flows").Lacks("is in use and expires")
	if err := h.Store.TouchKeys(t.Context(), []flow.KeyUse{{KeyID: k.ID, At: h.Server.Site.Now(), IP: "::1", Count: 1}}); err != nil {
		t.Fatal(err)
	}
	owner.Get("/flows").Has("is in use and expires in 7 days", "/keys/"+k.ID)
	h.As(flow.MemberEditor).Get("/flows").Lacks("is in use and expires")
	owner.Get("/keys").Has("Expires in 7 days")
	owner.Post("/keys/"+k.ID, url.Values{"name": {"Website"}, "reach": {"all"}, "expires": {"90"}}).RedirectsTo("/keys/" + k.ID)
	owner.Get("/flows").Lacks("is in use and expires")
}
