package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/nodes"
	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/views/components"
)

// listTime bounds how long a page waits for the lists of providers. A slower list is cached
// when it arrives and shown at the next request.
const listTime = 6 * time.Second

// Models implements editor.Models: it lists the models that nodes can use, and pins and
// upgrades the models of nodes.
type Models struct {
	upstreams *upstream.Clients
	servers   *upstream.LocalServers
	store     modelStore
	cache     *providers.ModelCache
	directory *hosted.Directory
}

// modelStore reads the credentials and prices of a workspace.
type modelStore interface {
	flow.CredentialStore
	ListPrices(ctx context.Context, ws flow.WorkspaceID) ([]flow.Price, error)
}

// NewModels returns the model lists of the dashboard. It caches the lists of providers,
// because pages request them at every keystroke of a search.
func NewModels(u *upstream.Clients, servers *upstream.LocalServers, store modelStore, directory *hosted.Directory) *Models {
	return &Models{u, servers, store, providers.NewModelCache(u.Providers), directory}
}

// ListModels returns the models for a task that match the search words, grouped by provider.
func (m *Models) ListModels(ctx context.Context, ws flow.WorkspaceID, task, query string) []components.ModelGroup {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if task == "hosted" {
		return m.hosted(ctx, ws, query)
	}
	prices := map[string]flow.Price{}
	if list, err := m.store.ListPrices(ctx, ws); err == nil {
		for _, p := range list {
			prices[p.Model] = p
		}
	}
	var groups []components.ModelGroup
	for _, s := range m.servers.Found() {
		if supports(s.Preset, task) {
			g := newGroup(s.Preset.Title, s.Preset.Name, s.Models, query, prices)
			g.Place, g.Hint = components.PlaceLocal, "on this machine"
			for i := range g.Models {
				if g.Models[i].Price == "" {
					g.Models[i].Price = "Free"
				}
			}
			groups = append(groups, g)
		}
	}
	names := m.reachable(ctx, ws, task)
	groups = append(groups, m.listReachable(ctx, ws, names, query, prices)...)
	groups = append(groups, unconnected(task, query, names, prices)...)
	return append(groups, ownServers(task, names)...)
}

// ownServers returns what can be connected besides the listed providers: servers of one's own, and
// Replicate.
func ownServers(task string, connected []string) (groups []components.ModelGroup) {
	for _, s := range []struct{ name, title, address string }{
		{"openai_compatible", "OpenAI-compatible server", "https://models.example.com/v1"},
		{"ollama", "Ollama", ""}, {"azure", "Azure", "https://RESOURCE.openai.azure.com/openai/v1"}, {"replicate", "Replicate", ""},
	} {
		p, known := providers.FindPreset(s.name)
		if known && (supports(p, task) || p.Wire == providers.WireHost) && !slices.Contains(connected, p.Name) {
			g := components.ModelGroup{Name: p.Name, Title: s.title, Place: components.PlaceOwn, KeysURL: p.KeysURL, Address: s.address}
			if p.Local {
				g.Address = p.BaseURL
			}
			groups = append(groups, g)
		}
	}
	return groups
}

// unconnected returns the providers that the workspace has no credential for, with the models
// in Sluice's own list. With a query it returns only providers and models that match.
func unconnected(task, query string, connected []string, prices map[string]flow.Price) (groups []components.ModelGroup) {
	for _, p := range providers.Presets() {
		if p.Local || p.BaseURL == "" || p.Wire == providers.WireHost || !supports(p, task) || slices.Contains(connected, p.Name) {
			continue
		}
		var known []providers.Model
		if task == "chat" {
			known = providers.Known().Models(p.Name)
		}
		g := newGroup(p.Title, p.Name, known, query, prices)
		g.Place, g.KeysURL = components.PlaceOffered, p.KeysURL
		g.Hint = strings.Join(components.TaskWords(Abilities(p)), ", ")
		if query == "" || len(g.Models) > 0 || strings.Contains(strings.ToLower(p.Title), strings.ToLower(query)) {
			groups = append(groups, g)
		}
	}
	return groups
}

// supports reports whether a provider supports a task.
func supports(p providers.Preset, task string) bool {
	return slices.Contains(Abilities(p), task)
}

// newGroup returns a group of the models that match the search words. A query may
// repeat the provider, as in openai/gpt, because model references contain it.
func newGroup(title, provider string, models []providers.Model, query string, prices map[string]flow.Price) components.ModelGroup {
	g := components.ModelGroup{Name: provider, Title: title, Place: components.PlaceConnected}
	if rest, ok := strings.CutPrefix(query, provider+"/"); ok {
		query = rest
	}
	if query == "" {
		models = slices.Clone(models) // a cached list is shared
		providers.NewestFirst(models)
	}
	for _, found := range providers.Search(models, query) {
		id := provider + "/" + found.ID
		text := found.Title
		if text == "" {
			text = found.Owner
		}
		c := components.ModelChoice{ID: id, Text: text, Context: contextText(found.Context), Can: modelAbilities(found)}
		c.Price, c.PriceNote = modelPrice(prices, id, found)
		g.Models = append(g.Models, c)
	}
	return g
}

// modelAbilities returns the abilities of a model according to the provider's list.
func modelAbilities(m providers.Model) (can []string) {
	for _, a := range []struct {
		word string
		has  bool
	}{{"Vision", m.Vision}, {"Tools", m.Tools}, {"JSON", m.JSON}} {
		if a.has {
			can = append(can, a.word)
		}
	}
	return can
}

// modelPrice returns the price of a model as text and its source: the workspace, the
// provider's own list, or the shipped price list. Both are "" if the price is unknown.
func modelPrice(prices map[string]flow.Price, id string, m providers.Model) (text, note string) {
	if p, set := prices[id]; set {
		return priceText(p), "Price set in this workspace"
	}
	if m.Price == nil {
		return "", ""
	}
	note = "From the provider’s list, per million tokens in and out"
	if m.Price.AsOf != "" {
		note = "List price of " + m.Price.AsOf + ", per million tokens in and out"
	}
	return dollars(flow.NanoUSD(m.Price.InputNanoUSD)) + " / " + dollars(flow.NanoUSD(m.Price.OutputNanoUSD)), note
}

// dollars formats a price with cents, or with more digits if cents would round it.
func dollars(n flow.NanoUSD) string {
	if n%(flow.USD/100) == 0 {
		return fmt.Sprintf("$%.2f", n.Dollars())
	}
	return "$" + n.String()
}

// contextText formats the size of a context window, such as 128K or 1M. Sizes that are a
// multiple of 1,024 but not of 1,000 are counted in units of 1,024.
func contextText(tokens int64) string {
	thousand := int64(1000)
	if tokens%1000 != 0 && tokens%1024 == 0 {
		thousand = 1024
	}
	switch {
	case tokens <= 0:
		return ""
	case tokens < thousand:
		return fmt.Sprint(tokens)
	case tokens < 1_000_000:
		return fmt.Sprintf("%dK", tokens/thousand)
	}
	return strconv.FormatFloat(math.Round(float64(tokens)/float64(thousand*thousand)*100)/100, 'f', -1, 64) + "M"
}

// listReachable lists the models of all reachable providers concurrently, so that a page
// waits only for the slowest one.
func (m *Models) listReachable(ctx context.Context, ws flow.WorkspaceID, names []string, query string, prices map[string]flow.Price) []components.ModelGroup {
	groups := make([]components.ModelGroup, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { groups[i] = m.listProvider(ctx, ws, name, query, prices) })
	}
	all.Wait()
	return groups
}

// reachable returns the providers with a credential, and credentials with a
// base URL of their own, in the order of the presets.
func (m *Models) reachable(ctx context.Context, ws flow.WorkspaceID, task string) []string {
	resolver := m.upstreams.Resolver(m.store)
	found := map[string]bool{}
	list, _ := m.store.ListCredentials(ctx, ws)
	var own []string
	for _, c := range list {
		p, known := providers.FindPreset(c.Provider)
		switch {
		case !known || !supports(p, task):
		case c.BaseURL != "" && c.Name != c.Provider:
			own = append(own, c.Name)
		default:
			found[p.Name] = true
		}
	}
	if ws == flow.DefaultWorkspace {
		for name := range maps.Keys(resolver.Environment) {
			found[name] = true
		}
	}
	var names []string
	for _, p := range providers.Presets() {
		if found[p.Name] && p.Models && supports(p, task) {
			names = append(names, p.Name)
		}
	}
	return append(names, own...)
}

// listProvider lists the models of one provider. An error is shown beside its name.
func (m *Models) listProvider(ctx context.Context, ws flow.WorkspaceID, name, query string, prices map[string]flow.Price) components.ModelGroup {
	title := name
	if p, known := providers.FindPreset(name); known {
		title = p.Title
	}
	a, err := m.upstreams.Resolver(m.store).Access(ctx, ws, name, providerRef(name))
	if err != nil {
		return components.ModelGroup{Name: name, Title: title, Place: components.PlaceConnected, Note: sentenceOf(err)}
	}
	at, _ := m.upstreams.Preset(a.Provider)
	if err := upstream.Admit(a, at); err != nil {
		return components.ModelGroup{Name: name, Title: title, Place: components.PlaceConnected, Note: sentenceOf(err)}
	}
	models, err := m.cache.Models(ctx, providers.Endpoint{Provider: a.Provider, BaseURL: a.BaseURL, Secret: a.Secret, Trusted: a.Trusted})
	providers.Known().Complete(a.Provider, models)
	g := newGroup(title, name, models, query, prices)
	if title != name {
		g.Hint = "credential " + a.Name
	}
	if err != nil {
		g.Note = sentenceOf(err)
	}
	return g
}

// providerRef returns the name of a credential with a base URL of its own.
func providerRef(name string) any {
	if _, known := providers.FindPreset(name); known {
		return nil
	}
	return map[string]any{"credential": name}
}

// sentenceOf returns the message of an error for a page. Errors that are not meant for users
// may contain addresses or secrets, so they are replaced with a general sentence.
func sentenceOf(err error) string {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		return e.Message
	}
	if e, ok := errors.AsType[*flow.Error](err); ok {
		return e.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "The list did not arrive in time. Try again in a moment."
	}
	return "Its models cannot be listed now."
}

// hosted lists the platform's models by category or by search words.
func (m *Models) hosted(ctx context.Context, ws flow.WorkspaceID, query string) []components.ModelGroup {
	titles := map[string]string{}
	var groups []components.ModelGroup
	for _, c := range hosted.Catalog().Categories() {
		titles[c.Slug] = c.Title
		if query == "" {
			groups = append(groups, components.ModelGroup{Name: c.Slug, Title: c.Title, Models: hostedChoices(hosted.Catalog().Models(c.Slug), nil)})
		}
	}
	secret, err := m.hostSecret(ctx, ws)
	if p, known := providers.FindPreset("replicate"); known && query == "" && err == nil && secret == "" {
		groups = slices.Insert(groups, 0, components.ModelGroup{Name: p.Name, Title: p.Title, Place: components.PlaceOffered, Hint: "runs hosted models", KeysURL: p.KeysURL})
	}
	if query == "" {
		return groups
	}
	if err != nil {
		secret = ""
	}
	found, err := m.directory.Search(ctx, secret, query)
	g := components.ModelGroup{Title: "Replicate", Models: hostedChoices(found, titles)}
	if err != nil {
		g.Note = "Only the featured models were searched. " + sentenceOf(err)
	}
	return []components.ModelGroup{g}
}

// hostedChoices converts models of the platform. titles has the titles of categories by
// slug, for lists with models of several categories.
func hostedChoices(list []hosted.Listing, titles map[string]string) (out []components.ModelChoice) {
	for _, l := range list {
		detail := []string{}
		for _, part := range []string{titles[l.Category], runsText(l.Runs)} {
			if part != "" {
				detail = append(detail, part)
			}
		}
		out = append(out, components.ModelChoice{ID: l.Owner + "/" + l.Name, Title: l.Title, Text: l.Description, Detail: strings.Join(detail, " · "), Category: l.Category, Tags: l.Tasks, Runs: runsText(l.Runs), Output: l.Output})
	}
	return out
}

// runsText formats the rounded number of runs of a model.
func runsText(runs int64) string {
	switch {
	case runs >= 1_000_000:
		return fmt.Sprintf("%dM runs", runs/1_000_000)
	case runs >= 1000:
		return fmt.Sprintf("%dK runs", runs/1000)
	}
	return ""
}

// priceText returns a price in dollars as text.
func priceText(p flow.Price) string {
	switch {
	case p.Input != 0 || p.Output != 0:
		return dollars(p.Input) + " / " + dollars(p.Output)
	case p.Call != 0:
		return dollars(p.Call) + " per call"
	case p.Second != 0:
		return dollars(p.Second) + " per second"
	}
	return ""
}

// hostSecret returns the workspace's secret for the platform, or "".
func (m *Models) hostSecret(ctx context.Context, ws flow.WorkspaceID) (string, error) {
	a, err := m.upstreams.Resolver(m.store).Access(ctx, ws, "replicate", nil)
	if errors.Is(err, flow.ErrNoAccess) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	p, _ := m.upstreams.Preset("replicate")
	return a.Secret, upstream.Admit(a, p)
}

// resolve describes a hosted model, at its newest version unless one is named.
func (m *Models) resolve(ctx context.Context, ws flow.WorkspaceID, model string) (*hosted.Model, error) {
	secret, err := m.hostSecret(ctx, ws)
	if err != nil {
		return nil, err
	}
	found, err := m.directory.Resolve(ctx, secret, model)
	if e, ok := errors.AsType[*providers.Error](err); ok {
		return nil, flow.Errorf(cmp.Or(resolveCodes[e.Class], flow.CodeProviderUnavailable), "%s", e.Message)
	}
	if err != nil && ctx.Err() == nil { // not the name of a model
		return nil, flow.Errorf(flow.CodeModelIncompatible, "%s", wording.Sentence(err.Error()))
	}
	return found, err
}

// resolveCodes maps the error classes that the user can fix with another model or a
// credential. All others mean that the platform is unavailable.
var resolveCodes = map[providers.ErrorClass]flow.Code{
	providers.ClassAuth:         flow.CodeProviderAuth,
	providers.ClassNotFound:     flow.CodeModelIncompatible,
	providers.ClassIncompatible: flow.CodeModelIncompatible,
	providers.ClassBadRequest:   flow.CodeModelIncompatible,
}

// PinModel returns a copy of a node's config that uses a model. It stores the version and
// schema in the node, so that changes to the model do not affect it.
func (m *Models) PinModel(ctx context.Context, ws flow.WorkspaceID, n *flow.Node, model string) (map[string]any, error) {
	found, err := m.resolve(ctx, ws, model)
	if err != nil {
		return nil, err
	}
	own := *n
	own.Config = maps.Clone(n.Config)
	if err := nodes.PinModel(&own, found); err != nil {
		return nil, err
	}
	return own.Config, nil
}

// UpgradeModel compares a node's pinned version with the newest one. It changes nothing: the
// editor shows the result and applies it after confirmation.
func (m *Models) UpgradeModel(ctx context.Context, ws flow.WorkspaceID, n *flow.Node, edges []flow.Edge) (components.Upgrade, error) {
	out := components.Upgrade{Name: flow.Text(n.Config["model"])}
	if ref, err := hosted.ParseRef(out.Name); err == nil {
		out.Name = ref.Path() // without the version that it names
	}
	newer, err := m.resolve(ctx, ws, out.Name)
	if err != nil {
		return out, err
	}
	own := *n
	own.Config = maps.Clone(n.Config)
	up, err := nodes.UpgradeModel(&own, edges, newer)
	if err != nil {
		return out, err
	}
	out.Newest = up.From == up.To && len(up.Changes.List) == 0
	for _, change := range up.Changes.List {
		out.Changes = append(out.Changes, components.UpgradeChange{Sentence: change.Sentence, Breaking: change.Breaking})
	}
	for _, misfit := range slices.Concat(up.Values, up.Edges) {
		out.Misfits = append(out.Misfits, strings.TrimPrefix(misfit.Field+": ", ": ")+misfit.Why)
	}
	return out, nil
}

// Providers returns the providers with a known base URL.
func (m *Models) Providers() (list []components.Option) {
	for _, p := range providers.Presets() {
		if p.BaseURL != "" && !p.Local || p.Wire == providers.WireHost {
			list = append(list, components.Option{Value: p.Name, Label: p.Title})
		}
	}
	return list
}

// NewCredential validates the short form that the editor shows beside a node, and returns the
// credential that "sluice credential add" would store for the same values.
func (m *Models) NewCredential(ws flow.WorkspaceID, name, provider, secret string, hosts []string, anyHost bool) (flow.Credential, error) {
	refuse := func(field, text string) (flow.Credential, error) {
		return flow.Credential{}, fieldError(field, "%s", text)
	}
	offered := func(o components.Option) bool { return o.Value == provider }
	if provider != "" && !slices.ContainsFunc(m.Providers(), offered) {
		return refuse("provider", "There is no such provider.")
	}
	if !library.ValidCredentialName(name) {
		return refuse("name", "Up to 64 letters, digits, _, . and -; it begins with a letter or a digit.")
	}
	if p, taken := providers.FindPreset(name); taken && name != provider {
		return refuse("name", fmt.Sprintf("This is the name of a provider. Choose %s above, or another name.", p.Title))
	}
	if problem := library.CheckSecret(secret); problem != "" {
		return refuse("secret", problem)
	}
	if provider != "" {
		hosts = nil // the provider's hosts apply
	}
	hosts, err := flow.ParseHosts(hosts)
	if err != nil {
		return refuse("hosts", wording.Sentence(err.Error()))
	}
	if provider == "" && !anyHost && len(hosts) == 0 {
		return refuse("hosts", "Enter the hosts that the secret may be sent to.")
	}
	if p, known := providers.FindPreset(provider); known {
		hosts = p.Hosts
	}
	return flow.Credential{WorkspaceID: ws, Name: name, Provider: provider, Hosts: hosts, Overlap: flow.SigningOverlap}, nil
}
