package console

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// findAnyFlow finds the flow of the path, archived or not.
func (c *call) findAnyFlow() (*flow.Flow, error) {
	return c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flow.FlowID(c.Param("flow")))
}

// backToFlows redirects to the list of flows and keeps its filter.
func (c *call) backToFlows() error {
	if from := web.LocalPath(web.Referrer(c.Request())); strings.HasPrefix(from, "/flows?") {
		return c.Redirect(from)
	}
	return c.Redirect("/flows")
}

// toastUndo shows a message on the next page with a button that reverts the
// action.
func (c *call) toastUndo(text, undo string) {
	c.Flash(layout.Toast{Tone: components.ToneOK, Text: text, Undo: undo})
}

// notFileName matches characters that are replaced in file names.
var notFileName = regexp.MustCompile(`[^a-z0-9]+`)

// exportFlow is GET /flows/{id}/export: the draft or, with ?version=, a
// published version as a file.
func (c *call) exportFlow(f *flow.Flow) error {
	n, suffix := int64(0), ""
	if text := c.QueryParam("version"); text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 1 {
			return web.ErrNotFound
		}
		suffix = fmt.Sprintf(".v%d", n)
	}
	data, err := c.s.Library.Export(c.Ctx(), c.WorkspaceID(), f.ID, n)
	if err != nil {
		return err
	}
	name := strings.Trim(notFileName.ReplaceAllString(strings.ToLower(f.Name), "-"), "-")
	if name == "" {
		name = "flow"
	}
	h := c.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%.80s%s.json"`, name, suffix))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	c.LimitWrite()
	return c.Blob(http.StatusOK, "application/json; charset=utf-8", data)
}

// duplicateFlow is POST /flows/{id}/duplicate.
func (c *call) duplicateFlow() error {
	if _, err := c.FindFlow(); err != nil {
		return err
	}
	f, err := c.s.Library.DuplicateFlow(c.Ctx(), c.Actor(), c.WorkspaceID(), flow.FlowID(c.Param("flow")))
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+f.Name+"” was created. It is a draft until you publish it.")
	return c.Redirect("/flows/" + string(f.ID))
}

// archiveFlow is POST /flows/{id}/archive. The API of an archived flow responds with
// not_found.
func (c *call) archiveFlow(f *flow.Flow) error {
	if err := c.s.Library.Archive(c.Ctx(), f, c.Actor()); err != nil {
		return err
	}
	text := "“" + f.Name + "” was archived."
	if f.LiveVersion > 0 {
		text = "“" + f.Name + "” was archived. Its API now responds with not_found."
	}
	c.toastUndo(text, "/flows/"+string(f.ID)+"/restore")
	return c.backToFlows()
}

// restoreFlow is POST /flows/{id}/restore. It is idempotent.
func (c *call) restoreFlow(f *flow.Flow) error {
	if f.ArchivedAt.IsZero() {
		return c.Redirect("/flows")
	}
	if err := c.s.Library.Restore(c.Ctx(), f, c.Actor()); err != nil {
		return err
	}
	text := "“" + f.Name + "” was restored."
	if f.LiveVersion > 0 {
		text = fmt.Sprintf("“%s” was restored. v%d can be called again.", f.Name, f.LiveVersion)
	}
	c.Toast(components.ToneOK, text)
	return c.Redirect("/flows")
}

// showTags is GET /flows/{id}/tags.
func (c *call) showTags(f *flow.Flow) error {
	return c.tagsForm(http.StatusOK, f, strings.Join(f.Tags, ", "), nil)
}

// tagsForm renders the tags of a flow, with the other tags of the workspace to
// choose from.
func (c *call) tagsForm(status int, f *flow.Flow, text string, errors components.Errors) error {
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	form := consoleview.TagsForm{FlowID: string(f.ID), Name: f.Name, Tags: text, Errors: errors}
	own, _ := library.ParseTags(text)
	for _, tag := range allTags(heads) {
		if !slices.ContainsFunc(own, func(t string) bool { return strings.EqualFold(t, tag) }) {
			form.Known = append(form.Known, tag)
		}
	}
	return c.Render(status, consoleview.FlowTags(c.Page("Tags", layout.SectionFlows), form))
}

// saveTags is POST /flows/{id}/tags.
func (c *call) saveTags(f *flow.Flow) error {
	form := c.Request().PostForm
	tags, err := library.ParseTags(strings.Join(append([]string{form.Get("tags")}, form["add"]...), ","))
	if err != nil {
		return c.tagsForm(http.StatusUnprocessableEntity, f, form.Get("tags"), components.Errors{"tags": flow.AsError(err).Message})
	}
	if err := c.s.Store.TagFlow(c.Ctx(), c.WorkspaceID(), f.ID, tags); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The tags of “"+f.Name+"” were saved.")
	return c.Redirect("/flows")
}
