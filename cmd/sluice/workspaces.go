package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/db"
	"sluice/flow"
	"sluice/handlers/admin"
)

// workspaceCmd groups the commands for workspaces.
type workspaceCmd struct {
	Limits workspaceLimitsCmd `cmd:"" help:"Storage and quotas: list, show, set."`
}

// workspaceLimitsCmd groups the commands for storage and quotas. Quotas protect a
// server with open sign-up from a single workspace that fills its disk.
type workspaceLimitsCmd struct {
	List workspaceLimitsListCmd `cmd:"" help:"List the storage and the quotas of all workspaces."`
	Show workspaceLimitsShowCmd `cmd:"" help:"Show the storage and the quotas of a workspace."`
	Set  workspaceLimitsSetCmd  `cmd:"" help:"Set the quotas of a workspace, instead of the server's defaults."`
}

// workspaceLimitsListCmd lists the storage of all workspaces.
type workspaceLimitsListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// workspacesPage is the number of workspaces per query. A server with open sign-up
// can have very many.
const workspacesPage = 500

// RunOn lists all workspaces.
func (c workspaceLimitsListCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	found, err := allStorage(ctx, store)
	if err != nil {
		return err
	}
	list := make([]admin.Workspace, len(found))
	for i := range found {
		list[i] = admin.WorkspaceObject(&found[i])
	}
	return c.print(s.Out, list)
}

// RunAPI lists the workspaces that the key may see: all for an operator's key, otherwise
// its own.
func (c workspaceLimitsListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := remoteWorkspaces(ctx, api)
	if err != nil {
		return err
	}
	return c.print(s.Out, list)
}

// print prints the workspaces with their use of each quota.
func (c workspaceLimitsListCmd) print(out io.Writer, list []admin.Workspace) error {
	return printList(out, c.JSON, list, identity, "ID\tSTORED\tFLOWS\tRUNS\tNAME", func(ws *admin.Workspace) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", ws.ID, usedOf(ws.Bytes, flow.Size), usedOf(ws.Flows, number), usedOf(ws.Runs, number), ws.Name)
	})
}

// remoteWorkspaces reads the workspaces that the key may see, page by page.
func remoteWorkspaces(ctx context.Context, api *client.Client) (all []admin.Workspace, err error) {
	for query := ""; ; {
		page, err := fetch[admin.WorkspaceList](ctx, api, "GET", "/v1/workspaces"+query, nil)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Workspaces...); page.NextCursor == nil {
			return all, nil
		}
		query = "?cursor=" + url.QueryEscape(*page.NextCursor)
	}
}

// findRemoteWorkspace returns the ID of the workspace with an ID or a unique name. An ID takes
// precedence over names.
func findRemoteWorkspace(ctx context.Context, api *client.Client, text string) (flow.WorkspaceID, error) {
	all, err := remoteWorkspaces(ctx, api)
	if err != nil {
		return "", err
	}
	var named []string
	for i := range all {
		if all[i].ID == text {
			return flow.WorkspaceID(text), nil
		}
		if all[i].Name == text {
			named = append(named, all[i].ID)
		}
	}
	return onlyWorkspace(text, named)
}

// allStorage returns the storage and quotas of every workspace, ordered by ID.
func allStorage(ctx context.Context, store *db.Store) (all []flow.WorkspaceStorage, err error) {
	for after := ""; ; after = all[len(all)-1].ID {
		page, err := store.ListStorage(ctx, after, workspacesPage)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < workspacesPage {
			return all, nil
		}
	}
}

// workspace returns the workspace that commands work on. The name in the settings has been
// replaced by the ID when the store was opened.
func (c *Config) workspace() flow.WorkspaceID {
	return cmp.Or(flow.WorkspaceID(c.Workspace), flow.DefaultWorkspace)
}

// findWorkspace returns the ID of the workspace with an ID or a unique name.
func findWorkspace(ctx context.Context, store *db.Store, text string) (flow.WorkspaceID, error) {
	ws, err := store.FindWorkspace(ctx, flow.WorkspaceID(text))
	if err == nil {
		return ws.ID, nil
	}
	if !flow.IsNotFound(err) {
		return "", err
	}
	all, err := allStorage(ctx, store)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range all {
		if all[i].Name == text {
			found = append(found, all[i].ID)
		}
	}
	return onlyWorkspace(text, found)
}

// workspacePath returns the path of a workspace in the API.
func workspacePath(id flow.WorkspaceID) string { return "/v1/workspaces/" + url.PathEscape(string(id)) }

// onlyWorkspace returns the only ID of found, the workspaces with a name. Several are a usage
// error.
func onlyWorkspace(name string, found []string) (flow.WorkspaceID, error) {
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no workspace %q; 'sluice workspace limits list' lists them", name)
	case 1:
		return flow.WorkspaceID(found[0]), nil
	}
	return "", usageError(fmt.Sprintf("%d workspaces are called %q; use an ID: %s", len(found), name, strings.Join(found, ", ")))
}

// workspaceLimitsShowCmd shows the storage and the quotas of one workspace.
type workspaceLimitsShowCmd struct {
	Workspace string `arg:"" help:"ID of the workspace, or its name if no other has it."`
	JSON      bool   `help:"Print as JSON."`
}

// RunOn shows one workspace.
func (c workspaceLimitsShowCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	id, err := findWorkspace(ctx, store, c.Workspace)
	if err != nil {
		return err
	}
	return showStorage(ctx, store, s, string(id), c.JSON)
}

// RunAPI shows the storage and the quotas of one workspace, named by its ID or its name.
func (c workspaceLimitsShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	id, err := findRemoteWorkspace(ctx, api, c.Workspace)
	if err != nil {
		return err
	}
	ws, err := fetch[admin.Workspace](ctx, api, "GET", workspacePath(id), nil)
	if err != nil {
		return err
	}
	return printStorage(s.Out, ws, c.JSON)
}

// showStorage prints the storage and the quotas of a workspace.
func showStorage(ctx context.Context, store *db.Store, s *streams, id string, asJSON bool) error {
	ws, err := store.FindStorage(ctx, flow.WorkspaceID(id))
	if err != nil {
		return notFound(err, "there is no such workspace; 'sluice workspace limits list' lists them")
	}
	return printStorage(s.Out, admin.WorkspaceObject(ws), asJSON)
}

// printStorage prints the storage of one workspace, and for each quota whether it was set for
// the workspace or is the server's default.
func printStorage(out io.Writer, ws admin.Workspace, asJSON bool) error {
	if asJSON {
		return printJSON(out, ws)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "Workspace\t%s\t%s\n", ws.ID, ws.Name)
	for _, row := range []struct {
		title  string
		quota  admin.Quota
		amount func(n int64) string
	}{{"Stored", ws.Bytes, flow.Size}, {"Flows", ws.Flows, number}, {"Runs kept", ws.Runs, number}} {
		note := "set for this workspace"
		if row.quota.Default {
			note = "server's default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", row.title, usedOf(row.quota, row.amount), note)
	}
	return w.Flush()
}

// usedOf returns the text "used of limit" in the unit of the quota.
func usedOf(q admin.Quota, amount func(n int64) string) string {
	limit := "unlimited"
	if q.Limit != nil {
		limit = amount(*q.Limit)
	}
	return amount(q.Used) + " of " + limit
}

// number formats a count without separators, so that it can be typed as a flag.
func number(n int64) string { return strconv.FormatInt(n, 10) }

// workspaceLimitsSetCmd changes quotas of one workspace. A quota below the current use
// deletes nothing; it only rejects writes that would use more.
type workspaceLimitsSetCmd struct {
	Workspace string     `arg:"" help:"ID of the workspace, or its name if no other has it."`
	Bytes     quotaBytes `help:"Bytes it may store: a size such as 5GiB, unlimited, or default for the server's default." placeholder:"SIZE"`
	Flows     quotaCount `help:"Flows it may have: a number, unlimited or default." placeholder:"N"`
	Runs      quotaCount `help:"Runs it may keep: a number, unlimited or default." placeholder:"N"`
	JSON      bool       `help:"Print as JSON."`
}

// given returns the quotas that have flags. Without any, it returns a usage error.
func (c workspaceLimitsSetCmd) given() (map[flow.QuotaUnit]int64, error) {
	given := map[flow.QuotaUnit]int64{flow.QuotaBytes: int64(c.Bytes), flow.QuotaFlows: int64(c.Flows), flow.QuotaRuns: int64(c.Runs)}
	maps.DeleteFunc(given, func(_ flow.QuotaUnit, n int64) bool { return n == quotaUnset })
	if len(given) == 0 {
		return nil, usageError("give at least one of --bytes, --flows and --runs")
	}
	return given, nil
}

// Run sets the quotas that have flags, keeps the others and shows the result. The change is
// recorded in the audit log of the workspace, which its members can read.
func (c workspaceLimitsSetCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	given, err := c.given()
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	id, err := findWorkspace(ctx, store, c.Workspace)
	if err != nil {
		return err
	}
	ws, err := store.FindStorage(ctx, id)
	if err != nil {
		return notFound(err, "there is no such workspace; 'sluice workspace limits list' lists them")
	}
	own := ws.Own
	for k, n := range given {
		switch n {
		case quotaUnlimited:
			n = 0
		case quotaDefault:
			n = flow.DefaultQuota
		}
		own.Set(k, n)
	}
	if err := store.SetQuota(ctx, flow.WorkspaceID(ws.ID), own); err != nil {
		return err
	}
	err = store.Audit(ctx, flow.WorkspaceID(ws.ID), "cli", "workspace.limits", ws.ID, admin.QuotaChanges(ws.Own, own))
	return errors.Join(err, showStorage(ctx, store, s, ws.ID, c.JSON))
}

// RunAPI sets quotas over HTTP, which only an operator's key may do.
func (c workspaceLimitsSetCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	given, err := c.given()
	if err != nil {
		return err
	}
	body := map[flow.QuotaUnit]any{}
	for k, n := range given {
		switch n {
		case quotaUnlimited:
			body[k] = nil
		case quotaDefault:
			body[k] = "default"
		default:
			body[k] = n
		}
	}
	id, err := findRemoteWorkspace(ctx, api, c.Workspace)
	if err != nil {
		return err
	}
	ws, err := fetch[admin.Workspace](ctx, api, "PATCH", workspacePath(id), body)
	if err != nil {
		return err
	}
	return printStorage(s.Out, ws, c.JSON)
}
