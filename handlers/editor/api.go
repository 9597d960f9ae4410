package editor

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/snippets"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// apiRoutes are the routes of the API pane.
func (s *Server) apiRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/api", web.Viewer, web.With(findLiveAPI, showAPI)},
		{http.MethodPost, "/flows/:flow/api/try", web.Editor, tryAPI},
		{http.MethodGet, "/flows/:flow/api/calls", web.Viewer, web.OnFlow(showCalls)},
		{http.MethodGet, "/flows/:flow/api/openapi.json", web.Viewer, web.OnFlow(downloadOpenAPI)},
	}
}

// liveAPI is the live version of a flow, which programs call, with the draft
// that would replace it.
type liveAPI struct {
	*draft
	live *flow.Document // nil before the first publish
	diff *document.Diff // from live to draft
	next int64          // the version that publishing makes live
}

// loadLiveAPI reads the live document of the flow of a draft and compares the
// two. The caller passes the draft, so that it is parsed only once per request.
func loadLiveAPI(c *call, d *draft, next int64) (*liveAPI, error) {
	a := &liveAPI{draft: d, next: next}
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

// servedDocument returns the live document, or before the first publish the
// draft.
func (a *liveAPI) servedDocument() *flow.Document {
	if a.live != nil {
		return a.live
	}
	return a.Document
}

// showAPI is GET /flows/{id}/api: how programs call the flow. A fragment request
// can ask for one part only: ?part=draft is updated after each edit of the draft,
// ?part=snippets has the code samples, and ?part=command has a single one for the
// dialog after the first publish.
func showAPI(c *call, a *liveAPI) error {
	if c.IsFragment() {
		switch c.QueryParam("part") {
		case "draft":
			pane, err := apiDraft(c, a)
			return c.RenderOr(err, editorview.APIDraft(pane))
		case "snippets":
			code, err := apiSnippets(c, a)
			return c.RenderOr(err, editorview.Snippets(code))
		case "command":
			lang, _ := findLanguage(c.QueryParam("lang"))
			code, err := codeSample(c, a.flow, a.servedDocument(), cmp.Or(lang.ID, snippets.Languages()[0].ID), snippets.ModeWait)
			return c.RenderOr(err, editorview.FirstCommand(code))
		}
	}
	return renderAPI(c, http.StatusOK, a, nil)
}

// findLiveAPI finds the flow in the path with its live version and its draft.
func findLiveAPI(c *call) (*liveAPI, error) {
	d, err := c.findDraft()
	if err != nil {
		return nil, err
	}
	var state editorview.PublishState
	if err := setVersions(c, d.flow, &state); err != nil {
		return nil, err
	}
	return loadLiveAPI(c, d, state.Next)
}

// renderAPI renders the whole pane. change may be nil; it modifies the pane before
// it is rendered.
func renderAPI(c *call, status int, a *liveAPI, change func(*editorview.APIPane)) error {
	pane, err := apiPane(c, a)
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

// fillAPI adds the pane to the editor. If another tab is open, only a
// placeholder is rendered, because building the pane takes half of the time of the
// page.
// Read-only documents have no API.
func fillAPI(c *call, d *draft, next int64, f *editorview.BuilderFill) error {
	switch {
	case d.readOnlyVersion:
		f.API = editorview.APIElsewhere(string(d.flow.ID))
		return nil
	case c.chosenPane() != editorview.PaneAPI:
		f.API = editorview.APILater(string(d.flow.ID))
		return nil
	}
	a, err := loadLiveAPI(c, d, next)
	if err != nil {
		return err
	}
	pane, err := apiPane(c, a)
	f.API = editorview.API(pane)
	return err
}

// apiPane fills in the whole pane.
func apiPane(c *call, a *liveAPI) (pane editorview.APIPane, err error) {
	if pane, err = apiDraft(c, a); err != nil {
		return pane, err
	}
	pane.Try = apiTry(c, a)
	if pane.Addresses, err = apiAddresses(c, a.flow); err != nil {
		return pane, err
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return pane, err
	}
	if pane.Keys, err = c.s.KeysPanel(c.Call, a.flow, keys); err != nil {
		return pane, err
	}
	pane.Calls, err = apiCalls(c, a.flow.ID, keys)
	return pane, err
}

// apiDraft fills in the part that depends on the draft.
func apiDraft(c *call, a *liveAPI) (pane editorview.APIPane, err error) {
	f := a.flow
	pane = editorview.APIPane{FlowID: string(f.ID), Name: a.Name, Rev: f.Rev, Fields: apiFields(c, a)}
	pane.State = editorview.APIState{
		FlowID: string(f.ID), Live: f.LiveVersion, Next: a.next, URL: c.startURL(f.ID), Base: c.s.PublicURL, ReadOnly: !c.MayEdit(),
		Breaks: len(a.diff.Breaking) > 0,
	}
	if f.LiveVersion > 0 && f.LiveHash != flow.DocumentHash(f.Draft) {
		pane.State.Differs = apiDiffers(a.diff)
	}
	pane.Snippets, err = apiSnippets(c, a)
	return pane, err
}

// apiSnippets renders the code sample in the chosen language and style. It calls
// the served document.
func apiSnippets(c *call, a *liveAPI) (s editorview.APISnippets, err error) {
	doc := a.servedDocument()
	s = editorview.APISnippets{FlowID: string(a.flow.ID), Live: a.flow.LiveVersion, Differs: len(a.diff.API) > 0, MayTry: c.MayEdit()}
	lang, mode := chosenSnippet(c)
	s.Language, s.Mode = editorview.APILanguage(lang), string(mode)
	s.Languages = apiLanguages()
	for _, m := range snippets.Modes() {
		s.Modes = append(s.Modes, string(m))
	}
	s.Code, err = codeSample(c, a.flow, doc, lang.ID, mode)
	return s, err
}

// apiLanguages returns the languages of code samples.
func apiLanguages() (list []editorview.APILanguage) {
	for _, l := range snippets.Languages() {
		list = append(list, editorview.APILanguage(l))
	}
	return list
}

// codeSample returns highlighted code that calls a flow.
func codeSample(c *call, f *flow.Flow, d *flow.Document, language string, mode snippets.Mode) ([]components.CodePiece, error) {
	code, err := snippets.Render(language, mode, snippets.CallOf(c.s.PublicURL, f, contract.Inputs(d, c.s.Kinds), document.Outputs(d, c.s.Kinds)))
	return components.CodePieces(snippets.Highlight(language, code)), err
}

// snippetCookie is the name of the cookie with the language and style of code
// samples that the user chose last.
const snippetCookie = "snippet"

// chosenSnippet returns the language and style of code samples: those in the
// query, else those in the cookie, else cURL that waits for the result. A choice
// in the query is stored in the cookie.
func chosenSnippet(c *call) (snippets.Language, snippets.Mode) {
	lang, mode := snippets.Languages()[0], snippets.ModeWait
	pick := func(v url.Values) bool {
		l, okL := findLanguage(v.Get("lang"))
		m, okM := findMode(v.Get("manner"))
		if okL {
			lang = l
		}
		if okM {
			mode = m
		}
		return okL || okM
	}
	if cookie, err := c.Cookie(snippetCookie); err == nil {
		v, _ := url.ParseQuery(cookie.Value)
		pick(v)
	}
	if pick(c.QueryParams()) {
		c.SetCookie(&http.Cookie{
			Name: snippetCookie, Value: url.Values{"lang": {lang.ID}, "manner": {string(mode)}}.Encode(), Path: "/",
			MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure, HttpOnly: true,
		})
	}
	return lang, mode
}

// findLanguage finds a language by ID.
func findLanguage(id string) (snippets.Language, bool) {
	for _, l := range snippets.Languages() {
		if l.ID == id {
			return l, true
		}
	}
	return snippets.Language{}, false
}

// findMode finds a style of code samples by name.
func findMode(text string) (snippets.Mode, bool) {
	for _, m := range snippets.Modes() {
		if string(m) == text {
			return m, true
		}
	}
	return "", false
}

// apiAddresses returns the other ways to call the flow: OpenAPI, MCP and the
// public form.
func apiAddresses(c *call, f *flow.Flow) (editorview.APIAddresses, error) {
	form, err := c.FormAddress(f)
	mcp := c.s.PublicURL + "/mcp"
	client := web.Indented(map[string]any{"mcpServers": map[string]any{"sluice": map[string]any{
		"type": "http", "url": mcp, "headers": map[string]any{"Authorization": "Bearer " + snippets.Placeholder},
	}}})
	return editorview.APIAddresses{
		FlowID: string(f.ID), OpenAPI: c.s.PublicURL + openAPIPath(f.ID), MCP: mcp, Client: components.CodePieces(snippets.Highlight("json", client)), Form: form,
	}, err
}

// openAPIPath returns the path of a flow's OpenAPI document in the API.
func openAPIPath(flowID flow.FlowID) string {
	return "/v1/flow/" + url.PathEscape(string(flowID)) + "/openapi.json"
}

// downloadOpenAPI is GET openapi.json. The API requires a key for the document, so
// the request is made with a temporary key that can only read this flow.
func downloadOpenAPI(c *call, f *flow.Flow) error {
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodGet, openAPIPath(f.ID), nil)
	if err != nil {
		return fmt.Errorf("request the OpenAPI document of %s: %w", f.ID, err)
	}
	r.RemoteAddr = c.Request().RemoteAddr
	c.Response().Header().Set("Content-Disposition", `attachment; filename="openapi.json"`)
	c.s.API(&flow.Key{WorkspaceID: c.WorkspaceID(), Name: "OpenAPI document", Scopes: []flow.Scope{flow.ScopeRead}, Flows: []string{string(f.ID)}}, c.Response(), r)
	return nil
}
