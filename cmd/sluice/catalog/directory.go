package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/admin"
	"sluice/nodes"
	"sluice/providers"
	"sluice/providers/hosted"
)

// Directory implements admin.Catalog: the providers and their models, as the API and the
// command line list them.
type Directory struct {
	upstreams *upstream.Clients
	store     flow.CredentialStore
	servers   *upstream.LocalServers
	hosted    *hosted.Directory
}

// NewDirectory returns a directory. Of local model servers, it requests lists only from those found on
// this machine, because API clients must not make a server call arbitrary private addresses.
func NewDirectory(u *upstream.Clients, servers *upstream.LocalServers, store flow.CredentialStore, platform *hosted.Directory) *Directory {
	return &Directory{u, store, servers, platform}
}

// ListProviders implements admin.Catalog. The list is the same for all workspaces.
func (d *Directory) ListProviders() []admin.Provider { return ListProviders() }

// ListProviders returns the presets of providers, local model servers last, with the
// environment variables that can hold their secrets.
func ListProviders() (list []admin.Provider) {
	for _, p := range providers.Presets() {
		list = append(list, admin.Provider{
			Name: p.Name, Title: p.Title, BaseURL: p.BaseURL, Environment: append([]string{}, p.EnvVars...), KeysURL: p.KeysURL, Local: p.Local, Can: append([]string{}, Abilities(p)...),
		})
	}
	return list
}

// ListModels returns the models of a provider or local model server that match the query.
func (d *Directory) ListModels(ctx context.Context, ws flow.WorkspaceID, provider, query string) ([]admin.Model, error) {
	all, isFound, err := d.listLocal(ctx, ws, provider)
	if err == nil && !isFound {
		all, err = d.upstreams.List(ctx, d.store, ws, provider)
	}
	if err != nil {
		return nil, asInvalid(ctx, err)
	}
	list := []admin.Model{}
	for _, m := range providers.Search(all, query) {
		list = append(list, admin.Model{Model: provider + "/" + m.ID, Title: m.Title, Owner: m.Owner})
	}
	return list, nil
}

// listLocal returns the models that a local model server had when it was found. isLocal
// reports that the provider must not be called: the workspace has no credential for it.
func (d *Directory) listLocal(ctx context.Context, ws flow.WorkspaceID, provider string) (models []providers.Model, isLocal bool, err error) {
	p, known := providers.FindPreset(provider)
	if !known || !p.Local {
		return nil, false, nil
	}
	if _, err := d.upstreams.Resolver(d.store).Access(ctx, ws, provider, nil); !errors.Is(err, flow.ErrNoAccess) {
		return nil, false, err
	}
	for _, s := range d.servers.Found() {
		if s.Preset.Name == provider {
			return s.Models, true, nil
		}
	}
	return nil, true, fmt.Errorf("no %s was found on the server's machine; for one on another machine, add a credential with its base URL", p.Title)
}

// asInvalid converts an error of a provider to a flow.Error, whose message the API shows. It
// returns the error unchanged if the context has ended.
func asInvalid(ctx context.Context, err error) error {
	if _, known := errors.AsType[*flow.Error](err); known || ctx.Err() != nil {
		return err
	}
	code := flow.CodeInputInvalid
	if e, ok := errors.AsType[*providers.Error](err); ok && e.Class == providers.ClassNotFound || errors.Is(err, upstream.ErrNoProvider) {
		code = flow.CodeNotFound
	}
	return &flow.Error{Code: code, Message: sentence(err)}
}

// sentence returns the message of an error as a sentence for users. Errors of providers
// never contain a secret; see package providers.
func sentence(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "The provider did not answer in time. Try again in a moment."
	}
	return wording.Sentence(err.Error())
}

// secret returns the platform secret that a run would use, or "" if no secret may be sent to
// the platform. Featured models can be shown without a secret.
func (d *Directory) secret(ctx context.Context, ws flow.WorkspaceID) (string, error) {
	access, err := d.upstreams.Resolver(d.store).Access(ctx, ws, "replicate", nil)
	if errors.Is(err, flow.ErrNoAccess) {
		return "", nil
	}
	if p, _ := d.upstreams.Preset("replicate"); err == nil && upstream.Admit(access, p) != nil {
		return "", nil
	}
	return access.Secret, err
}

// ListHosted searches by words, lists a category, or lists all featured models. If the
// platform is unavailable, it lists the featured models and returns the reason as notice.
func (d *Directory) ListHosted(ctx context.Context, ws flow.WorkspaceID, query, category string) (models []admin.HostedModel, notice string, err error) {
	secret, err := d.secret(ctx, ws)
	if err != nil {
		return nil, "", err
	}
	found, err := d.findHosted(ctx, secret, query, category)
	if _, known := errors.AsType[*flow.Error](err); known || ctx.Err() != nil {
		return nil, "", err
	}
	if err != nil {
		notice = sentence(err)
	}
	models = []admin.HostedModel{}
	for _, l := range found {
		models = append(models, admin.HostedModel{Model: l.Owner + "/" + l.Name, Title: l.Title, Description: l.Description, Category: l.Category, Output: l.Output, Official: l.Official, Runs: l.Runs})
	}
	return models, notice, nil
}

// findHosted returns the matching models of the platform. If the platform is unavailable, it
// returns the error together with the matching featured models.
func (d *Directory) findHosted(ctx context.Context, secret, query, category string) (list []hosted.Listing, err error) {
	switch {
	case query != "":
		list, err = d.hosted.Search(ctx, secret, query)
		return slices.DeleteFunc(list, func(l hosted.Listing) bool { return category != "" && l.Category != category }), err
	case category != "":
		return d.inCategory(ctx, secret, category)
	}
	for _, c := range hosted.Catalog().Categories() {
		list = append(list, hosted.Catalog().Models(c.Slug)...)
	}
	return list, nil
}

// inCategory lists the models of a category, featured ones first. The error for an unknown
// category has a problem at "/category" that lists the known ones.
func (d *Directory) inCategory(ctx context.Context, secret, category string) ([]hosted.Listing, error) {
	list, err := d.hosted.Models(ctx, secret, category)
	if len(list) > 0 || err != nil {
		return list, err
	}
	var slugs []string
	known, err := d.hosted.Categories(ctx, secret)
	for _, k := range known {
		slugs = append(slugs, k.Slug)
	}
	if slices.Contains(slugs, category) {
		return nil, err
	}
	text := fmt.Sprintf("there is no category %q; they are %s", category, strings.Join(slugs, ", "))
	return nil, &flow.Error{Code: flow.CodeInputInvalid, Message: "There is no such category.", Fields: []flow.Problem{{Pointer: "/category", Code: "not_found", Detail: text}}}
}

// resolve reads the version and schema of a hosted model from the platform. The model is
// written as owner/name or owner/name:version.
func (d *Directory) resolve(ctx context.Context, ws flow.WorkspaceID, model string) (*hosted.Model, error) {
	secret, err := d.secret(ctx, ws)
	if err != nil {
		return nil, err
	}
	m, err := d.hosted.Resolve(ctx, secret, model)
	if err != nil {
		return nil, asInvalid(ctx, err)
	}
	return m, nil
}

// FindHosted describes a hosted model with the fields and ports of its node, which are derived
// from its JSON Schema in the same way as in the editor.
func (d *Directory) FindHosted(ctx context.Context, ws flow.WorkspaceID, model string) (admin.HostedForm, error) {
	m, err := d.resolve(ctx, ws, model)
	if err != nil {
		return admin.HostedForm{}, err
	}
	n := &flow.Node{ID: "model", Kind: "hosted_model", Config: map[string]any{}}
	if err := nodes.PinModel(n, m); err != nil {
		return admin.HostedForm{}, asInvalid(ctx, err)
	}
	o := admin.HostedForm{
		Model: m.Path(), Version: m.Version, Title: m.Title, Description: m.Description, Official: m.Official, Runs: m.Runs, Open: n.Config["schema"] == nil,
		Inputs: []admin.HostedInput{}, Outputs: []admin.HostedOutput{}, Node: map[string]any{"id": n.ID, "kind": n.Kind, "config": n.Config},
	}
	kind := nodes.New(nodes.Deps{}).For(n)
	for _, f := range kind.Fields {
		if strings.HasPrefix(f.Name, "input.") {
			o.Inputs = append(o.Inputs, admin.HostedInput{Field: f.Name, Title: f.Title, Help: f.Help, Type: f.Type, Required: f.Required, More: f.More, Default: f.Suggest, Min: f.Min, Max: f.Max, Options: f.Options})
		}
	}
	for _, p := range kind.Outputs {
		o.Outputs = append(o.Outputs, admin.HostedOutput{Name: p.Name, Title: p.Title, Help: p.Help, Type: p.Type, Shown: p.Shown, Items: p.Items, Accept: p.Accept})
	}
	return o, nil
}

// CompareHosted compares two versions of a hosted model by their schemas, and marks the
// changes that break flows which use the old one. An empty to means the newest version.
func (d *Directory) CompareHosted(ctx context.Context, ws flow.WorkspaceID, model, from, to string) (o admin.HostedChanges, err error) {
	older, err := d.resolve(ctx, ws, model+":"+from)
	if err != nil {
		return o, err
	}
	if to != "" {
		model += ":" + to
	}
	newer, err := d.resolve(ctx, ws, model)
	if err != nil {
		return o, err
	}
	changes := hosted.Compare(older, newer)
	o = admin.HostedChanges{Model: newer.Path(), Old: older.Version, New: newer.Version, Breaking: changes.Breaking, Changes: []admin.HostedChange{}}
	for _, change := range changes.List {
		o.Changes = append(o.Changes, admin.HostedChange{Field: change.Field, Output: change.Output, Breaking: change.Breaking, Sentence: change.Sentence})
	}
	return o, nil
}
