package dbconn

import (
	"strings"

	"sluice/flow"
)

// EncodeFlowsAbove returns the column flows_above: each ID is between two spaces.
func EncodeFlowsAbove(ids []flow.FlowID) (column string) {
	for _, id := range ids {
		column += " " + string(id)
	}
	if column != "" {
		column += " "
	}
	return column
}

// DecodeFlowsAbove returns nil for a root run.
func DecodeFlowsAbove(column string) (ids []flow.FlowID) {
	for id := range strings.FieldsSeq(column) {
		ids = append(ids, flow.FlowID(id))
	}
	return ids
}
