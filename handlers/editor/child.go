package editor

import (
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
)

// childResponse is the response to the canvas: the new flow, and the edits that put a node which
// runs it into the place of the selected nodes.
type childResponse struct {
	Flow string          `json:"flow"`
	Ops  []document.Edit `json:"ops"`
}

// newChild is POST /flows/{id}/child: it makes a published flow of the nodes with the IDs in
// "node". The canvas applies the edits in the response as one step of its history.
func (c *call) newChild(f *flow.Flow) error {
	rev, err := parseRevision(c.FormValue("rev"))
	if err != nil {
		return err
	}
	name := strings.TrimSpace(c.FormValue("name"))
	switch nodes := c.Request().Form["node"]; {
	case rev != f.Rev:
		err = flow.Errorf(flow.CodePreconditionFailed, "The flow was changed elsewhere. Try again.")
	case name == "" || utf8.RuneCountInString(name) > document.MaxNameLength:
		err = flow.Errorf(flow.CodeInputInvalid, "Enter a name with at most %d characters.", document.MaxNameLength)
	case len(nodes) > flow.MaxNodes:
		err = flow.Errorf(flow.CodeInputInvalid, "Select at most %d nodes.", flow.MaxNodes)
	default:
		var child *flow.Flow
		var ops []document.Edit
		if child, ops, err = library.NewChild(c.Ctx(), c.s.Library, c.Actor(), f, nodes, name); err == nil {
			c.s.AnnounceLive(child.ID, 1)
			return c.respondJSON(http.StatusOK, childResponse{string(child.ID), ops})
		}
	}
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 {
		e.Message = "Fix this first: " + e.Fields[0].Detail
	}
	return c.respondOpsError(err)
}
