package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/admin"
	"sluice/providers/hosted"
)

// modelCmd groups the commands for models on the hosting platform.
type modelCmd struct {
	List    modelListCmd    `cmd:"" help:"List hosted models: the featured ones and, with a credential, search results of the platform."`
	Show    modelShowCmd    `cmd:"" help:"Show the inputs and outputs of a hosted model, or print it as a node."`
	Compare modelCompareCmd `cmd:"" help:"Compare two versions of a hosted model."`
}

// withoutDatabase is embedded in commands that work without a database.
type withoutDatabase struct{}

func (withoutDatabase) need() databaseNeed { return needNothing }

// modelListCmd lists models. Without a credential it can list only the featured
// models, which are part of the program.
type modelListCmd struct {
	withoutDatabase
	Query    []string `arg:"" optional:"" help:"Words that describe the model."`
	Category string   `help:"Only this category; the list shows their names." placeholder:"C"`
	JSON     bool     `help:"Print as JSON."`
}

// RunAPI lists hosted models: search results, the models of a category, or the featured models. If
// the platform cannot be reached, it lists the featured ones and prints a warning. An unknown
// category is a usage error that names the known ones.
func (c modelListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	query := url.Values{"query": {strings.Join(c.Query, " ")}, "category": {c.Category}}
	list, err := fetch[admin.HostedModelList](ctx, api, "GET", "/v1/hosted-models?"+query.Encode(), nil)
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 && e.Fields[0].Pointer == "/category" {
		return usageError(e.Fields[0].Detail)
	}
	if err != nil {
		return err
	}
	if list.Notice != "" {
		fmt.Fprintf(s.Err, "sluice: only the featured models are listed. %s\n", list.Notice)
	}
	return printList(s.Out, c.JSON, list.Models, "MODEL\tCATEGORY\tOUTPUT\tDESCRIPTION", func(l *admin.HostedModel) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", l.Model, orDash(l.Category), orDash(l.Output), l.Description)
	})
}

// modelShowCmd shows a model's inputs and outputs. With --node it prints a node for a
// flow document, in which the version is pinned: a new version may have other inputs.
type modelShowCmd struct {
	withoutDatabase
	Model string `arg:"" help:"owner/name, owner/name:version, or the address of the model's page."`
	JSON  bool   `help:"Print as JSON."`
	Node  bool   `help:"Print a node for a flow document, with pinned version and schema."`
}

// RunAPI shows a model with the fields and ports of its node. The server requests the model with the
// workspace's credential.
func (c modelShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	path, version, err := hostedPath(c.Model)
	if err != nil {
		return err
	}
	m, err := fetch[admin.HostedForm](ctx, api, "GET", path+"?"+url.Values{"version": {version}}.Encode(), nil)
	if err != nil {
		return noSuchModel(err, c.Model)
	}
	return c.print(s.Out, m)
}

// noSuchModel rewords err if it means that the model or its version does not exist.
func noSuchModel(err error, model string) error {
	return notFound(err, fmt.Sprintf("the platform has no model %s, or not in this version; 'sluice model list' searches it", model))
}

// hostedPath returns the API path of a hosted model and the version in its name, or "".
func hostedPath(model string) (path, version string, err error) {
	ref, err := hosted.ParseRef(model)
	if err != nil {
		return "", "", usageError(uncapitalized(err.Error()))
	}
	return "/v1/hosted-models/" + url.PathEscape(ref.Owner) + "/" + url.PathEscape(ref.Name), ref.Version, nil
}

// print prints a model as tables of inputs and outputs, as JSON, or with --node as a node
// for a document.
func (c modelShowCmd) print(out io.Writer, m admin.HostedForm) error {
	switch {
	case c.Node:
		return printJSON(out, m.Node)
	case c.JSON:
		return printJSON(out, m)
	}
	fmt.Fprintf(out, "%s\n%s\nVersion %s\n\n", m.Model, m.Description, cmp.Or(m.Version, "unknown"))
	if m.Open {
		fmt.Fprint(out, "This model has no input schema. Write its inputs as one JSON object in the field \"input\".\n\n")
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "INPUT\tTYPE\tDEFAULT\tHELP")
	for _, f := range m.Inputs {
		byDefault := wording.Truncate(wording.OneLine(flow.Text(f.Default)), 40)
		if f.Required {
			byDefault = "(must be set)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Field, modelType(f), orDash(byDefault), wording.Truncate(wording.OneLine(f.Help), 100))
	}
	fmt.Fprintln(w, "\t\t\t\nOUTPUT\tTYPE\t\t")
	for _, p := range m.Outputs {
		fmt.Fprintf(w, "%s\t%s\t\t\n", p.Name, cmp.Or(p.Shown, p.Type))
	}
	return w.Flush()
}

// modelType returns the type of an input with its bounds, or its options if it has any.
func modelType(f admin.HostedInput) string {
	switch {
	case f.Options != nil:
		return wording.Truncate(strings.Join(f.Options, " | "), 60)
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s %g to %g", f.Type, *f.Min, *f.Max)
	case f.Min != nil:
		return fmt.Sprintf("%s from %g", f.Type, *f.Min)
	case f.Max != nil:
		return fmt.Sprintf("%s to %g", f.Type, *f.Max)
	}
	return string(f.Type)
}

// modelCompareCmd compares two versions of a model by their schemas and marks the
// changes that break a flow using the old one.
type modelCompareCmd struct {
	withoutDatabase
	Model string `arg:"" help:"owner/name."`
	Old   string `arg:"" help:"The version in use."`
	New   string `arg:"" optional:"" help:"The version to upgrade to; default is the newest."`
	JSON  bool   `help:"Print as JSON."`
}

// RunAPI has the server compare two versions of a model with the workspace's credential.
func (c modelCompareCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	path, _, err := hostedPath(c.Model)
	if err != nil {
		return err
	}
	changes, err := fetch[admin.HostedChanges](ctx, api, "GET", path+"/diff?"+url.Values{"from": {c.Old}, "to": {c.New}}.Encode(), nil)
	if err != nil {
		return noSuchModel(err, c.Model)
	}
	return c.print(s.Out, changes)
}

// print prints one change per line; a ! marks changes that can break a flow.
func (c modelCompareCmd) print(out io.Writer, changes admin.HostedChanges) error {
	if c.JSON {
		return printJSON(out, changes)
	}
	if len(changes.Changes) == 0 {
		fmt.Fprintln(out, "The inputs and outputs of the model did not change.")
	}
	for _, change := range changes.Changes {
		fmt.Fprintln(out, map[bool]string{true: "! ", false: "  "}[change.Breaking]+change.Sentence)
	}
	return nil
}
