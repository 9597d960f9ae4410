package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// limitRoutes returns the routes of the settings of a flow: name, description, tags and limits.
func (s *Server) limitRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/settings", web.Viewer, web.OnFlow((*call).showLimits)},
		{http.MethodPost, "/flows/:flow/settings", web.Editor, web.Posted(web.OnFlow((*call).saveSettings))},
		{http.MethodGet, "/flows/:flow/limits", web.Viewer, web.OnFlow((*call).showLimits)},
		{http.MethodPost, "/flows/:flow/limits", web.Editor, web.Posted(web.OnFlow((*call).saveLimits))},
	}
}

// showLimits is GET /flows/{id}/settings, and /limits for older links.
func (c *call) showLimits(f *flow.Flow) error {
	return c.limitsForm(http.StatusOK, f, limitsFormOf(f))
}

// limitsFormOf returns the form with the current limits of a flow.
func limitsFormOf(f *flow.Flow) consoleview.LimitsForm {
	return consoleview.LimitsForm{
		MaxRunning: countText(f.MaxRunning), MaxQueued: countText(f.MaxQueued),
		RunsPerDay: countText(f.RunsPerDay), USDPerDay: dollarsText(f.USDPerDay), AllowUnpriced: f.AllowUnpriced,
	}
}

// countText formats a limit for its field, which is empty for 0, no limit.
func countText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// dollarsText formats a budget for its field, which is empty for 0, no limit.
func dollarsText(nano flow.NanoUSD) string {
	if nano == 0 {
		return ""
	}
	return nano.String()
}

// limitsForm renders the settings with today's usage. With a budget in dollars, it
// also lists the models without a price, because the budget cannot limit them.
func (c *call) limitsForm(status int, f *flow.Flow, form consoleview.LimitsForm) error {
	form.FlowID, form.Name, form.MayEdit = string(f.ID), f.Name, c.MayEdit()
	budgets, err := c.s.Store.FlowBudgets(c.Ctx(), f)
	if err != nil {
		return err
	}
	form.Budgets = budgetRows(budgets)
	d, _ := document.ParseDocument(f.Draft)
	if f.USDPerDay > 0 && d != nil {
		if form.Unpriced, err = document.Unpriced(c.Ctx(), document.Charges(d, c.s.Kinds), c.s.Prices, c.WorkspaceID()); err != nil {
			return err
		}
	}
	settings := consoleview.FlowSettings{FlowID: string(f.ID), Name: f.Name, LiveVersion: f.LiveVersion, TypedName: f.Name, Tags: strings.Join(f.Tags, ", "), Limits: form, MayEdit: form.MayEdit}
	if d != nil {
		settings.Description = d.Description
	}
	return c.renderSettings(status, settings)
}

// renderSettings renders the settings of a flow.
func (c *call) renderSettings(status int, settings consoleview.FlowSettings) error {
	return c.Render(status, consoleview.FlowSettingsPage(c.Page("Settings of "+settings.Name, layout.SectionFlows), settings))
}

// saveSettings is POST /flows/{id}/settings: it saves the name, the description and the tags. Name
// and description are changed by an edit of the draft, so users who have the flow open see the
// change and can undo it.
func (c *call) saveSettings(f *flow.Flow) error {
	name, description, tagsText := c.Trimmed("name"), c.Trimmed("description"), c.Trimmed("tags")
	problems := components.Errors{}
	tags, err := library.ParseTags(tagsText)
	if err != nil {
		problems["tags"] = flow.AsError(err).Message
	}
	if name == "" {
		problems["name"] = "Enter a name."
	}
	if len(problems) == 0 {
		r := document.EditRequest{Base: f.Rev, Tab: "form", TxID: rand.Text(), Ops: []document.Edit{{Op: document.OpName, Name: &name, Description: &description}}}
		_, err := c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), f.ID, c.Member.UserID, r)
		if e, ok := errors.AsType[*flow.Error](err); ok {
			problems["name"] = e.Message
			if len(e.Fields) > 0 {
				problems["name"] = e.Fields[0].Detail
			}
		} else if err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		limits := limitsFormOf(f)
		limits.FlowID, limits.Name, limits.MayEdit = string(f.ID), f.Name, true
		return c.renderSettings(http.StatusUnprocessableEntity, consoleview.FlowSettings{
			FlowID: string(f.ID), Name: f.Name, LiveVersion: f.LiveVersion, TypedName: name, Description: description, Tags: tagsText, MayEdit: true, Errors: problems,
			Limits: limits,
		})
	}
	if err := c.s.Store.TagFlow(c.Ctx(), c.WorkspaceID(), f.ID, tags); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The settings were saved.")
	return c.Redirect("/flows/" + string(f.ID) + "/settings")
}

// saveLimits is POST /flows/{id}/limits.
func (c *call) saveLimits(f *flow.Flow) error {
	form := consoleview.LimitsForm{
		MaxRunning: c.Trimmed("max_running"), MaxQueued: c.Trimmed("max_queued"),
		RunsPerDay: c.Trimmed("runs_per_day"), USDPerDay: c.Trimmed("usd_per_day"), AllowUnpriced: c.Trimmed("allow_unpriced") != "",
	}
	limits := readLimits(&form)
	if form.Errors = limits.Check(); len(form.Errors) > 0 {
		return c.limitsForm(http.StatusUnprocessableEntity, f, form)
	}
	if err := c.s.limits.SetFlow(c.Ctx(), c.Actor(), nil, f, limits); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The limits were saved.")
	return c.Redirect("/flows/" + string(f.ID) + "/limits")
}

// readLimits parses the fields of the form. An invalid number becomes -1, which
// flow.Limits.Check refuses.
func readLimits(form *consoleview.LimitsForm) flow.Limits {
	count := func(text string) int64 {
		if text == "" {
			return 0
		}
		n, ok := flow.ParseCount(text)
		if !ok {
			return -1
		}
		return n
	}
	l := flow.Limits{MaxRunning: count(form.MaxRunning), MaxQueued: count(form.MaxQueued), RunsPerDay: count(form.RunsPerDay), AllowUnpriced: form.AllowUnpriced}
	if form.USDPerDay != "" {
		usd, ok := flow.ParseUSD(form.USDPerDay)
		if l.USDPerDay = usd; !ok {
			l.USDPerDay = -1
		}
	}
	return l
}
