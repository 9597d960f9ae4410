package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"sluice/db"
	"sluice/flow"
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

// Run lists all workspaces.
func (c workspaceLimitsListCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	list, err := allStorage(ctx, store)
	if err != nil {
		return err
	}
	return printList(s.out, c.JSON, list, newStorageObject, "ID\tSTORED\tFLOWS\tRUNS\tNAME", func(ws *flow.WorkspaceStorage) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", ws.ID, usedOf(ws, flow.QuotaBytes), usedOf(ws, flow.QuotaFlows), usedOf(ws, flow.QuotaRuns), ws.Name)
	})
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

// findWorkspace returns the ID of the workspace with an ID or, if only one has it, a name.
func findWorkspace(ctx context.Context, store *db.Store, text string) (flow.WorkspaceID, error) {
	ws, err := store.FindWorkspace(ctx, flow.WorkspaceID(text))
	if err == nil {
		return ws.ID, nil
	}
	if !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
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
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no workspace %q; 'sluice workspace limits list' lists them", text)
	case 1:
		return flow.WorkspaceID(found[0]), nil
	}
	return "", usageError(fmt.Sprintf("%d workspaces are called %q; use an ID: %s", len(found), text, strings.Join(found, ", ")))
}

// workspaceLimitsShowCmd shows the storage and the quotas of one workspace.
type workspaceLimitsShowCmd struct {
	Workspace string `arg:"" help:"ID of the workspace, or its name if no other has it."`
	JSON      bool   `help:"Print as JSON."`
}

// Run shows one workspace.
func (c workspaceLimitsShowCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	id, err := findWorkspace(ctx, store, c.Workspace)
	if err != nil {
		return err
	}
	return showStorage(ctx, store, s, string(id), c.JSON)
}

// showStorage prints the storage and the quotas of a workspace.
func showStorage(ctx context.Context, store *db.Store, s *streams, id string, asJSON bool) error {
	ws, err := store.FindStorage(ctx, flow.WorkspaceID(id))
	if err != nil {
		return notFound(err, "there is no such workspace; 'sluice workspace limits list' lists them")
	}
	if asJSON {
		return printJSON(s.out, newStorageObject(ws))
	}
	w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "Workspace\t%s\t%s\n", ws.ID, ws.Name)
	for _, k := range flow.QuotaUnits {
		note := "server's default"
		if ws.Own.Get(k) != flow.DefaultQuota {
			note = "set for this workspace"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", map[flow.QuotaUnit]string{flow.QuotaBytes: "Stored", flow.QuotaFlows: "Flows", flow.QuotaRuns: "Runs kept"}[k], usedOf(ws, k), note)
	}
	return w.Flush()
}

// usedOf returns "used of limit" in the unit of the quota.
func usedOf(ws *flow.WorkspaceStorage, k flow.QuotaUnit) string {
	amount := func(n int64) string {
		if k == flow.QuotaBytes {
			return flow.Size(n)
		}
		return fmt.Sprint(n)
	}
	limit := "unlimited"
	if n := ws.Limit.Get(k); n > 0 {
		limit = amount(n)
	}
	return amount(ws.Used.Get(k)) + " of " + limit
}

// workspaceLimitsSetCmd changes quotas of one workspace. A quota below the current
// use deletes nothing; it only rejects what would use more.
type workspaceLimitsSetCmd struct {
	Workspace string     `arg:"" help:"ID of the workspace, or its name if no other has it."`
	Bytes     quotaBytes `help:"Bytes it may store: a size such as 5GiB, unlimited, or default for the server's default." placeholder:"SIZE"`
	Flows     quotaCount `help:"Flows it may have: a number, unlimited or default." placeholder:"N"`
	Runs      quotaCount `help:"Runs it may keep: a number, unlimited or default." placeholder:"N"`
	JSON      bool       `help:"Print as JSON."`
}

// Run sets what is given, keeps the rest and shows the result. The change is recorded in
// the audit log of the workspace, whose members can see who limited them.
func (c workspaceLimitsSetCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	given := map[flow.QuotaUnit]int64{flow.QuotaBytes: int64(c.Bytes), flow.QuotaFlows: int64(c.Flows), flow.QuotaRuns: int64(c.Runs)}
	if given[flow.QuotaBytes] == quotaUnset && given[flow.QuotaFlows] == quotaUnset && given[flow.QuotaRuns] == quotaUnset {
		return usageError("give at least one of --bytes, --flows and --runs")
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
	own, changes := ws.Own, []string(nil)
	for _, k := range flow.QuotaUnits {
		switch given[k] {
		case quotaUnset:
			continue
		case quotaUnlimited:
			own.Set(k, 0)
		case quotaDefault:
			own.Set(k, flow.DefaultQuota)
		default:
			own.Set(k, given[k])
		}
		changes = append(changes, fmt.Sprintf("%s from %s to %s", k, ownQuotaText(ws.Own, k), ownQuotaText(own, k)))
	}
	if err := store.SetQuota(ctx, flow.WorkspaceID(ws.ID), own); err != nil {
		return err
	}
	err = store.Audit(ctx, flow.WorkspaceID(ws.ID), "cli", "workspace.limits", ws.ID, strings.Join(changes, ", "))
	return errors.Join(err, showStorage(ctx, store, s, ws.ID, c.JSON))
}

// ownQuotaText returns the quota that the operator set for a workspace.
func ownQuotaText(own flow.Storage, k flow.QuotaUnit) string {
	switch n := own.Get(k); {
	case n == flow.DefaultQuota:
		return "default"
	case n == 0:
		return "unlimited"
	case k == flow.QuotaBytes:
		return flow.Size(n)
	default:
		return fmt.Sprint(n)
	}
}

// storageObject is a workspace's storage as JSON. A null limit means unlimited. Unlike
// the maps of other commands it is a struct, because two commands print it.
type storageObject struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	Bytes quotaObject `json:"bytes"`
	Flows quotaObject `json:"flows"`
	Runs  quotaObject `json:"runs"`
}

// quotaObject is the use and the limit of one kind of storage as JSON.
type quotaObject struct {
	Used    int64  `json:"used"`
	Limit   *int64 `json:"limit"`
	Default bool   `json:"default"` // the server's default applies
}

// newStorageObject converts the storage of a workspace for JSON.
func newStorageObject(ws *flow.WorkspaceStorage) storageObject {
	quota := func(k flow.QuotaUnit) quotaObject {
		o := quotaObject{Used: ws.Used.Get(k), Default: ws.Own.Get(k) == flow.DefaultQuota}
		if n := ws.Limit.Get(k); n > 0 {
			o.Limit = &n
		}
		return o
	}
	return storageObject{ID: ws.ID, Name: ws.Name, Bytes: quota(flow.QuotaBytes), Flows: quota(flow.QuotaFlows), Runs: quota(flow.QuotaRuns)}
}
