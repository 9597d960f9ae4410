package flow

// WorkspaceID is the ID of a workspace, the boundary that separates the data of
// customers. Almost every query takes one beside another ID; the type keeps the
// two from being swapped.
type WorkspaceID string

// FlowID is the ID of a flow and RunID that of a run. They stand side by side in
// queries, links and events.
type (
	FlowID string
	RunID  string
)
