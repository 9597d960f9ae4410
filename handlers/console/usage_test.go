package console_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberViewer)
	b.Get("/usage").Is(http.StatusOK).Has("No usage in the last 30 days", "Open a flow and run it")
	id := h.Flow(webtest.EchoFlow)
	h.RunEcho(flow.DefaultWorkspace, id, "one")
	h.RunEcho(flow.DefaultWorkspace, id, "two")
	today := time.Now().UTC().Format("Jan 2, 2006")
	for name, c := range map[string]struct {
		query string
		has   []string
		lacks []string
	}{
		"a month":          {"", []string{"<b>2</b>", "no earlier data", "Echo &lt;b&gt;", "2 runs", "100%", today, `value="30" selected`}, nil},
		"a week":           {"range=7", []string{"<b>2</b>", `value="7" selected`}, nil},
		"one flow":         {"flow=" + id, []string{"<b>2</b>"}, nil},
		"another flow":     {"flow=flow_01jd6v0q8zzzzzzzzzzzzzzzzz", []string{"<b>0</b>", "No usage in this range."}, []string{"<b>2</b>"}},
		"one model":        {"model=openai%2Fgpt-x", []string{"choose all models"}, []string{"Latency</h2>"}},
		"days of long ago": {"range=custom&from=2020-02-27&until=2020-03-01", []string{"Feb 29, 2020", "<b>0</b>"}, []string{today}},
		"custom, untyped":  {"range=custom", []string{`type="date"`, "<b>2</b>"}, nil},
	} {
		t.Run(name, func(t *testing.T) { b.Get("/usage?" + c.query).Is(http.StatusOK).Has(c.has...).Lacks(c.lacks...) })
	}
	b.Get("/usage").Has("Runs by hour: 2 in all", "Cost by hour", "Tokens by day", "The last 24 hours, in UTC.")
	for _, query := range []string{"range=custom", "model=openai%2Fgpt-x", "key=key_01jd6v0q8zzzzzzzzzzzzzzzzz"} { // hours count neither models nor keys
		b.Get("/usage?" + query).Has("Tokens by day").Lacks("by hour")
	}
	for query, says := range map[string]string{
		"from=x&until=2020-01-01":          "Choose a day.",
		"from=2020-01-02&until=2020-01-01": "that is not before the first",
		"from=2010-01-01&until=2020-01-01": "at most one year",
	} {
		b.Get("/usage?range=custom&"+query).Is(http.StatusUnprocessableEntity).Has(says, "2020-01-01")
	}
	h.Anonymous().Get("/usage").RedirectsTo("/sign-in?next=%2Fusage")
}

func TestUsage_ignores_other_workspaces(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	if err := h.Store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Others"}); err != nil {
		t.Fatal(err)
	}
	f, err := h.Library.Import(context.Background(), "ws_other", "", []byte(webtest.EchoFlow))
	if err != nil {
		t.Fatal(err)
	}
	h.RunEcho("ws_other", string(f.ID), "theirs")
	h.As(flow.MemberOwner).Get("/usage").Has("No usage in the last 30 days").Lacks(string(f.ID))
}

func TestUsage_shows_budgets(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	key := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "thrifty", Prefix: "slu_1", Hash: "h", USDPerDay: 5e9}
	if err := h.Store.CreateKey(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	id := h.Flow(webtest.EchoFlow)
	if err := h.Store.SetFlowLimits(context.Background(), flow.DefaultWorkspace, flow.FlowID(id), flow.Limits{RunsPerDay: 3}); err != nil {
		t.Fatal(err)
	}
	h.RunEcho(flow.DefaultWorkspace, id, "one")
	h.As(flow.MemberViewer).Get("/usage").Has("thrifty", "$0 of $5.00", `href="/flows/`+id+`/limits"`, "1 of 3 runs")
}

func TestUsage_shows_quotas(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	b.Get("/usage").Has("Storage", "no limit").Lacks("Almost full", "Full.")
	h.Flow(webtest.EchoFlow)
	set := func(q flow.Storage) {
		t.Helper()
		if err := h.Store.SetQuota(context.Background(), flow.DefaultWorkspace, q); err != nil {
			t.Fatal(err)
		}
	}
	set(flow.Storage{Bytes: 1 << 20, Flows: 1, Runs: 10_000})
	b.Get("/usage").Has("of 1 MiB", "1 of 1", "0 of 10,000", "Full. New flows are refused. Archive flows").Lacks("Uploads, new runs")
	b.Post("/flows", nil).Is(http.StatusPaymentRequired).Has("has 1 of at most 1 flows")
	set(flow.Storage{Bytes: 100})
	b.Get("/usage").Has("of 100 bytes", "Full. Uploads, new runs and larger drafts are refused. Delete runs or files")
}
