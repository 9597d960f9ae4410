// Package companion describes the revisions of companions: files beside a flow or a workspace, such as SLUG.triggers.json. Which
// companions there are, and what is in them, is in package library.
package companion

import (
	"strconv"
	"time"

	"sluice/flow"
)

// MaxBodies is how many revisions of a companion are kept.
const MaxBodies = 50

// ID names a companion.
type ID struct {
	WorkspaceID flow.WorkspaceID
	Owner       string // ID of the flow or of the workspace
	Name        string // such as triggers
}

// State is the revision of a companion.
type State struct {
	ID
	Rev        int64     // counts changes; 0 if nothing was ever in it
	Hash       string    // of the body; empty if it is not known
	AppliedRev int64     // the revision that the last apply made or found
	Source     string    // where the last apply came from
	ChangedAt  time.Time // the last revision
}

// Tag returns the ETag of the revision.
func (s *State) Tag() string { return `"rev-` + strconv.FormatInt(s.Rev, 10) + `"` }

// Body is a revision of a companion. In lists it has no content.
type Body struct {
	Rev       int64
	Hash      string
	Content   []byte // the file
	By        string // user or key
	CreatedAt time.Time
}
