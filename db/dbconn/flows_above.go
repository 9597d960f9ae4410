package dbconn

import "strings"

// EncodeFlowsAbove returns the column flows_above: each ID is between two spaces.
func EncodeFlowsAbove(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return " " + strings.Join(ids, " ") + " "
}

// DecodeFlowsAbove returns nil for a root run.
func DecodeFlowsAbove(column string) []string {
	if column == "" {
		return nil
	}
	return strings.Fields(column)
}
