package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// modelRoutes returns the routes of the list of all models and of the page of a hosted model,
// whose name is owner/model.
func (s *Server) modelRoutes() []route {
	return []route{
		{http.MethodGet, "/models", web.Viewer, (*call).showModels},
		{http.MethodGet, "/models/:owner/:model", web.Viewer, (*call).showModel},
	}
}

// maxModelCards is the largest number of models on the page. Some providers list hundreds.
const maxModelCards = 48

// categoryIcons are the icons and short titles of the catalog's categories.
var categoryIcons = map[string][2]string{
	analyzeCategory: {"Analyze", "text-search"}, "text-generation": {"Write", "message-square"}, "image-generation": {"Image", "image"}, "image-editing": {"Edit", "wand-sparkles"},
	"upscaling-restoration": {"Upscale", "maximize"}, "video": {"Video", "film"}, "speech-to-text": {"Transcribe", "mic"}, "text-to-speech": {"Speak", "volume-2"},
	"music": {"Music", "music"}, "vision-captioning": {"Vision", "eye"}, "ocr": {"Documents", "file-text"}, "embeddings": {"Embed", "waypoints"}, "detection-moderation": {"Detect", "shield"},
}

// analyzeCategory is the category of the built-in models, which the hosted catalog does not have.
const analyzeCategory = "analyze"

// showModels is GET /models: all models, filtered by category, by where they run and by price. Unless
// another order is asked for, models that need no credential come first.
func (c *call) showModels() error {
	page := consoleview.ModelsPage{
		Shelf: consoleview.ModelShelf(c.QueryParam("shelf")), Query: strings.TrimSpace(c.QueryParam("q")), Category: c.QueryParam("category"), MayEdit: c.MayEdit(),
		Price: c.QueryParam("price"), Sort: consoleview.ModelSort(c.QueryParam("sort")),
	}
	cards := slices.Concat(c.s.builtIn(page.Query), c.connectedCards(&page), c.hostedCards(&page))
	if !slices.ContainsFunc(page.Categories, func(k consoleview.ModelCategory) bool { return k.Slug == page.Category }) {
		page.Category = ""
	}
	consoleview.SortCards(cards, page.Sort)
	counts := map[consoleview.ModelShelf]int{}
	for _, card := range cards {
		if page.Category != "" && card.Category != page.Category || !card.Costs(page.Price) {
			continue
		}
		counts[card.Shelf]++
		counts[consoleview.ShelfAll]++
		if page.Shelf != consoleview.ShelfAll && card.Shelf != page.Shelf {
			continue
		}
		if len(page.Cards) < maxModelCards {
			page.Cards = append(page.Cards, card)
		} else {
			page.More++
		}
	}
	for _, shelf := range []consoleview.ModelShelf{consoleview.ShelfAll, consoleview.ShelfBuiltIn, consoleview.ShelfMachine, consoleview.ShelfConnected, consoleview.ShelfHosted} {
		if counts[shelf] > 0 || shelf == page.Shelf || shelf == consoleview.ShelfAll {
			page.Shelves = append(page.Shelves, consoleview.ShelfCount{Shelf: shelf, Count: counts[shelf]})
		}
	}
	return c.Render(http.StatusOK, consoleview.ModelShelves(c.Page("Models", layout.SectionModels), page))
}

// modelTasks are the tasks for which providers list models.
var modelTasks = []string{"chat", "embed", "image", "speech", "transcribe"}

// connectedCards returns the models of providers. Most providers return the same list for
// each task, so each is used once. Providers without a credential, and those that do not
// respond, are added to the page.
func (c *call) connectedCards(page *consoleview.ModelsPage) (cards []consoleview.ModelCard) {
	seen := map[string]bool{}
	for _, task := range modelTasks {
		for _, g := range c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), task, page.Query) {
			if seen[g.Title] {
				continue
			}
			seen[g.Title] = true
			switch {
			case g.Place == components.PlaceOffered:
				page.Offered = append(page.Offered, g)
				continue
			case g.Note != "":
				page.Notes = append(page.Notes, g)
			}
			for _, m := range g.Models {
				cards = append(cards, providerCard(&g, &m))
			}
		}
	}
	return cards
}

// providerCard converts a model of a provider.
func providerCard(g *components.ModelGroup, m *components.ModelChoice) consoleview.ModelCard {
	category, kind := modelUse(m.ID)
	card := consoleview.ModelCard{
		ID: m.ID, Title: m.Title, Text: m.Text, Shelf: consoleview.ShelfConnected, Category: category, Kind: kind,
		Tags: m.Can, Price: m.Price, PriceNote: m.PriceNote, Context: m.Context,
	}
	if card.Title == "" {
		_, card.Title, _ = strings.Cut(m.ID, "/")
	}
	if g.Place == components.PlaceLocal {
		card.Shelf = consoleview.ShelfMachine
		card.Text = "Found on this machine, through " + g.Title + "."
	} else if card.Text == "" || card.Text == card.Title {
		card.Text = "A model of " + g.Title + "."
	}
	return card
}

// modelUse returns the category of a provider's model and the node kind that calls it. Model
// lists do not include the task, so it is guessed from the name; the default is chat.
func modelUse(id string) (category, kind string) {
	id = strings.ToLower(id)
	for _, use := range []struct{ words, category, kind string }{
		{"embed", "embeddings", "embed"}, {"whisper transcribe", "speech-to-text", "transcribe"},
		{"tts speech", "text-to-speech", "speech"}, {"image dall-e imagen", "image-generation", "image"},
	} {
		if slices.ContainsFunc(strings.Fields(use.words), func(w string) bool { return strings.Contains(id, w) }) {
			return use.category, use.kind
		}
	}
	return "text-generation", "chat"
}

// hostedCards returns the featured models, or those that match the search, and sets the
// categories of the page.
func (c *call) hostedCards(page *consoleview.ModelsPage) (cards []consoleview.ModelCard) {
	all := c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), web.HostedTask, "")
	page.Categories = []consoleview.ModelCategory{category(analyzeCategory, "")}
	for _, g := range all {
		if g.Place == components.PlaceOffered { // the hosting platform itself
			page.Offered = append(page.Offered, g)
			continue
		}
		page.Categories = append(page.Categories, category(g.Name, g.Title))
	}
	if page.Query != "" {
		all = c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), web.HostedTask, page.Query)
	}
	for _, g := range all {
		if g.Note != "" {
			page.Notes = append(page.Notes, g)
		}
		for _, m := range g.Models {
			cards = append(cards, consoleview.ModelCard{
				ID: m.ID, Title: m.Title, Text: m.Text, Shelf: consoleview.ShelfHosted, Category: cmp.Or(m.Category, g.Name),
				Tags: m.Tags, Runs: m.Runs, Described: true,
			})
		}
	}
	return cards
}

// category returns a category with its icon and short title. A category that is not in
// categoryIcons keeps the title of the catalog.
func category(slug, title string) consoleview.ModelCategory {
	short, known := categoryIcons[slug]
	if !known {
		return consoleview.ModelCategory{Slug: slug, Title: title, Icon: "boxes"}
	}
	return consoleview.ModelCategory{Slug: slug, Title: short[0], Icon: short[1]}
}

// Palette groups of kinds that call models: models in Sluice, and models of providers.
const (
	builtInGroup = "Built in"
	modelGroup   = "AI models"
)

// builtIn returns the kinds that work without a provider and contain all words of the search.
func (s *Server) builtIn(query string) (cards []consoleview.ModelCard) {
	for _, k := range s.Kinds.List() {
		if k.Group != builtInGroup || !containsAll(k.Title+" "+k.Summary+" "+k.Name, query) {
			continue
		}
		cards = append(cards, consoleview.ModelCard{
			ID: k.Name, Title: k.Title, Text: k.Summary, Shelf: consoleview.ShelfBuiltIn, Category: analyzeCategory,
			Tags: []string{"Offline", "No key"}, Price: "Free", PriceNote: "Runs inside Sluice", Kind: k.Name,
		})
	}
	return cards
}

// showModel is GET /models/{owner}/{model}: the inputs and outputs of the model, or
// the reason why they are unknown, such as a missing credential.
func (c *call) showModel() error {
	id := c.Param("owner") + "/" + c.Param("model")
	page := consoleview.ModelPage{ID: id, MayEdit: c.MayEdit()}
	for _, g := range c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), web.HostedTask, "") {
		for _, m := range g.Models {
			if m.ID == id {
				page.Title, page.Text, page.Tags, page.Runs = m.Title, m.Text, m.Tags, m.Runs
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

// fillModel fills in the inputs and outputs of a node with the model.
func (c *call) fillModel(page *consoleview.ModelPage, n *flow.Node) {
	k := c.s.Kinds.For(n)
	for i := range k.Fields {
		f := &k.Fields[i]
		if name, isInput := strings.CutPrefix(f.Name, "input."); isInput {
			page.Inputs = append(page.Inputs, consoleview.ModelInput{Name: name, Title: f.Title, Type: fieldType(f), Default: wording.Truncate(flow.Text(f.Suggest), 60), Help: f.Help, Required: f.Required})
		}
	}
	page.Open = n.Config["schema"] == nil
	for _, o := range k.Outputs {
		page.Outputs = append(page.Outputs, consoleview.ModelOutput{Name: o.Name, Type: typeWord(string(o.ShownType()))})
	}
	if version := flow.Text(n.Config["version"]); len(version) > 12 {
		page.Version = version[:12] + "…"
	}
}

// typeWord returns the name of a type for users.
func typeWord(t string) string {
	switch t {
	case "json":
		return "JSON"
	case "integer":
		return "whole number"
	case "boolean":
		return "yes or no"
	case "area":
		return "text"
	case "any":
		return "any value"
	}
	return t
}

// fieldType describes the type of a field with its options or range.
func fieldType(f *flow.Field) string {
	word := typeWord(string(f.Type))
	switch {
	case f.Options != nil:
		return wording.Truncate(strings.Join(f.Options, ", "), 60)
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s, %s to %s", word, plainNumber(*f.Min), plainNumber(*f.Max))
	}
	return word
}

// plainNumber formats a number without an exponent.
func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
