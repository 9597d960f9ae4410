package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/nodes"
	"sluice/providers/hosted"
)

// modelCmd groups the commands for models on the hosting platform.
type modelCmd struct {
	List    modelListCmd    `cmd:"" help:"List hosted models: the featured ones and, with a credential, search results of the platform."`
	Show    modelShowCmd    `cmd:"" help:"Show the inputs and outputs of a hosted model, or print it as a node."`
	Compare modelCompareCmd `cmd:"" help:"Compare two versions of a hosted model."`
}

// host is the hosting platform and the secret for it, which may be empty: the featured
// models can be shown without one.
type host struct {
	directory *hosted.Directory
	secret    string
	close     func()
}

// openHost returns the platform's directory of models and the secret for it.
func openHost(ctx context.Context, cfg *Config, s *streams) (*host, error) {
	models, err := newUpstreams(ctx, cfg)
	if err != nil {
		return nil, err
	}
	secret, err := hostSecret(ctx, cfg, s, models)
	if err != nil {
		models.HTTP.Close()
		return nil, err
	}
	return &host{directory: hosted.NewDirectory(models.Host), secret: secret, close: models.HTTP.Close}, nil
}

// hostSecret returns the secret that a run would use, or "" without one that may be sent
// to the platform. The database need not exist.
func hostSecret(ctx context.Context, cfg *Config, s *streams, models *upstream.Clients) (string, error) {
	if cfg.needDatabase() != nil {
		return models.Resolver(nil).Environment["replicate"].Secret, nil // resolver has bound it to the platform's host
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return "", err
	}
	defer store.Close()
	access, err := models.Resolver(store).Access(ctx, flow.DefaultWorkspace, "replicate", nil)
	if errors.Is(err, flow.ErrNoAccess) {
		return "", nil
	}
	if p, _ := models.Preset("replicate"); err == nil && upstream.Admit(access, p) != nil {
		return "", nil
	}
	return access.Secret, err
}

// modelListCmd lists models. Without a credential it can list only the featured
// models, which are part of the program.
type modelListCmd struct {
	Query    []string `arg:"" optional:"" help:"Words that describe the model."`
	Category string   `help:"Only this category; the list shows their names." placeholder:"C"`
	JSON     bool     `help:"Print as JSON."`
}

// Run lists models. If the platform cannot be reached, it lists the featured
// ones and prints a warning: a list without network access is better than none.
func (c modelListCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	h, err := openHost(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer h.close()
	list, err := c.find(ctx, h)
	if usage := usageError(""); errors.As(err, &usage) {
		return err
	}
	if err != nil {
		fmt.Fprintf(s.err, "sluice: only the featured models are listed. %v\n", err)
	}
	object := func(l *hosted.Listing) map[string]any {
		return map[string]any{"model": l.Owner + "/" + l.Name, "title": l.Title, "description": l.Description,
			"category": l.Category, "output": l.Output, "official": l.Official, "runs": l.Runs}
	}
	return printList(s.out, c.JSON, list, object, "MODEL\tCATEGORY\tOUTPUT\tDESCRIPTION", func(l *hosted.Listing) string {
		return fmt.Sprintf("%s/%s\t%s\t%s\t%s", l.Owner, l.Name, orDash(l.Category), orDash(l.Output), l.Description)
	})
}

// find searches by words, lists a category, or lists all featured models.
func (c modelListCmd) find(ctx context.Context, h *host) (list []hosted.Listing, err error) {
	query := strings.Join(c.Query, " ")
	if query != "" {
		list, err = h.directory.Search(ctx, h.secret, query)
		return inCategory(list, c.Category), err
	}
	if c.Category != "" {
		return c.inCategory(ctx, h)
	}
	for _, category := range hosted.Catalogue().Categories() {
		list = append(list, hosted.Catalogue().Models(category.Slug)...)
	}
	return list, nil
}

// inCategory lists the models of a category, featured or from the platform.
func (c modelListCmd) inCategory(ctx context.Context, h *host) ([]hosted.Listing, error) {
	list, err := h.directory.Models(ctx, h.secret, c.Category)
	if len(list) > 0 || err != nil {
		return list, err
	}
	var slugs []string
	known, err := h.directory.Categories(ctx, h.secret)
	for _, k := range known {
		slugs = append(slugs, k.Slug)
	}
	if slices.Contains(slugs, c.Category) {
		return nil, err
	}
	return nil, usageError(fmt.Sprintf("there is no category %q; they are %s", c.Category, strings.Join(slugs, ", ")))
}

func inCategory(list []hosted.Listing, category string) []hosted.Listing {
	var out []hosted.Listing
	for _, l := range list {
		if category == "" || l.Category == category {
			out = append(out, l)
		}
	}
	return out
}

// modelShowCmd shows a model's inputs and outputs. With --node it prints a node for a
// flow document, in which the version is pinned: a new version may have other inputs.
type modelShowCmd struct {
	Model string `arg:"" help:"owner/name, owner/name:version, or the address of the model's page."`
	JSON  bool   `help:"Print as JSON."`
	Node  bool   `help:"Print a node for a flow document, with pinned version and schema."`
}

// Run shows a model with the fields and ports of its node.
func (c modelShowCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	h, err := openHost(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer h.close()
	m, err := h.directory.Resolve(ctx, h.secret, c.Model)
	if err != nil {
		return err
	}
	n := &flow.Node{ID: "model", Kind: "hosted_model", Config: map[string]any{}}
	if err := nodes.PinModel(n, m); err != nil {
		return err
	}
	switch {
	case c.Node:
		return printJSON(s.out, map[string]any{"id": n.ID, "kind": n.Kind, "config": n.Config})
	case c.JSON:
		return printJSON(s.out, modelJSON(m, n))
	}
	return printModel(s, m, n)
}

// modelFields returns the fields and ports that the model adds to its node. They are
// derived from its JSON Schema in the same way as in the editor.
func modelFields(n *flow.Node) (fields []flow.Field, outputs []flow.Port) {
	k := nodes.New(nodes.Deps{}).For(n)
	for _, f := range k.Fields {
		if strings.HasPrefix(f.Name, "input.") {
			fields = append(fields, f)
		}
	}
	return fields, k.Outputs
}

// modelJSON returns a model as JSON, with its inputs as fields of a node.
func modelJSON(m *hosted.Model, n *flow.Node) map[string]any {
	fields, outputs := modelFields(n)
	inputs := []map[string]any{}
	for _, f := range fields {
		in := map[string]any{"field": f.Name, "title": f.Title, "help": f.Help, "type": f.Type, "required": f.Required, "more": f.More}
		for name, value := range map[string]any{"default": f.Suggest, "min": pointee(f.Min), "max": pointee(f.Max)} {
			if value != nil {
				in[name] = value
			}
		}
		if f.Options != nil {
			in["options"] = f.Options
		}
		inputs = append(inputs, in)
	}
	return map[string]any{"model": m.Path(), "version": m.Version, "title": m.Title, "description": m.Description,
		"official": m.Official, "runs": m.Runs, "inputs": inputs, "outputs": outputs}
}

// pointee returns the number, or an untyped nil that JSON omits.
func pointee(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

// printModel prints a model and a table of its inputs and outputs.
func printModel(s *streams, m *hosted.Model, n *flow.Node) error {
	fmt.Fprintf(s.out, "%s\n%s\nVersion %s\n\n", m.Path(), m.Description, cmp.Or(m.Version, "unknown"))
	fields, outputs := modelFields(n)
	if n.Config["schema"] == nil {
		fmt.Fprint(s.out, "This model has no input schema. Write its inputs as one JSON object in the field \"input\".\n\n")
	}
	w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "INPUT\tTYPE\tDEFAULT\tHELP")
	for _, f := range fields {
		byDefault := oneLine(flow.Text(f.Suggest), 40)
		if f.Required {
			byDefault = "(must be set)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, modelType(f), orDash(byDefault), oneLine(f.Help, 100))
	}
	fmt.Fprintln(w, "\t\t\t\nOUTPUT\tTYPE\t\t")
	for _, p := range outputs {
		fmt.Fprintf(w, "%s\t%s\t\t\n", p.Name, p.ShownType())
	}
	return w.Flush()
}

// modelType returns the type of a field with its allowed values.
func modelType(f flow.Field) string {
	switch {
	case f.Options != nil:
		return oneLine(strings.Join(f.Options, " | "), 60)
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s %g to %g", f.Type, *f.Min, *f.Max)
	case f.Min != nil:
		return fmt.Sprintf("%s from %g", f.Type, *f.Min)
	case f.Max != nil:
		return fmt.Sprintf("%s to %g", f.Type, *f.Max)
	}
	return string(f.Type)
}

// oneLine returns the start of a text on one line, up to a number of
// characters. Descriptions come from the platform and may have any length.
func oneLine(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "…"
}

// modelCompareCmd compares two versions of a model by their schemas and marks the
// changes that break a flow using the old one.
type modelCompareCmd struct {
	Model string `arg:"" help:"owner/name."`
	Old   string `arg:"" help:"The version in use."`
	New   string `arg:"" optional:"" help:"The version to upgrade to; default is the newest."`
	JSON  bool   `help:"Print as JSON."`
}

// Run compares two versions.
func (c modelCompareCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	h, err := openHost(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer h.close()
	older, err := h.directory.Resolve(ctx, h.secret, c.Model+":"+c.Old)
	if err != nil {
		return err
	}
	newest := c.Model
	if c.New != "" {
		newest += ":" + c.New
	}
	newer, err := h.directory.Resolve(ctx, h.secret, newest)
	if err != nil {
		return err
	}
	changes := hosted.Compare(older, newer)
	if c.JSON {
		return printJSON(s.out, changesJSON(older, newer, changes))
	}
	if len(changes.List) == 0 {
		fmt.Fprintln(s.out, "Nothing changed in what the model takes and puts out.")
	}
	for _, change := range changes.List {
		fmt.Fprintln(s.out, map[bool]string{true: "! ", false: "  "}[change.Breaking]+change.Sentence)
	}
	return nil
}

// changesJSON returns the differences of two versions as JSON.
func changesJSON(older, newer *hosted.Model, changes hosted.Changes) map[string]any {
	list := []map[string]any{}
	for _, change := range changes.List {
		list = append(list, map[string]any{"field": change.Field, "output": change.Output, "breaking": change.Breaking, "sentence": change.Sentence})
	}
	return map[string]any{"model": newer.Path(), "old": older.Version, "new": newer.Version, "breaking": changes.Breaking, "changes": list}
}
