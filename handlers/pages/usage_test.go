package pages

import (
	"context"
	"net/http"
	"testing"
	"time"

	"sluice/flow"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberViewer)
	b.get("/usage").is(http.StatusOK).has("Nothing was used in the last 30 days", "Open a flow and run it")
	id := h.flow(echoFlow)
	h.echoed(flow.DefaultWorkspace, id, "one")
	h.echoed(flow.DefaultWorkspace, id, "two")
	today := time.Now().UTC().Format("2 Jan 2006")
	for name, c := range map[string]struct {
		query string
		has   []string
		lacks []string
	}{
		"a month":          {"", []string{"<b>2</b>", "none before", "Echo &lt;b&gt;", "2 runs", "100 %", today, `value="30" selected`}, nil},
		"a week":           {"range=7", []string{"<b>2</b>", `value="7" selected`}, nil},
		"one flow":         {"flow=" + id, []string{"<b>2</b>"}, nil},
		"another flow":     {"flow=flow_01jd6v0q8zzzzzzzzzzzzzzzzz", []string{"<b>0</b>", "Nothing in these days."}, []string{"<b>2</b>"}},
		"one model":        {"model=openai%2Fgpt-x", []string{"choose all models"}, []string{"Latency</h2>"}},
		"days of long ago": {"range=custom&from=2020-02-27&until=2020-03-01", []string{"29 Feb 2020", "<b>0</b>"}, []string{today}},
		"custom, untyped":  {"range=custom", []string{`type="date"`, "<b>2</b>"}, nil},
	} {
		t.Run(name, func(t *testing.T) { b.get("/usage?" + c.query).is(http.StatusOK).has(c.has...).lacks(c.lacks...) })
	}
	for query, says := range map[string]string{
		"from=x&until=2020-01-01":          "Choose a day.",
		"from=2020-01-02&until=2020-01-01": "must not be before the first",
		"from=2010-01-01&until=2020-01-01": "a year at most",
	} {
		b.get("/usage?range=custom&"+query).is(http.StatusUnprocessableEntity).has(says, "2020-01-01")
	}
	h.stranger().get("/usage").see("/sign-in?next=%2Fusage")
}

func TestUsage_of_others_does_not_count(t *testing.T) {
	t.Parallel()
	h := setup(t)
	if err := h.store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Others"}); err != nil {
		t.Fatal(err)
	}
	f, err := h.library.Import(context.Background(), "ws_other", "", []byte(echoFlow))
	if err != nil {
		t.Fatal(err)
	}
	h.echoed("ws_other", f.ID, "theirs")
	h.as(flow.MemberOwner).get("/usage").has("Nothing was used in the last 30 days").lacks(f.ID)
}

func TestUsage_shows_budgets(t *testing.T) {
	t.Parallel()
	h := setup(t)
	key := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "thrifty", Prefix: "slu_1", Hash: "h", USDPerDay: 5e9}
	if err := h.store.CreateKey(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	id := h.flow(echoFlow)
	if err := h.store.SetFlowLimits(context.Background(), flow.DefaultWorkspace, id, flow.Limits{RunsPerDay: 3}); err != nil {
		t.Fatal(err)
	}
	h.echoed(flow.DefaultWorkspace, id, "one")
	h.as(flow.MemberViewer).get("/usage").has("thrifty", "$0 of $5.00", `href="/flows/`+id+`/limits"`, "1 of 3 runs")
}

func TestUsage_shows_quotas(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	b.get("/usage").has("Storage", "no limit").lacks("Almost full", "Full.")
	h.flow(echoFlow)
	set := func(q flow.Storage) {
		t.Helper()
		if err := h.store.SetQuota(context.Background(), flow.DefaultWorkspace, q); err != nil {
			t.Fatal(err)
		}
	}
	set(flow.Storage{Bytes: 1 << 20, Flows: 1, Runs: 10_000})
	b.get("/usage").has("of 1 MiB", "1 of 1", "0 of 10,000", "Full. New flows are refused. Archive flows").lacks("Uploads, new runs")
	b.post("/flows", nil).is(http.StatusPaymentRequired).has("has 1 of at most 1 flows")
	set(flow.Storage{Bytes: 100})
	b.get("/usage").has("of 100 bytes", "Full. Uploads, new runs and larger drafts are refused. Delete runs or files")
}
