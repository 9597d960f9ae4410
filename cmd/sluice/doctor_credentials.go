package main

import (
	"context"
	"strings"

	"sluice/cmd/sluice/catalog"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/nodes"
)

// examineCredentials reports credentials that cannot be decrypted or that a flow could send
// to any host, and flows that contain secrets in plain text.
func (c *Config) examineCredentials(ctx context.Context, f *findings, store *db.Store) {
	sealed, unbound, err := store.ExamineCredentials(ctx)
	if err != nil {
		f.add("credentials", verdictBad, "", "%v", err)
		return
	}
	if len(sealed) > 0 {
		f.add("credentials", verdictBad, "They were encrypted with another master key. Set the right one in SLUICE_MASTER_KEY or SLUICE_MASTER_KEY_FILE, or enter the secrets again under Credentials.",
			"%s cannot be opened with this master key: %s.", count(int64(len(sealed)), "credential", "credentials"), credentialNames(sealed))
	}
	switch {
	case len(unbound) > 0 && c.refuseUnbound():
		f.add("credentials", verdictWarn, "Enter their hosts under Credentials, or with 'sluice credential hosts NAME --host HOST'.",
			"%s without hosts and not sent, because SLUICE_UNBOUND_CREDENTIALS is refuse: %s.", count(int64(len(unbound)), "credential is", "credentials are"), credentialNames(unbound))
	case len(unbound) > 0:
		f.add("credentials", verdictWarn, "Enter their hosts under Credentials, or with 'sluice credential hosts NAME --host HOST'. SLUICE_UNBOUND_CREDENTIALS=refuse stops them until then.",
			"%s can be sent anywhere: %s.", count(int64(len(unbound)), "credential", "credentials"), credentialNames(unbound))
	case len(sealed) == 0:
		f.add("credentials", verdictOK, "", "All credentials can be opened and are bound to hosts.")
	}
	f.literalSecrets(ctx, store)
	c.examineTools(ctx, f, store)
}

// examineTools asks the MCP servers of all workspaces whether the tools that flows use are still as they were allowed.
func (c *Config) examineTools(ctx context.Context, f *findings, store *db.Store) {
	const name = "tools of MCP servers"
	workspaces, err := store.ListWorkspaceIDs(ctx)
	if err != nil {
		f.add(name, verdictBad, "", "%v", err)
		return
	}
	var servers *catalog.Credentials
	for _, w := range workspaces {
		list, err := store.ListCredentials(ctx, flow.WorkspaceID(w))
		if err != nil {
			f.add(name, verdictBad, "", "%v", err)
			return
		}
		for _, k := range list {
			if k.Provider != flow.ProviderMCP {
				continue
			}
			if servers == nil {
				up, err := newUpstreams(ctx, c)
				if err != nil {
					f.add(name, verdictBad, "", "%v", err)
					return
				}
				servers = catalog.NewCredentials(up, store)
			}
			f.serverTools(ctx, name, store, servers, k)
		}
	}
}

// serverTools compares the tools of one server.
func (f *findings) serverTools(ctx context.Context, name string, store *db.Store, servers *catalog.Credentials, k flow.Credential) {
	shown := credentialNames([]flow.Credential{k})
	check, err := library.CompareTools(ctx, store, servers, k)
	switch {
	case err != nil:
		f.add(name, verdictWarn, "Calls of its tools fail until it answers.", "%s: %s", shown, flow.AsError(err).Message)
	case len(check.Changed()) > 0:
		f.add(name, verdictWarn, "They are not called until somebody accepts the changes: open the node in the builder and press Check tools.", "%s describes tools differently than flows allow. %s.", shown, strings.Join(check.Changed(), "; "))
	default:
		f.add(name, verdictOK, "", "%s has the tools that flows use.", shown)
	}
}

// literalSecrets reports flows with a secret in their document. The editor moves secrets
// to credentials when a flow is changed or published, so only documents from earlier
// releases can have one.
func (f *findings) literalSecrets(ctx context.Context, store *db.Store) {
	workspaces, err := store.ListWorkspaceIDs(ctx)
	var flows []string
	for _, w := range workspaces {
		if err == nil {
			var more []string
			more, err = library.LiteralSecrets(ctx, store, flow.WorkspaceID(w), nodes.New(nodes.Deps{}))
			flows = append(flows, more...)
		}
	}
	switch {
	case err != nil:
		f.add("secrets in flows", verdictBad, "", "%v", err)
	case len(flows) > 0:
		f.add("secrets in flows", verdictWarn, "Publish them again to move the secrets to credentials. Older versions and the edit history keep them, so rotate the secrets at their source.",
			"%s a secret in clear: %s.", count(int64(len(flows)), "flow holds", "flows hold"), strings.Join(flows, ", "))
	}
}

// credentialNames lists the names of credentials, with the workspace unless it
// is the default one.
func credentialNames(list []flow.Credential) string {
	names := make([]string, len(list))
	for i, c := range list {
		if names[i] = c.Name; c.WorkspaceID != flow.DefaultWorkspace {
			names[i] += string(" (" + c.WorkspaceID + ")")
		}
	}
	return strings.Join(names, ", ")
}
