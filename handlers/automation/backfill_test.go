package automation_test

import (
	"net/http"
	"net/url"
	"testing"

	"sluice/flow"
)

func TestBackfill_shows_the_times_before_it_starts_them(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.b.Post(e.path("/schedule"), dialog()).RedirectsTo(e.path(""))
	page := e.path("/" + e.only().ID + "/backfill")
	e.b.Get(e.path("/"+e.only().ID)).Has(page, "Backfill")
	e.b.Get(page).Is(http.StatusOK).Has("Backfill Morning digest", "Weekdays at 9:00 AM, Berlin", `value="2026-10-15"`, "Days in Berlin.").Lacks("Start backfill")
	e.b.Get(page+"?from=2026-10-12&until=2026-10-18").Is(http.StatusOK).Has("5 runs, from Oct 12, 2026, 9:00 AM to Oct 16, 2026, 9:00 AM.", "Start backfill")
	e.b.Get(page + "?from=2026-10-17&until=2026-10-18").Is(http.StatusOK).Has("No planned time in this range is left to run.").Lacks("Start backfill")
	e.b.Get(page + "?from=2026-10-18&until=2026-10-17").Is(http.StatusUnprocessableEntity).Has("Choose a day that is not before the first.")
	e.b.Get(page + "?from=soon&until=2026-10-17").Is(http.StatusUnprocessableEntity).Has("Choose a day.")
	e.b.Post(page, url.Values{"from": {"2026-10-12"}, "until": {"2026-10-18"}}).Is(http.StatusSeeOther)
	runs, err := e.Store.ListRuns(t.Context(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(e.flow), Trigger: flow.TriggerBatch, Limit: 10})
	if err != nil || len(runs) != 1 || runs[0].UserID == "" {
		t.Errorf("got %+v, %v, want one batch of the person", runs, err)
	}
	v := e.As(flow.MemberViewer)
	v.Get(page).Is(http.StatusForbidden)
	v.Post(page, url.Values{"from": {"2026-10-12"}, "until": {"2026-10-18"}}).Is(http.StatusForbidden)
	e.b.Post(e.path("/webhook"), hookForm("name", "Other"))
	for _, s := range e.list() {
		if s.Name == "other" {
			e.b.Get(e.path("/" + s.ID + "/backfill")).Is(http.StatusNotFound)
		}
	}
}
