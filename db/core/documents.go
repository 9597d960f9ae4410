package core

import (
	"fmt"

	"sluice/db/gen"
)

// AddDocument stores a document under its hash and returns the number of bytes
// added, which is 0 if the workspace already has the document.
func (tx *Tx) AddDocument(ws, hash string, document []byte) (added int64, err error) {
	n, err := tx.PinDocument(tx.Ctx, gen.PinDocumentParams{WorkspaceID: ws, Hash: hash, Body: string(document)})
	if err != nil {
		return 0, fmt.Errorf("pin document: %w", err)
	}
	return n * int64(len(document)), nil
}
