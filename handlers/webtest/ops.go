package webtest

import (
	"encoding/json"
	"fmt"
)

// editReply is the response to an edit, as the canvas reads it.
type editReply struct {
	Rev            int64
	HTML, Problems string
	Missed         []struct {
		Rev             int64
		Tab, TxID, HTML string
		Ops             []json.RawMessage
	}
	Detail, Node string
}

// EditReply decodes the response to an edit, whatever its status.
func (a *Answer) EditReply() editReply {
	a.T.Helper()
	var v editReply
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		a.T.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

// Transaction returns the body of an edit by the tab "t1". base is the revision on which
// the operations are based; ops are JSON objects separated by commas.
func Transaction(base int64, txid, ops string) string {
	return fmt.Sprintf(`{"base": %d, "tab": "t1", "txid": %q, "ops": [%s]}`, base, txid, ops)
}
