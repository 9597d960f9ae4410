package flow

// WorkspaceID is the ID of a workspace, the boundary that separates the data of
// customers. Almost every query takes one beside another ID; the type keeps the
// two from being swapped.
type WorkspaceID string
