package automation

import (
	"errors"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
	"sluice/handlers/web"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"
)

// backfill is a range of planned times of a schedule.
type backfill struct {
	page        view.BackfillPage
	from, until time.Time // zero before a range was chosen
}

// readBackfill reads the form. Days are those of the zone of the schedule.
func readBackfill(c *call, f *flow.Flow, t *triggers.Trigger, value func(name string) string) (*backfill, error) {
	if t.Kind != triggers.Schedule {
		return nil, web.ErrNotFound
	}
	zone, err := c.workspaceZone()
	if err != nil {
		return nil, err
	}
	plan, err := t.Config.Schedule(zone)
	if err != nil {
		return nil, err
	}
	b := &backfill{page: view.BackfillPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, ID: t.ID, Name: title(t.Name), Sentence: plan.Sentence(), Zone: schedule.City(plan.Timezone()),
		From: value("from"), Until: value("until"), All: value("all") != "", Errors: components.Errors{}}}
	if b.page.From == "" && b.page.Until == "" {
		now := c.s.Now().In(plan.Location())
		b.page.From, b.page.Until = now.AddDate(0, 0, -7).Format(time.DateOnly), now.Format(time.DateOnly)
		return b, nil
	}
	day := func(text, field string) time.Time {
		at, err := time.ParseInLocation(time.DateOnly, text, plan.Location())
		if err != nil {
			b.page.Errors[field] = "Choose a day."
		}
		return at
	}
	b.from, b.until = day(b.page.From, "from"), day(b.page.Until, "until").AddDate(0, 0, 1).Add(-time.Second)
	if len(b.page.Errors) == 0 && b.until.Before(b.from) {
		b.page.Errors["until"] = "Choose a day that is not before the first."
	}
	return b, nil
}

// fill counts the planned times and what they will cost.
func (b *backfill) fill(c *call, t *triggers.Trigger) error {
	rows, err := c.s.triggers.Planned(c.Ctx(), t, b.from, b.until, !b.page.All)
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code != flow.CodeInternal {
		b.page.Errors[""] = e.Message
		return nil
	}
	if err != nil {
		return err
	}
	b.page.Shown, b.page.Count = true, len(rows)
	if len(rows) == 0 {
		return nil
	}
	shown := func(row *flow.Object) string {
		at, _ := time.Parse(time.RFC3339, flow.Text(row.Get("scheduled_at")))
		return at.In(b.from.Location()).Format("Jan 2, 2006, 3:04 PM")
	}
	b.page.First, b.page.Last = shown(rows[0]), shown(rows[len(rows)-1])
	heads, err := c.s.Store.ListRuns(c.Ctx(), flow.RunFilter{WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, Trigger: flow.TriggerSchedule, Limit: rowMarks})
	if err != nil {
		return err
	}
	var sum flow.NanoUSD
	n := 0
	for i := range heads {
		if heads[i].State == flow.RunSucceeded {
			sum, n = sum+heads[i].Usage.CostNanoUSD, n+1
		}
	}
	if n > 0 {
		b.page.Micros = sum.Micros() / int64(n) * int64(len(rows))
	}
	return nil
}

// showBackfill is GET backfill: the form and, once a range was chosen, what it would start.
func showBackfill(c *call, f *flow.Flow, t *triggers.Trigger) error {
	b, err := readBackfill(c, f, t, c.QueryParam)
	if err != nil {
		return err
	}
	if !b.from.IsZero() && len(b.page.Errors) == 0 {
		if err := b.fill(c, t); err != nil {
			return err
		}
	}
	return renderBackfill(c, b)
}

// renderBackfill renders the page.
func renderBackfill(c *call, b *backfill) error {
	status := http.StatusOK
	if len(b.page.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return c.Render(status, view.Backfill(c.Page("Backfill "+b.page.Name, layout.SectionFlows), b.page))
}

// startBackfill is POST backfill: a batch of the signed-in person.
func startBackfill(c *call, f *flow.Flow, t *triggers.Trigger) error {
	b, err := readBackfill(c, f, t, c.FormValue)
	if err != nil {
		return err
	}
	if b.from.IsZero() || len(b.page.Errors) > 0 {
		return renderBackfill(c, b)
	}
	body := &flow.Object{}
	body.Set("from", b.from.UTC().Format(time.RFC3339))
	body.Set("to", b.until.UTC().Format(time.RFC3339))
	body.Set("only_missed", !b.page.All)
	var started struct {
		Run struct {
			ID string `json:"run_id"`
		}
	}
	refused, err := c.ask(http.MethodPost, "/v1/flow/"+string(f.ID)+"/triggers/"+t.ID+"/backfill", flow.EncodeJSON(body), &started)
	if err != nil {
		return err
	}
	if refused != nil {
		b.page.Errors[""] = refused.Detail
		return renderBackfill(c, b)
	}
	return c.Redirect(view.BatchPath(string(f.ID), started.Run.ID))
}
