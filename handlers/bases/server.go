// Package bases serves the pages of knowledge bases: the list, a base with its documents and a search, a document, and the settings. The rules are those of package
// library, which the API uses too.
package bases

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/handlers/web"
	view "sluice/views/bases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Runner  web.Runner
	MaxFile int64 // bytes of a file; zero means the store's own limit
	// Embed embeds a text with the built-in model, and Filter compiles the filter of a search.
	Embed  func(ctx context.Context, ws flow.WorkspaceID, text string) ([]float32, error)
	Filter func(ctx context.Context, where string) (func(source string, metadata *flow.Object) (bool, error), error)
	API    func(key *flow.Key, w http.ResponseWriter, r *http.Request) // serves a request to the API as if it had been sent with a key
	Prices flow.PriceStore                                             // of models, for the cost of a rebuild
}

// Server serves the pages.
type Server struct {
	*web.Site
	Config
	knowledge library.Knowledge
}

// New returns the pages of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg, knowledge: library.Knowledge{Store: site.Store, Start: cfg.Runner.StartRun, Embed: cfg.Embed, Filter: cfg.Filter, Charge: site.Kinds.Find("embed").Charge, Prices: cfg.Prices}}
}

// call is one request to this package.
type call struct {
	*web.Call
	s *Server
}

// Routes returns the routes of this package.
func (s *Server) Routes() (list []web.Route) {
	const one, document = "/knowledge/:base", "/knowledge/:base/documents/:document"
	for _, r := range []struct {
		method, path string
		access       web.Access
		handle       func(*call) error
	}{
		{http.MethodGet, "/knowledge", web.Viewer, listBases},
		{http.MethodGet, view.NewPath, web.Editor, newBase},
		{http.MethodPost, "/knowledge", web.Editor, web.Posted(createBase)},
		{http.MethodGet, one, web.Viewer, onBase(showBase)},
		{http.MethodGet, one + "/export", web.Viewer, onBase(exportBase)},
		{http.MethodGet, one + "/settings", web.Editor, onBase(showSettings)},
		{http.MethodPost, one + "/settings", web.Editor, web.Posted(onBase(changeSettings))},
		{http.MethodPost, one + "/delete", web.Editor, web.Posted(onBase(deleteBase))},
		{http.MethodPost, one + "/documents", web.Editor, onBase(addDocuments)},
		{http.MethodGet, document, web.Viewer, onDocument(showDocument)},
		{http.MethodPost, document + "/retry", web.Editor, onDocument(retryDocument)},
		{http.MethodPost, document + "/delete", web.Editor, onDocument(deleteDocument)},
	} {
		list = append(list, web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(&call{c, s}) }})
	}
	return list
}

// onBase wraps a handler that needs the base of the path.
func onBase(handle func(*call, *knowledge.Base) error) func(*call) error {
	return func(c *call) error {
		b, err := c.s.Store.FindBase(c.Ctx(), c.WorkspaceID(), c.Param("base"))
		if err != nil && flow.AsError(err).Code == flow.CodeKnowledgeNotFound {
			return web.ErrNotFound
		}
		if err != nil {
			return err
		}
		return handle(c, b)
	}
}

// onDocument wraps a handler that needs the document of the path.
func onDocument(handle func(*call, *knowledge.Base, *knowledge.Document) error) func(*call) error {
	return onBase(func(c *call, b *knowledge.Base) error {
		d, err := c.s.Store.FindBaseDocumentByID(c.Ctx(), b, c.Param("document"))
		if err != nil {
			return err
		}
		return handle(c, b, d)
	})
}

// listBases is GET knowledge.
func listBases(c *call) error {
	list, err := c.s.Store.ListBases(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	page := view.ListPage{MayEdit: c.MayEdit(), Now: c.s.Now()}
	for i := range list {
		row, err := c.baseRow(&list[i])
		if err != nil {
			return err
		}
		page.Bases = append(page.Bases, row)
	}
	return c.Render(http.StatusOK, view.List(c.Page("Knowledge", layout.SectionKnowledge), page))
}

// baseRow converts a base, with counts of its documents.
func (c *call) baseRow(b *knowledge.Base) (view.BaseRow, error) {
	r := view.BaseRow{Slug: b.Slug, Name: b.Name, Model: b.Settings.Model, Documents: b.Documents, Passages: b.Passages, Bytes: b.Bytes, ChangedAt: b.ChangedAt}
	states, err := c.s.Store.CountBaseDocuments(c.Ctx(), b)
	if err != nil {
		return r, err
	}
	active, failed, err := c.active(b)
	r.Active, r.Bad = int64(len(active)), states[knowledge.Failed]+int64(len(failed))
	return r, err
}

// newBase is GET the form of a new base.
func newBase(c *call) error {
	b := &knowledge.Base{}
	b.Settings.Defaults()
	return c.showForm(http.StatusOK, &view.FormPage{Fresh: true, Fields: c.formFields(b, true, nil)})
}

func (c *call) showForm(status int, page *view.FormPage) error {
	title := "New base"
	if !page.Fresh {
		title = "Settings of " + page.Name
	}
	return c.Render(status, view.Form(c.Page(title, layout.SectionKnowledge), *page))
}

// isOwner reports whether the user may expose bases to assistants.
func (c *call) isOwner() bool { return c.Member.Role.AtLeast(flow.MemberOwner) }

// formFields returns the fields of the form of a base. The size of passages is fixed while there are documents.
func (c *call) formFields(b *knowledge.Base, fresh bool, wrong components.Errors) []components.Field {
	s, fixed := &b.Settings, b.Documents > 0
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	minimum, repeated := "", ""
	if s.Overlap != nil {
		repeated = strconv.Itoa(*s.Overlap)
	}
	if s.Minimum != nil {
		minimum = strconv.FormatFloat(*s.Minimum, 'f', -1, 64)
	}
	note := func(text, withDocuments string) string {
		if fixed {
			return text + " " + withDocuments
		}
		return text
	}
	fields := []components.Field{{Name: "name", Label: "Name", Value: b.Name, Placeholder: "Help center"}}
	if fresh {
		fields = append(fields, components.Field{Name: "slug", Label: "Slug", Value: b.Slug, Optional: true, Mono: true, Placeholder: "help-center", Help: "Its name in flows and URLs. It never changes."})
	}
	fields = append(fields,
		components.Field{Name: "description", Label: "Description", Value: s.Description, Optional: true, Help: "What is in it, for people and assistants."},
		components.Field{Name: "parts", Type: "checkbox", Label: "Every document belongs to a part, such as a customer", Checked: s.Parts == knowledge.PartsRequired, Help: "Searches then must name one, and find only its documents."},
		components.Field{Name: "model", Label: "Model", Value: s.Model, Optional: true, Mono: true, Placeholder: "openai/text-embedding-3-small", Help: note("For searches by meaning. Empty: the built-in model, for English only.", "Another model embeds all documents again; until then, searches use the present one.")},
		components.Field{Name: "credential", Label: "Credential", Value: s.Credential, Optional: true, Placeholder: "The default of the provider"},
		components.Field{Name: "dimensions", Label: "Dimensions", Value: number(s.Dimensions), Optional: true, Attrs: numeric, Help: "For models that let you choose; 1,024 at most."},
		components.Field{Name: "passage_words", Label: "Words in a passage", Value: number(s.Size), Optional: true, Disabled: fixed, Attrs: numeric, Help: note("20 to 1,000.", "Fixed while the base has documents.")},
		components.Field{Name: "repeated_words", Label: "Words repeated by the next passage", Value: repeated, Optional: true, Disabled: fixed, Attrs: numeric, Help: "Empty: a fifth of the words in a passage."},
		components.Field{Name: "min_meaning", Label: "Minimum of meaning", Value: minimum, Optional: true, Help: "Passages without a word in common are left out below it. Empty: the default of the model."},
	)
	if c.isOwner() {
		fields = append(fields,
			components.Field{Name: "expose", Type: "checkbox", Label: "Assistants may search it over MCP", Checked: s.Expose, Help: "Every API key that is not limited to some flows can then search it."},
			components.Field{Name: "expose_part", Label: "Part for assistants", Value: s.ExposePart, Optional: true, Help: "They find only documents of this part. Empty: those without a part."})
	}
	for i := range fields {
		fields[i].Error = wrong[fields[i].Name]
	}
	return fields
}

var numeric = map[string]any{"inputmode": "numeric"}

// readForm sets a base to what was typed. It returns problems of numbers.
func (c *call) readForm(b *knowledge.Base) components.Errors {
	wrong, s := components.Errors{}, &b.Settings
	b.Name, s.Description = strings.TrimSpace(c.FormValue("name")), strings.TrimSpace(c.FormValue("description"))
	s.Credential = strings.TrimSpace(c.FormValue("credential"))
	s.Parts = knowledge.PartsOptional
	if c.FormValue("parts") != "" {
		s.Parts = knowledge.PartsRequired
	}
	s.Minimum = nil
	if text := strings.TrimSpace(c.FormValue("min_meaning")); text != "" {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != f {
			wrong["min_meaning"] = "This must be a number such as 0.3."
		} else {
			s.Minimum = &f
		}
	}
	s.Model = strings.TrimSpace(c.FormValue("model"))
	if c.isOwner() {
		s.Expose, s.ExposePart = c.FormValue("expose") != "", strings.TrimSpace(c.FormValue("expose_part"))
	}
	whole := func(name string) *int {
		text := strings.ReplaceAll(strings.TrimSpace(c.FormValue(name)), ",", "")
		if text == "" {
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			wrong[name] = "This must be a whole number."
		}
		return &n
	}
	orZero := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	s.Dimensions = orZero(whole("dimensions"))
	if b.Documents == 0 {
		s.Size, s.Overlap = orZero(whole("passage_words")), whole("repeated_words")
	}
	return wrong
}

// fieldErrors adds the problems of an error to those of fields. It returns false for an error that is not about what was typed.
func fieldErrors(err error, wrong components.Errors) bool {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || web.StatusOf(e.Code) >= 500 {
		return false
	}
	for _, p := range e.Fields {
		wrong[strings.TrimPrefix(p.Pointer, "/")] = wording.Sentence(p.Detail)
	}
	if len(e.Fields) == 0 {
		wrong[""] = e.Message
		if e.Code == flow.CodeSlugTaken {
			wrong["slug"], wrong[""] = e.Message, ""
		}
	}
	return true
}

// createBase is POST knowledge.
func createBase(c *call) error {
	b := &knowledge.Base{WorkspaceID: c.WorkspaceID(), Slug: strings.TrimSpace(c.FormValue("slug"))}
	wrong := c.readForm(b)
	if b.Slug == "" {
		b.Slug = slugOf(b.Name)
	}
	if b.Name == "" && b.Slug == "" {
		wrong["name"] = "Give the base a name."
	}
	if len(wrong) == 0 {
		err := c.s.knowledge.Create(c.Ctx(), c.Actor(), nil, b)
		if err == nil {
			return c.Redirect(view.Path(b.Slug))
		}
		if !fieldErrors(err, wrong) {
			return err
		}
	}
	return c.showForm(http.StatusUnprocessableEntity, &view.FormPage{Fresh: true, Fields: c.formFields(b, true, wrong), Errors: wrong})
}

// slugOf makes a slug of a name: lower-case letters and digits, with hyphens between.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	slug := b.String()
	return strings.Trim(slug[:min(len(slug), 60)], "-")
}

// showSettings is GET settings.
func showSettings(c *call, b *knowledge.Base) error {
	return c.settingsPage(http.StatusOK, b, b, nil)
}

// settingsPage renders the settings of a base; typed has what the form shows.
func (c *call) settingsPage(status int, b, typed *knowledge.Base, wrong components.Errors) error {
	names, err := c.s.knowledge.Users(c.Ctx(), b)
	if err != nil {
		return err
	}
	page := &view.FormPage{Slug: b.Slug, Name: b.Name, Fields: c.formFields(typed, false, wrong), Errors: wrong, Documents: b.Documents, UsedBy: names, MayForce: c.isOwner()}
	if page.Rebuild = rebuildKey(b, &typed.Settings); page.Rebuild != "" && len(wrong) == 0 {
		if page.Cost, page.Estimate, err = c.estimate(b, &typed.Settings); err != nil {
			return err
		}
	}
	return c.showForm(status, page)
}

// rebuildKey identifies the rebuild that changed settings need, or is "".
func rebuildKey(b *knowledge.Base, to *knowledge.Settings) string {
	if b.Documents == 0 || to.SameModel(&b.Settings) {
		return ""
	}
	return fmt.Sprintf("%s %d", to.Model, to.Dimensions)
}

// estimate says what a rebuild costs and does. Both are "" if it is free.
func (c *call) estimate(b *knowledge.Base, to *knowledge.Settings) (cost, text string, err error) {
	e, err := c.s.knowledge.EstimateRebuild(c.Ctx(), b, to)
	if err != nil || e.Priced && e.USD == 0 {
		return "", "", err
	}
	cost = "The price of the model is unknown."
	if e.Priced {
		cost = "Rebuilding costs " + components.Money(e.USD.Micros()) + " at most."
	}
	return cost, fmt.Sprintf("%s embeds %s again: up to %s tokens.", to.Model, components.Quantity(int(e.Passages), "passage"), components.Count(int(e.Tokens))), nil
}

// changeSettings is POST settings. Another model for a base with documents starts a rebuild.
func changeSettings(c *call, b *knowledge.Base) error {
	changed := *b
	wrong := c.readForm(&changed)
	if err := changed.Check(); err != nil && len(wrong) == 0 {
		fieldErrors(err, wrong)
	}
	if len(wrong) == 0 {
		key, to, now := rebuildKey(b, &changed.Settings), changed.Settings, changed
		rebuilds := key != ""
		if rebuilds && c.FormValue("rebuild") != key {
			if cost, _, err := c.estimate(b, &to); err != nil || cost != "" { // to be confirmed first
				if err != nil {
					return err
				}
				return c.settingsPage(http.StatusOK, b, &changed, nil)
			}
		}
		if rebuilds {
			now.Settings.Model, now.Settings.Credential, now.Settings.Dimensions = b.Settings.Model, b.Settings.Credential, b.Settings.Dimensions
		}
		err := c.s.knowledge.Change(c.Ctx(), c.Actor(), nil, b, &now)
		if err == nil && rebuilds {
			var started flow.Started
			if started, err = c.s.knowledge.Rebuild(c.Ctx(), c.Actor(), nil, c.Member.UserID, &now, &to); err == nil {
				c.Toast(components.ToneOK, "The documents are embedded with the other model. Until the run has ended, searches use the present one.")
				return c.Redirect(components.RunPath(string(started.Run.ID)))
			}
		}
		if err == nil {
			c.Toast(components.ToneOK, "Saved.")
			return c.Redirect(view.Path(b.Slug))
		}
		if !fieldErrors(err, wrong) {
			return err
		}
	}
	return c.settingsPage(http.StatusUnprocessableEntity, b, &changed, wrong)
}

// deleteBase is POST delete. A base that flows use is deleted by owners only.
func deleteBase(c *call, b *knowledge.Base) error {
	wrong := components.Errors{}
	if c.FormValue("sure") == "" {
		wrong["sure"] = "Confirm that all documents are deleted."
		return c.settingsPage(http.StatusUnprocessableEntity, b, b, wrong)
	}
	force := c.FormValue("force") != "" && c.isOwner()
	if err := c.s.knowledge.Delete(c.Ctx(), c.Actor(), b, force); err != nil {
		if !fieldErrors(err, wrong) {
			return err
		}
		return c.settingsPage(http.StatusUnprocessableEntity, b, b, wrong)
	}
	c.Toast(components.ToneOK, "“"+b.Name+"” was deleted.")
	return c.Redirect(view.Path(""))
}

// exportBase is GET export: the response of the API.
func exportBase(c *call, b *knowledge.Base) error {
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodGet, c.s.PublicURL+"/v1/knowledge/"+b.ID+"/export", nil)
	if err != nil {
		return err
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	c.s.API(&flow.Key{WorkspaceID: c.WorkspaceID(), Name: c.Member.Name, UserID: c.Member.UserID, Scopes: []flow.Scope{flow.ScopeRead}}, c.Response(), r)
	return nil
}
