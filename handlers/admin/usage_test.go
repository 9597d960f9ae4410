package admin_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// groups returns the list of a report.
func groups(r *reply) (list []map[string]any) {
	r.t.Helper()
	for _, g := range r.want(200, "").body["usage"].([]any) {
		list = append(list, g.(map[string]any))
	}
	return list
}

func total(g map[string]any) float64 { return g["runs"].(map[string]any)["total"].(float64) }

func TestUsage(t *testing.T) {
	t.Parallel()
	e := setup(t)
	first, second := e.PublishedFlow(webtest.Greeting), e.PublishedFlow(webtest.Greeting)
	caller, text := e.key(flow.Key{Name: "shop", Scopes: []flow.Scope{flow.ScopeRun}})
	_, reader := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
	_, narrow := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, Flows: []string{second}})
	for _, id := range []string{first, first, second} {
		e.send(text, "POST", "/v1/flow/"+id+"/run", `{"who": "Ada"}`).want(200, "")
	}

	t.Run("by day lists every day", func(t *testing.T) {
		days := groups(e.send(reader, "GET", "/v1/usage", ""))
		today := time.Now().UTC().Format(time.DateOnly)
		if len(days) != 30 || days[29]["day"] != today || total(days[29]) != 3 || total(days[0]) != 0 {
			t.Errorf("days: %v", days)
		}
	})
	t.Run("by flow names them", func(t *testing.T) {
		a := e.send(reader, "GET", "/v1/usage?by=flow", "")
		list := groups(a)
		if len(list) != 2 || list[0]["flow_id"] != first || list[0]["name"] != "Greet" || total(list[0]) != 2 || total(list[1]) != 1 || total(a.body["total"].(map[string]any)) != 3 {
			t.Errorf("flows: %s", a.raw)
		}
	})
	t.Run("by key names them", func(t *testing.T) {
		list := groups(e.send(reader, "GET", "/v1/usage?by=key", ""))
		if len(list) != 1 || list[0]["key_id"] != caller.ID || list[0]["name"] != "shop" {
			t.Errorf("keys: %v", list)
		}
	})
	t.Run("by model counts no runs", func(t *testing.T) {
		if list := groups(e.send(reader, "GET", "/v1/usage?by=model", "")); len(list) != 0 {
			t.Errorf("models: %v", list)
		}
	})
	t.Run("has pages", func(t *testing.T) {
		e.send(narrow, "GET", "/v1/usage?by=flow&limit=1", "").want(200, "")
		for _, by := range []string{"flow", "key", "day"} {
			whole := e.send(reader, "GET", "/v1/usage?by="+by, "")
			all, query, read := groups(whole), "/v1/usage?by="+by+"&limit=1", []map[string]any{}
			for range all {
				page := e.send(reader, "GET", query, "")
				if got := total(page.body["total"].(map[string]any)); got != 3 || len(groups(page)) != 1 {
					t.Fatalf("a page by %s: %s", by, page.raw)
				}
				read = append(read, groups(page)...)
				next, _ := page.body["next_cursor"].(string)
				query = "/v1/usage?by=" + by + "&limit=1&cursor=" + next
				if more := len(read) < len(all); (next != "") != more {
					t.Fatalf("by %s, after %d of %d groups: %s", by, len(read), len(all), page.raw)
				}
			}
			if !reflect.DeepEqual(read, all) || whole.body["next_cursor"] != nil {
				t.Errorf("pages by %s: %v, want %v", by, read, all)
			}
		}
	})
	t.Run("a key with a list sees its flows only", func(t *testing.T) {
		list := groups(e.send(narrow, "GET", "/v1/usage?by=flow", ""))
		if len(list) != 1 || list[0]["flow_id"] != second {
			t.Errorf("flows: %v", list)
		}
	})
	t.Run("takes a range of days", func(t *testing.T) {
		a := e.send(reader, "GET", "/v1/usage?from=2026-01-30&to=2026-02-01", "")
		var days []string
		for _, g := range groups(a) {
			days = append(days, g["day"].(string))
		}
		if !slices.Equal(days, []string{"2026-01-30", "2026-01-31", "2026-02-01"}) {
			t.Errorf("days: %v", days)
		}
	})
	t.Run("refuses what it does not know", func(t *testing.T) {
		for _, query := range []string{"by=hour", "from=x", "to=2026-02-30", "from=2026-02-02&to=2026-02-01", "from=2024-01-01&to=2026-01-01", "by=day&by=key", "limit=0", "limit=301", "cursor=x", "cursor=YWZ0ZXIgeA"} {
			e.send(reader, "GET", "/v1/usage?"+query, "").want(422, flow.CodeInputInvalid)
		}
	})
	t.Run("needs the scope read", func(t *testing.T) {
		e.send(text, "GET", "/v1/usage", "").want(403, flow.CodeScopeMissing)
		e.send("", "GET", "/v1/usage", "").want(401, flow.CodeKeyMissing)
	})
}
