package main

import (
	"context"
	"strings"

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
