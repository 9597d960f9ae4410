package webtest

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"

	"sluice/flow"
)

// keyShown is a key's text in an answer.
var keyShown = regexp.MustCompile(`data-new-key>(slu_[0-9A-Za-z]{36})<`)

// NewKey reads the text of the key that an answer shows.
func (a *Answer) NewKey() string {
	a.t.Helper()
	m := keyShown.FindStringSubmatch(a.Body)
	if m == nil || !flow.ValidKeyText(m[1]) {
		a.t.Fatalf("no key is shown in %s", a.Body)
	}
	return m[1]
}

// OnlyKey is the one key of the default workspace.
func (h *Env) OnlyKey() *flow.Key {
	h.T.Helper()
	list, err := h.Store.ListKeys(context.Background(), flow.DefaultWorkspace)
	if err != nil || len(list) != 1 {
		h.T.Fatalf("%d keys, %v", len(list), err)
	}
	return &list[0]
}

// madeBy makes a key over the form and gives its text.
func (b *Browser) MakeKey(change ...string) string {
	b.t.Helper()
	form := url.Values{"name": {"Website"}, "scope": {"run", "read"}, "reach": {"all"}, "expires": {"90"}, "rpm": {"600"}, "runs_per_day": {"1000"}, "usd_per_day": {"0.5"}}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return b.Post("/keys", form).Is(http.StatusOK).NewKey()
}

// DatabaseFiles are all files of the database, what is not yet checkpointed too.
func (h *Env) DatabaseFiles() (files []string) {
	h.T.Helper()
	var seq int
	var name, file string
	if err := h.Store.SQLite().QueryRow("PRAGMA database_list").Scan(&seq, &name, &file); err != nil {
		h.T.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		h.T.Fatalf("no database at %q: %v", file, err)
	}
	return files
}
