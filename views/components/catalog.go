package components

// ModelGroup is models of one place: a provider, a server on this machine, or
// a category of the hosted ones.
type ModelGroup struct {
	Title string
	// Note is a sentence where the models of a place could not be listed.
	Note   string
	Models []ModelChoice
}

// ModelChoice is a model as a node names it.
type ModelChoice struct {
	ID, Title, Text string
	// Detail is what is known of its size and price, in a few words.
	Detail string
}
