package web

import (
	"context"
	"sluice/flow"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// Models knows which models there are to choose from, and the providers that a
// credential can be for.
type Models interface {
	// ListModels finds models for a task by words; all of them when there are none.
	ListModels(ctx context.Context, ws, task, query string) []components.ModelGroup
	// PinModel is the config that makes a node use a hosted model, as it is now.
	// An *Error says why the model cannot be used.
	PinModel(ctx context.Context, ws string, n *flow.Node, model string) (map[string]any, error)
	// UpgradeModel says what the newest version of a node's model changes.
	UpgradeModel(ctx context.Context, ws string, n *flow.Node, edges []flow.Edge) (editorview.ModelUpgrade, error)
	// Providers are those that a credential can be made for by name alone.
	Providers() []components.Option
	// NewCredential checks what somebody typed, and binds the secret to the
	// hosts of its provider, or to those that were typed. anyHost allows a
	// plain secret without hosts.
	NewCredential(ws, name, provider, secret string, hosts []string, anyHost bool) (flow.Credential, error)
}

// HostedTask is the task of models that a hosting platform runs.
const HostedTask = "hosted"
