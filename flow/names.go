package flow

import (
	"maps"
	"slices"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// closest returns `; did you mean "x"?` for the known name nearest to name, or
// nothing when none is near.
func closest[V any](name string, known map[string]V) string {
	best, least := "", 3
	for _, k := range sortedNames(known) {
		if d := editDistance(name, k); d < least && d < max(len(name), len(k))/2+1 {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// editDistance is Levenshtein's, over bytes; long names are cut, since a name
// that long is not a slip of the finger.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
