package components

// groupOrder is the order of the palette, with the word that each group's
// color is known by.
var KindGroups = []struct{ Title, word string }{
	{"API", "api"}, {"AI models", "model"}, {"Built in", "builtin"}, {"Text and data", "text"},
	{"Sources", "source"}, {"Flow control", "control"}, {"Code", "code"}, {"Canvas", "canvas"},
}

// GroupWord is the word that a group's color is known by.
func GroupWord(title string) string {
	for _, g := range KindGroups {
		if g.Title == title {
			return g.word
		}
	}
	return "canvas"
}

func IsKindGroup(title string) bool {
	for _, g := range KindGroups {
		if g.Title == title {
			return true
		}
	}
	return false
}
