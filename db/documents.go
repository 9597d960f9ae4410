package db

import (
	"fmt"
	"sluice/db/gen"
)

// pinDocument stores a document under its hash, unless the workspace has it,
// and returns how many bytes that adds.
func (tx *Tx) pinDocument(ws, hash string, document []byte) (added int64, err error) {
	n, err := tx.PinDocument(tx.ctx, gen.PinDocumentParams{WorkspaceID: ws, Hash: hash, Body: string(document)})
	if err != nil {
		return 0, fmt.Errorf("pin document: %w", err)
	}
	return n * int64(len(document)), nil
}
