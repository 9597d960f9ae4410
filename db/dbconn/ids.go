package dbconn

import "strings"

// EncodeIDs returns a column with IDs: each is between two spaces.
func EncodeIDs[T ~string](ids []T) (column string) {
	for _, id := range ids {
		column += " " + string(id)
	}
	if column != "" {
		column += " "
	}
	return column
}

// DecodeIDs returns nil for an empty column.
func DecodeIDs[T ~string](column string) (ids []T) {
	for id := range strings.FieldsSeq(column) {
		ids = append(ids, T(id))
	}
	return ids
}
