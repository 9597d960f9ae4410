package editor

import (
	"fmt"
	"net/http"
	"net/url"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/snippets"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

func (s *Server) apiRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/api", web.Viewer, web.With((*call).readCallable, (*call).showAPI)},
		{http.MethodPost, "/flows/:flow/api/try", web.Editor, (*call).tryAPI},
		{http.MethodGet, "/flows/:flow/api/calls", web.Viewer, web.OnFlow((*call).showCalls)},
		{http.MethodGet, "/flows/:flow/api/openapi.json", web.Viewer, web.OnFlow((*call).downloadOpenAPI)},
	}
}

// callable is a flow as programs call it, beside its draft.
type callable struct {
	*draft
	live *flow.Document // nil before the first publish
	diff *document.Diff // from live to draft
	next int64          // the version that publishing makes live
}

// findCallable reads what is live beside a draft. Each document is parsed once.
func (c *call) findCallable(d *draft, next int64) (*callable, error) {
	a := &callable{draft: d, next: next}
	if d.flow.LiveHash != "" {
		data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), d.flow.LiveHash)
		if err != nil {
			return nil, fmt.Errorf("find the live document of %s: %w", d.flow.ID, err)
		}
		a.live, _ = document.ParseDocument(data)
	}
	a.diff = document.Compare(a.live, d.Document, c.s.Kinds)
	return a, nil
}

// called is the document that calls reach, or would once it is published.
func (a *callable) called() *flow.Document {
	if a.live != nil {
		return a.live
	}
	return a.Document
}

// showAPI is GET /flows/{id}/api: how programs call the flow. With ?part=draft
// it is what follows the draft, with ?part=snippets the code alone.
func (c *call) showAPI(a *callable) error {
	if c.IsFragment() {
		switch c.QueryParam("part") {
		case "draft":
			pane, err := c.apiDraft(a)
			return c.RenderOr(err, editorview.APIDraft(pane))
		case "snippets":
			code, err := c.apiSnippets(a)
			return c.RenderOr(err, editorview.Snippets(code))
		}
	}
	return c.answerAPI(http.StatusOK, a, nil)
}

func (c *call) readCallable() (*callable, error) {
	d, err := c.findDraft()
	if err != nil {
		return nil, err
	}
	next, err := c.nextVersion(d.flow)
	if err != nil {
		return nil, err
	}
	return c.findCallable(d, next)
}

// answerAPI shows all of it; change has the last word.
func (c *call) answerAPI(status int, a *callable, change func(*editorview.APIPane)) error {
	pane, err := c.apiPane(a)
	if err != nil {
		return err
	}
	if change != nil {
		change(&pane)
	}
	if c.IsFragment() {
		return c.Render(status, editorview.API(pane))
	}
	return c.Render(status, editorview.APIPage(c.Page("API of "+a.Name, layout.SectionFlows), pane))
}

// fillAPI puts the pane into the builder, if that is what is seen first: it is half
// of the page's work. What a run ran, or a version says, is no API.
func (c *call) fillAPI(d *draft, next int64, f *editorview.BuilderFill) error {
	switch {
	case d.former:
		f.API = editorview.APIElsewhere(d.flow.ID)
		return nil
	case c.pickedPane() != editorview.PaneAPI:
		f.API = editorview.APILater(d.flow.ID)
		return nil
	}
	a, err := c.findCallable(d, next)
	if err != nil {
		return err
	}
	pane, err := c.apiPane(a)
	f.API = editorview.API(pane)
	return err
}

func (c *call) apiPane(a *callable) (pane editorview.APIPane, err error) {
	if pane, err = c.apiDraft(a); err != nil {
		return pane, err
	}
	pane.Try = c.apiTry(a)
	if pane.Addresses, err = c.apiAddresses(a.flow); err != nil {
		return pane, err
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return pane, err
	}
	if pane.Keys, err = c.s.KeysPanel(c.Call, a.flow, keys); err != nil {
		return pane, err
	}
	pane.Calls, err = c.apiCalls(a.flow.ID, keys)
	return pane, err
}

// apiDraft is the part that follows the draft.
func (c *call) apiDraft(a *callable) (pane editorview.APIPane, err error) {
	f := a.flow
	pane = editorview.APIPane{FlowID: f.ID, Name: a.Name, Rev: f.Rev, Fields: c.apiFields(a)}
	pane.State = editorview.APIState{
		FlowID: f.ID, Live: f.LiveVersion, Next: a.next, URL: c.startURL(f.ID), Base: c.s.PublicURL, ReadOnly: !c.MayEdit(),
		Breaks: len(a.diff.Breaking) > 0,
	}
	if f.LiveVersion > 0 && f.LiveHash != flow.Hash(f.Draft) {
		pane.State.Differs = editorview.APIDiffers(a.diff)
	}
	pane.Snippets, err = c.apiSnippets(a)
	return pane, err
}

// apiSnippets are of what calls reach.
func (c *call) apiSnippets(a *callable) (s editorview.APISnippets, err error) {
	doc := a.called()
	s = editorview.APISnippets{FlowID: a.flow.ID, Languages: snippets.Languages(), Live: a.flow.LiveVersion, Differs: len(a.diff.API) > 0, MayTry: c.MayEdit()}
	s.Language, s.Manner = c.pickedSnippet()
	code, err := snippets.Render(s.Language.ID, s.Manner, snippets.CallOf(c.s.PublicURL, a.flow, doc.Inputs(c.s.Kinds), doc.Outputs(c.s.Kinds)))
	s.Code = snippets.Highlight(s.Language.ID, code)
	return s, err
}

// pickedCookie keeps the language and manner that somebody reads code in.
const pickedCookie = "snippet"

// pickedSnippet is what the address asks for, else what was asked for last, else
// cURL that waits. What is asked for is remembered.
func (c *call) pickedSnippet() (snippets.Language, snippets.Manner) {
	lang, manner := snippets.Languages()[0], snippets.MannerWait
	pick := func(v url.Values) bool {
		l, okL := languageOf(v.Get("lang"))
		m, okM := mannerOf(v.Get("manner"))
		if okL {
			lang = l
		}
		if okM {
			manner = m
		}
		return okL || okM
	}
	if cookie, err := c.Cookie(pickedCookie); err == nil {
		v, _ := url.ParseQuery(cookie.Value)
		pick(v)
	}
	if pick(c.QueryParams()) {
		c.SetCookie(&http.Cookie{
			Name: pickedCookie, Value: url.Values{"lang": {lang.ID}, "manner": {string(manner)}}.Encode(), Path: "/",
			MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure, HttpOnly: true,
		})
	}
	return lang, manner
}

func languageOf(id string) (snippets.Language, bool) {
	for _, l := range snippets.Languages() {
		if l.ID == id {
			return l, true
		}
	}
	return snippets.Language{}, false
}

func mannerOf(text string) (snippets.Manner, bool) {
	for _, m := range snippets.Manners() {
		if string(m) == text {
			return m, true
		}
	}
	return "", false
}

// apiAddresses are the other ways to call the flow.
func (c *call) apiAddresses(f *flow.Flow) (editorview.APIAddresses, error) {
	form, err := c.FormAddress(f)
	mcp := c.s.PublicURL + "/mcp"
	client := web.Indented(map[string]any{"mcpServers": map[string]any{"sluice": map[string]any{
		"type": "http", "url": mcp, "headers": map[string]any{"Authorization": "Bearer " + snippets.Placeholder},
	}}})
	return editorview.APIAddresses{
		FlowID: f.ID, OpenAPI: c.s.PublicURL + openAPIPath(f.ID), MCP: mcp, Client: snippets.Highlight("json", client), Form: form,
	}, err
}

func openAPIPath(flowID string) string {
	return "/v1/flow/" + url.PathEscape(flowID) + "/openapi.json"
}

// downloadOpenAPI is GET openapi.json: the document that programs need a key
// for, for a person.
func (c *call) downloadOpenAPI(f *flow.Flow) error {
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodGet, openAPIPath(f.ID), nil)
	if err != nil {
		return fmt.Errorf("ask for the OpenAPI document of %s: %w", f.ID, err)
	}
	r.RemoteAddr = c.Request().RemoteAddr
	c.Response().Header().Set("Content-Disposition", `attachment; filename="openapi.json"`)
	c.s.API(&flow.Key{WorkspaceID: c.WorkspaceID(), Name: "OpenAPI document", Scopes: []flow.Scope{flow.ScopeRead}, Flows: []string{f.ID}}, c.Response(), r)
	return nil
}
