package webtest

import (
	"context"
	"regexp"

	"sluice/flow"
)

// Found makes a workspace that somebody owns.
func (h *Env) Found(name string, owner *flow.User) string {
	h.T.Helper()
	w := &flow.Workspace{Name: name}
	if err := h.Store.FoundWorkspace(context.Background(), w, owner.ID); err != nil {
		h.T.Fatal(err)
	}
	return w.ID
}

// Link is the one that a page shows once, without the host.
func (h *Env) Link(a *Answer) string {
	h.T.Helper()
	found := regexp.MustCompile(`<code>http://[^/]+(/[^<]+)</code>`).FindStringSubmatch(a.Body)
	if found == nil {
		h.T.Fatalf("there is no link in: %s", a.Body)
	}
	return found[1]
}

// Logged are the actions in a workspace's audit log, newest first.
func (h *Env) Logged(ws string) (actions []string) {
	h.T.Helper()
	list, err := h.Store.ListAudit(context.Background(), ws, "", 100)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, e := range list {
		actions = append(actions, e.Action)
	}
	return actions
}
