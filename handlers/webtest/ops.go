package webtest

import (
	"encoding/json"
	"fmt"
)

// told is an answer of ops, as the canvas reads it.
type told struct {
	Rev            int64
	HTML, Problems string
	Missed         []struct {
		Rev             int64
		Tab, TxID, HTML string
		Ops             []json.RawMessage
	}
	Detail, Node string
}

// Told decodes the answer to a request of ops, of any status.
func (a *Answer) Told() told {
	a.T.Helper()
	var v told
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		a.T.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

// Transaction returns the body of a request of ops by the tab "t1": base is the
// revision that the ops are based on, ops are objects in JSON separated by commas.
func Transaction(base int64, txid, ops string) string {
	return fmt.Sprintf(`{"base": %d, "tab": "t1", "txid": %q, "ops": [%s]}`, base, txid, ops)
}
