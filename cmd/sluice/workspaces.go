package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
)

// workspaceCmd groups the commands for workspaces.
type workspaceCmd struct {
	Limits   workspaceLimitsCmd   `cmd:"" help:"Storage and quotas: list, show, set."`
	Timezone workspaceTimezoneCmd `cmd:"" help:"Show or set the time zone of the workspace, which its schedules follow."`
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

// workspacesPath is the path of the workspaces in the API.
const workspacesPath = "/v1/workspaces"

// RunAPI lists the workspaces that the key may see, with their use of each quota: all for the
// operator, otherwise the key's own.
func (c workspaceLimitsListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return printPages(ctx, api, s, c.JSON, workspacesPath, "workspaces", "ID\tSTORED\tFLOWS\tRUNS\tNAME", func(ws *admin.Workspace) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", ws.ID, usedOf(ws.Bytes, flow.Size), usedOf(ws.Flows, number), usedOf(ws.Runs, number), ws.Name)
	})
}

// findWorkspaceID returns the ID of the workspace with an ID or a unique name. An ID takes
// precedence over names.
func findWorkspaceID(ctx context.Context, api *client.Client, text string) (flow.WorkspaceID, error) {
	all, _, err := client.List[admin.Workspace](ctx, api, workspacesPath, "workspaces")
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

// workspacePath returns the path of a workspace in the API.
func workspacePath(id flow.WorkspaceID) string {
	return workspacesPath + "/" + url.PathEscape(string(id))
}

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

// RunAPI shows the storage and the quotas of one workspace, named by its ID or its name.
func (c workspaceLimitsShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	id, err := findWorkspaceID(ctx, api, c.Workspace)
	if err != nil {
		return err
	}
	ws, err := fetch[admin.Workspace](ctx, api, "GET", workspacePath(id), nil)
	if err != nil {
		return err
	}
	return printStorage(s.Out, ws, c.JSON)
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

// RunAPI sets the quotas that have flags, keeps the others and shows the result. Only the operator
// may do so. The change is recorded in the audit log of the workspace, which its members can read.
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
	id, err := findWorkspaceID(ctx, api, c.Workspace)
	if err != nil {
		return err
	}
	ws, err := fetch[admin.Workspace](ctx, api, "PATCH", workspacePath(id), body)
	if err != nil {
		return err
	}
	return printStorage(s.Out, ws, c.JSON)
}

// workspaceTimezoneCmd shows or sets the time zone that schedules follow.
type workspaceTimezoneCmd struct {
	Timezone string `arg:"" optional:"" help:"IANA name such as Europe/Berlin; without it the time zone is shown."`
}

// RunAPI shows or sets the time zone of the workspace of the key.
func (c workspaceTimezoneCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	method, body := "GET", any(nil)
	if c.Timezone != "" {
		method, body = "PUT", map[string]any{"timezone": c.Timezone}
	}
	zone, err := fetch[admin.WorkspaceTimezone](ctx, api, method, "/v1/timezone", body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, zone.Timezone)
	return err
}
