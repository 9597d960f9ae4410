package web

import (
	"context"

	"sluice/flow"
	"sluice/views/components"
)

// Models lists the models and providers that users can choose from.
type Models interface {
	// ListModels returns the models for a task that match a query; "" matches all.
	ListModels(ctx context.Context, ws flow.WorkspaceID, task, query string) []components.ModelGroup
	// PinModel returns the config for a node that uses the current version of a
	// hosted model. It returns a *flow.Error if the model cannot be used.
	PinModel(ctx context.Context, ws flow.WorkspaceID, n *flow.Node, model string) (map[string]any, error)
	// UpgradeModel returns the changes in the newest version of a node's model.
	UpgradeModel(ctx context.Context, ws flow.WorkspaceID, n *flow.Node, edges []flow.Edge) (components.Upgrade, error)
	// Providers returns the providers whose hosts are known, so that a credential
	// needs only their name.
	Providers() []components.Option
	// NewCredential validates a credential and binds its secret to the hosts of
	// its provider, or to the given ones. anyHost allows a secret without hosts.
	NewCredential(ws flow.WorkspaceID, name, provider, secret string, hosts []string, anyHost bool) (flow.Credential, error)
}

// HostedTask is the task name of models on a hosting platform.
const HostedTask = "hosted"
