package components

// KindGroups are the groups of node kinds in the order of the palette. Short and Icon are for
// the rail, to which the palette is reduced in narrow windows.
var KindGroups = []struct{ Title, word, Short, Icon string }{
	{"API", "api", "API", "log-in"},
	{"AI models", "model", "Models", "message-square"},
	{"Built in", "builtin", "Built in", "tags"},
	{"Text and data", "text", "Text", "braces"},
	{"Sources", "source", "Sources", "file-text"},
	{"Flow control", "control", "Control", "split"},
	{"Code", "code", "Code", "code"},
	{"Canvas", "canvas", "Notes", "sticky-note"},
}

// GroupWord returns the slug of a group, which determines its color.
func GroupWord(title string) string {
	for _, g := range KindGroups {
		if g.Title == title {
			return g.word
		}
	}
	return "canvas"
}

// IsKindGroup reports whether a title is one of KindGroups. A kind may name another group,
// which the palette then adds.
func IsKindGroup(title string) bool {
	for _, g := range KindGroups {
		if g.Title == title {
			return true
		}
	}
	return false
}
