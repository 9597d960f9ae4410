package pages

import (
	"context"
	"net/http"
	"net/url"
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
	if !strings.Contains(a.header.Get("HX-Trigger"), `"key:made":{"text":"`+text+`"}`) {
		t.Errorf("HX-Trigger: %s", a.header.Get("HX-Trigger"))
	}
	k := h.onlyKey()
	if k.Name != "staging" || !k.Allows(id) || len(k.Flows) != 1 || k.Hash != flow.Hash([]byte(text)) {
		t.Errorf("the key is %+v", k)
	}
	editor.get("/flows/" + id + "/keys").has("staging", k.Prefix).lacks(text)
}
