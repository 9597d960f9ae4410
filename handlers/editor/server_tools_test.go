package editor_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// desk returns a flow with an agent and the tools get_ticket, add_note, which has changed, and merge, which the server
// does not have any more.
func desk(t *testing.T, secret string) (*webtest.Env, string) {
	t.Helper()
	h := webtest.Setup(t)
	err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "desk", Provider: "mcp", BaseURL: "https://desk.example.com/mcp"}, secret)
	if err != nil {
		t.Fatal(err)
	}
	stored := webtest.ServerTools()
	stored[1].Description = "Adds an internal note to a ticket."
	stored[1].SHA256 = stored[1].Hash()
	gone := flow.ServerTool{Name: "merge", Description: "Merges\u200b tickets.", Schema: stored[0].Schema, Effect: flow.EffectWrite}
	tools := flow.EncodeJSON([]any{stored[0].Value(), stored[1].Value(), gone.Value()})
	return h, h.Flow(`{"schema": "sluice.flow/v1", "name": "Desk", "edges": [{"from": "desk.tool", "to": "agent.tools"}], "nodes": [
		{"id": "agent", "kind": "agent", "config": {"model": "openai/x", "prompt": "Help."}},
		{"id": "desk", "kind": "mcp", "tool": {}, "config": {"credential": {"credential": "desk"}, "tools": ` + string(tools) + `}}]}`)
}

// names lists the stored tools with their effects.
func names(h *webtest.Env, id string) string {
	list, _ := flow.ServerTools(h.Draft(id).Node("desk").Config["tools"])
	var parts []string
	for i := range list {
		parts = append(parts, list[i].Name+" "+string(list[i].Effect)+" "+list[i].Description)
	}
	return strings.Join(parts, "; ")
}

func TestServerTools(t *testing.T) {
	t.Parallel()
	h, id := desk(t, "sk-right")
	b, path := h.As(flow.MemberEditor), "/flows/"+id+"/node/desk/tools"
	b.Get("/flows/"+id+"/node/desk").Is(http.StatusOK).Has(path, "Check tools", "<code>add_note</code>")
	b.Get(path).Is(http.StatusOK).Has("Tools of desk", "Help desk", "delete_ticket", "Changed on the server", "<del>an internal</del><ins>a</ins>", "Not on the server any more", "Merges⟨U+200B⟩ tickets.", "3 of 4 tools", "2 off until accepted")
	listed := webtest.ServerTools()
	seen := url.Values{}
	for i := range listed {
		seen.Set("sha256."+listed[i].Name, listed[i].SHA256)
	}
	form := func(pairs ...string) url.Values {
		v := url.Values{}
		for name := range seen {
			v[name] = seen[name]
		}
		for i := 0; i < len(pairs); i += 2 {
			v.Add(pairs[i], pairs[i+1])
		}
		return v
	}
	t.Run("keeps changed tools until they are accepted", func(t *testing.T) {
		b.Post(path, form("tool", "get_ticket", "change.add_note", "keep", "change.merge", "keep")).RedirectsTo("/flows/" + id + "?node=desk")
		if got := names(h, id); got != "get_ticket read Reads a ticket.; add_note write Adds an internal note to a ticket.; merge write Merges\u200b tickets." {
			t.Errorf("stored %s", got)
		}
	})
	t.Run("stores what was seen", func(t *testing.T) {
		changed := form("change.add_note", "accept")
		changed.Set("sha256.add_note", strings.Repeat("0", 64))
		b.Post(path, changed).RedirectsTo(path)
		added := form("tool", "delete_ticket")
		added.Del("sha256.delete_ticket")
		b.Post(path, added).RedirectsTo(path)
		if got := names(h, id); !strings.HasPrefix(got, "get_ticket") || strings.Contains(got, "public") || strings.Contains(got, "delete") {
			t.Errorf("stored %s", got)
		}
	})
	t.Run("accepts, adds and removes", func(t *testing.T) {
		b.Post(path, form("change.add_note", "accept", "change.merge", "off", "tool", "delete_ticket", "effect.delete_ticket", "read", "effect.add_note", "write")).RedirectsTo("/flows/" + id + "?node=desk")
		if got := names(h, id); got != "add_note write Adds a note, public by default, to a ticket.; delete_ticket read Deletes a ticket." {
			t.Errorf("stored %s", got)
		}
		if problems := h.Draft(id); problems == nil {
			t.Error("no draft")
		}
	})
	t.Run("is for editors, and for nodes with a server", func(t *testing.T) {
		h.As(flow.MemberViewer).Get(path).Is(http.StatusForbidden)
		b.Get("/flows/" + id + "/node/agent/tools").Is(http.StatusNotFound)
	})
}

// TestServerTools_without_an_answer shows what is stored, and saves nothing.
func TestServerTools_without_an_answer(t *testing.T) {
	t.Parallel()
	h, id := desk(t, "sk-wrong")
	b, path := h.As(flow.MemberEditor), "/flows/"+id+"/node/desk/tools"
	b.Get(path).Is(http.StatusBadGateway).Has("could not be asked", "refuses the credential", "get_ticket").Lacks("Save tools", "Changed on the server")
	before := names(h, id)
	b.Post(path, url.Values{}).Is(http.StatusUnprocessableEntity)
	if got := names(h, id); got != before {
		t.Errorf("stored %s", got)
	}
}
