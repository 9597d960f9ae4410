package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

func (s *Server) modelRoutes() []route {
	return []route{
		{http.MethodGet, "/models", web.Viewer, (*call).showModels},
		{http.MethodGet, "/models/:owner/:model", web.Viewer, (*call).showModel},
	}
}

// showModels is GET /models: hosted models, those of providers, or the built-in
// ones.
func (c *call) showModels() error {
	page := consoleview.ModelsPage{
		Shelf: consoleview.ModelShelf(c.QueryParam("shelf")), Query: strings.TrimSpace(c.QueryParam("q")), Category: c.QueryParam("category"), MayEdit: c.MayEdit(),
	}
	switch page.Shelf {
	case consoleview.ShelfBuiltIn:
		page.BuiltIn = c.s.builtIn()
	case consoleview.ShelfProviders:
		page.Groups = c.providerGroups(page.Query)
	default:
		page.Shelf = consoleview.ShelfHosted
		c.hostedGroups(&page)
	}
	return c.Render(http.StatusOK, consoleview.ModelShelves(c.Page("Models", layout.SectionModels), page))
}

// modelTasks are the tasks that models of providers can do.
var modelTasks = []string{"chat", "embed", "image", "speech", "transcribe"}

// providerGroups returns the models of each provider once, although most
// providers return the same list for each task.
func (c *call) providerGroups(query string) []components.ModelGroup {
	var groups []components.ModelGroup
	known := map[string]int{}
	for _, task := range modelTasks {
		for _, g := range c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), task, query) {
			if _, twice := known[g.Title]; !twice {
				known[g.Title] = len(groups)
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// hostedGroups fills in the featured models by category, or those that match
// the search, within the chosen category.
func (c *call) hostedGroups(page *consoleview.ModelsPage) {
	all := c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), web.HostedTask, "")
	page.Groups = all
	if page.Query != "" {
		page.Groups = c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), web.HostedTask, page.Query)
	}
	var kept map[string]bool
	for _, g := range all {
		page.Categories = append(page.Categories, g.Title)
		if g.Title == page.Category {
			kept = modelIDs(g)
		}
	}
	if kept == nil {
		page.Category = ""
		return
	}
	for i := range page.Groups {
		g := &page.Groups[i]
		var models []components.ModelChoice
		for _, m := range g.Models {
			if kept[m.ID] && (page.Query != "" || g.Title == page.Category) {
				models = append(models, m)
			}
		}
		g.Models = models
	}
}

// modelIDs returns the set of model IDs of a group.
func modelIDs(g components.ModelGroup) map[string]bool {
	ids := map[string]bool{}
	for _, m := range g.Models {
		ids[m.ID] = true
	}
	return ids
}

// builtInGroup is the palette group of the kinds that work offline.
const builtInGroup = "Built in"

// builtIn returns the kinds that work without a provider.
func (s *Server) builtIn() (list []consoleview.BuiltInModel) {
	for _, k := range s.Kinds.List() {
		if k.Group == builtInGroup {
			list = append(list, consoleview.BuiltInModel{Title: k.Title, Icon: k.Icon, Group: components.GroupWord(k.Group), Text: k.Summary})
		}
	}
	return list
}

// showModel is GET /models/{owner}/{model}: its inputs and outputs, or why it
// cannot be described, such as a missing credential.
func (c *call) showModel() error {
	id := c.Param("owner") + "/" + c.Param("model")
	page := consoleview.ModelPage{ID: id, MayEdit: c.MayEdit()}
	for _, g := range c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), web.HostedTask, "") {
		for _, m := range g.Models {
			if m.ID == id {
				page.Title, page.Text = m.Title, m.Text
			}
		}
	}
	n := &flow.Node{ID: "model", Kind: "hosted_model", Config: map[string]any{}}
	config, err := c.s.Models.PinModel(c.Ctx(), c.WorkspaceID(), n, id)
	if e, ok := errors.AsType[*flow.Error](err); ok && (page.Title != "" || e.Code != flow.CodeModelIncompatible) {
		page.Why = e.Message
	} else if ok {
		return web.ErrNotFound
	} else if err != nil {
		return err
	}
	n.Config = config
	if page.Why == "" {
		c.fillModel(&page, n)
	}
	return c.Render(http.StatusOK, consoleview.HostedModel(c.Page(id, layout.SectionModels), page))
}

// fillModel fills in the inputs and outputs that a node with the model has.
func (c *call) fillModel(page *consoleview.ModelPage, n *flow.Node) {
	k := c.s.Kinds.For(n)
	for i := range k.Fields {
		f := &k.Fields[i]
		if name, isInput := strings.CutPrefix(f.Name, "input."); isInput {
			page.Inputs = append(page.Inputs, consoleview.ModelInput{Name: name, Title: f.Title, Type: fieldType(f), Default: truncate(flow.Text(f.Suggest), 60), Help: f.Help, Required: f.Required})
		}
	}
	page.Open = n.Config["schema"] == nil
	for _, o := range k.Outputs {
		page.Outputs = append(page.Outputs, consoleview.ModelOutput{Name: o.Name, Type: string(o.ShownType())})
	}
	if version := flow.Text(n.Config["version"]); len(version) > 12 {
		page.Version = version[:12] + "…"
	}
}

// fieldType describes the type of a field with its options or range.
func fieldType(f *flow.Field) string {
	switch {
	case f.Options != nil:
		return truncate(strings.Join(f.Options, " | "), 60)
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s, %g to %g", f.Type, *f.Min, *f.Max)
	}
	return string(f.Type)
}

// truncate shortens a text to max characters.
func truncate(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
