package editor

import "sluice/views/components"

// ModelList is what a person finds who looks for a model.
type ModelList struct {
	Query  string
	Groups []components.ModelGroup
	// More is set if there are more than are shown.
	More bool
}

// found counts the models.
func (l ModelList) found() (n int) {
	for _, g := range l.Groups {
		n += len(g.Models)
	}
	return n
}

// ModelUpgrade says what another version of a node's model would change.
type ModelUpgrade struct {
	FlowID, Node, Model string
	// Newest is true where there is nothing newer.
	Newest  bool
	Changes []ModelChange
	// Misfits are values and edges that stay and do not fit any more.
	Misfits []string
}

// ModelChange is one difference between versions.
type ModelChange struct {
	Sentence string
	Breaking bool
}

// CredentialForm makes a credential from within a flow.
type CredentialForm struct {
	FlowID, Name, Provider string
	Hosts                  string
	AnyHost                bool
	Providers              []components.Option
	Errors                 components.Errors
}
