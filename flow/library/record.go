package library

import (
	"sluice/flow"
	"sluice/flow/audit"
)

// Recorder is the part of a store that makes an act and its entry in the audit log one write.
type Recorder = audit.Recorder

// Every act of this package is recorded; see package audit.
var (
	record  = audit.Record
	entry   = audit.Entry
	nothing = audit.Nothing
)

// loosens reports whether a limit would allow more than before; 0 means no limit.
func loosens(before, after int64) bool { return before > 0 && (after == 0 || after > before) }

// errLoosens returns the error for a key with limits that tries to raise a limit, and so to bypass
// its own. of is a noun with an article.
func errLoosens(of string) error {
	return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits, so it may only lower the limits of %s. Use a key without limits.", of)
}
