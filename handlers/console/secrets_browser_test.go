package console_test

import (
	"context"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/handlers/webtest"
)

// TestSecretsInBrowser types secrets into an HTTP request node and checks what is stored.
func TestSecretsInBrowser(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	// secretOf opens the credential that a JSON value of the draft refers to.
	secretOf := func(w *webtest.Inspector, name string) (flow.Credential, string) {
		t.Helper()
		c, secret, err := w.Store.OpenCredential(context.Background(), flow.DefaultWorkspace, name)
		if err != nil {
			t.Fatal(err)
		}
		return c, secret
	}
	const typed = `document.querySelector("flow-canvas").draft.nodes.get("call").config`
	t.Run("moves a complete secret when its field loses focus", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Choose("call")
		row := webtest.Field("headers") + " [data-row]:nth-child(2) "
		w.Type(row+`[name="name.headers"]`, "X-RapidAPI-Key")
		w.Type(row+`[name="text.headers"]`, "first-half-")
		w.Eval(`new Promise((done) => setTimeout(done, 350))`) // a pause in typing, after which other fields are saved
		if list, err := w.Store.ListCredentials(context.Background(), flow.DefaultWorkspace); err != nil || len(list) != 0 {
			t.Errorf("half a secret was kept: %v, %v", list, err)
		}
		w.Keys("second-half")
		w.Click("#inspector .ins-kind")
		w.There(webtest.Field("headers") + ` select[name="kept.headers"]`)
		w.Saved()
		name, _ := flow.SecretRef(value.Get(w.Draft(w.ID).Node("call").Config["headers"], "X-RapidAPI-Key"))
		if c, secret := secretOf(w, name); secret != "first-half-second-half" || strings.Join(c.Hosts, " ") != "example.com" {
			t.Errorf("kept %q for %v", secret, c.Hosts)
		}
		if strings.Contains(chrome.Value[string](w.Tab, `document.documentElement.outerHTML`), "first-half") {
			t.Error("the secret stays in the page")
		}
		w.Until(typed + `.headers["X-RapidAPI-Key"].credential === "` + name + `"`)
		if responseBuffer := chrome.Value[string](w.Tab, `JSON.stringify([`+typed+`, Object.entries(sessionStorage)])`); strings.Contains(responseBuffer, "first-half") {
			t.Errorf("the secret stays in the tab: %s", responseBuffer)
		}
	})
	t.Run("offers to move a probable secret", func(t *testing.T) {
		const token = "9f86d081884c7d659a2feaa0c55ad015"
		w := webtest.OpenInspector(t, b)
		w.Choose("call")
		w.Type(webtest.Field("url")+" input:not([type=hidden])", "https://example.com/x?code="+token)
		w.Click("#inspector .ins-kind")
		w.Has(webtest.Field("url")+" .ins-secret-found", "“code” looks like a secret.")
		w.Shot("inspector-secret")
		w.Click(webtest.Field("url") + " [data-move-secret]")
		w.Until(typed + `.url.includes("code={{credential:")`)
		w.Saved()
		w.Gone(webtest.Field("url") + " .ins-secret-found")
		if draft := string(flow.EncodeJSON(w.Draft(w.ID))); strings.Contains(draft, token) {
			t.Errorf("the draft is %s", draft)
		}
		if list, err := w.Store.ListCredentials(context.Background(), flow.DefaultWorkspace); err != nil || len(list) != 1 || strings.Join(list[0].Hosts, " ") != "example.com" {
			t.Errorf("kept %v, %v", list, err)
		}
	})
	t.Run("binds a new credential to the host of its node", func(t *testing.T) {
		w := webtest.OpenInspector(t, b)
		w.Allow("favicon.ico") // a browser looks for one, because a part of a page names none
		w.Go(w.Http.URL + "/flows/" + w.ID + "/credentials?hosts=hooks.example.com")
		w.There(`#credential-hosts[value="hooks.example.com"]`)
	})
}
