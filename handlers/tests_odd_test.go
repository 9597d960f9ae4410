package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// jsonFlow passes JSON on.
const jsonFlow = `{"schema":"sluice.flow/v1","name":"Pass","nodes":[{"id":"in","kind":"input","config":{"name":"v","type":"json"}},{"id":"out","kind":"output","config":{"name":"v"}}],"edges":[{"from":"in.value","to":"out.value"}]}`

// TestChecks_of_odd_values tries numbers at the edge, members in another order, texts that look like numbers, and expressions and patterns that
// take forever.
func TestChecks_of_odd_values(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(jsonFlow)}
	long := `"` + strings.Repeat("a", 200_000) + `"`
	list := strings.TrimSuffix(strings.Repeat("1,", 300), ",")
	loop := "outputs.v.all(a, outputs.v.all(b, outputs.v.all(c, outputs.v.all(d, a + b + c + d >= 0))))"
	for i, r := range []struct{ v, check, want, reason string }{
		{`{"a":1,"b":[2,{"c":null}]}`, `{"output":"v","equals":{"b":[2,{"c":null}],"a":1}}`, "passed", ""},
		{`1`, `{"output":"v","equals":1.0}`, "passed", ""},
		{`1e2`, `{"output":"v","equals":100}`, "passed", ""},
		{`-0.0`, `{"output":"v","equals":0}`, "passed", ""},
		{`0.30000000000000004`, `{"output":"v","equals":0.3}`, "failed", "wanted 0.3"},
		{`0.30000000000000004`, `{"output":"v","equals":0.3,"within":1e-9}`, "passed", ""},
		{`9007199254740993`, `{"output":"v","equals":9007199254740992}`, "failed", "9007199254740993"},
		{`0.4`, `{"output":"v","equals":0.3,"within":0.1}`, "passed", ""},
		{`1.1`, `{"output":"v","equals":1,"within":0.1}`, "passed", ""},
		{`1.11`, `{"output":"v","equals":1,"within":0.1}`, "failed", "wanted 1"},
		{`-0.1`, `{"output":"v","equals":0.1,"within":0.2}`, "passed", ""},
		{`9007199254740993`, `{"output":"v","equals":9007199254740992,"within":0.5}`, "failed", "9007199254740993"},
		{`9007199254740993`, `{"output":"v","equals":9007199254740992,"within":1}`, "passed", ""},
		{`1e400`, `{"output":"v","equals":10e399,"within":0.1}`, "passed", ""},
		{`1e-999999999999`, `{"output":"v","equals":0,"within":0.1}`, "passed", ""},
		{`1e999999999999`, `{"output":"v","equals":1e999999999998,"within":1e300}`, "failed", "1e999999999999"},
		{`{"a":[0.4]}`, `{"output":"v","equals":{"a":[0.3]},"within":0.1}`, "passed", ""},
		{`1e308`, `{"output":"v","equals":-1e308,"within":1e300}`, "failed", ""},
		{`"1.0"`, `{"output":"v","equals":"1.05","within":0.1}`, "failed", `wanted "1.05"`},
		{`"1"`, `{"output":"v","equals":1,"within":5}`, "failed", `wanted 1, got "1"`},
		{`[1,2]`, `{"output":"v","equals":[1.05,2],"within":0.1}`, "passed", ""},
		{`{"id":7,"a":1}`, `{"output":"v","equals":{"a":1},"ignore":["/id","/nothing/here","/a/b"]}`, "passed", ""},
		{`{"a":1}`, `{"output":"v","equals":{"id":7,"a":1},"ignore":["/id"]}`, "passed", ""},
		{`{"a/b":{"~":1}}`, `{"output":"v","equals":{"a/b":{"~":2}},"ignore":["/a~1b/~0"]}`, "passed", ""},
		{`{"a":1}`, `{"output":"w","equals":1}`, "failed", "there is no output w"},
		{`1e999`, `{"output":"v","equals":1e999}`, "passed", ""},
		{`1e999`, `{"output":"v","equals":1,"within":1e300}`, "failed", ""},
		{`"{\"a\":1}"`, `{"output":"v","equals":{"a":1}}`, "failed", "wanted an object"},
		{`"NaN"`, `{"expression":"double(outputs.v)","min":0.1}`, "errored", "not a number"},
		{`2`, `{"expression":"double(outputs.v)","min":0.5}`, "errored", "score from 0 to 1"},
		{`0.5`, `{"expression":"double(outputs.v)"}`, "errored", "the check needs min"},
		{`0.5`, `{"expression":"double(outputs.v)","min":0.5}`, "passed", ""},
		{`1`, `{"expression":"outputs.missing == 1"}`, "errored", "missing"},
		{`[` + list + `]`, `{"expression":"` + loop + `"}`, "errored", ""},
		{long, `{"output":"v","matches":"^(a+)+$"}`, "passed", ""},
		{long, `{"output":"v","matches":"(a?){500}(a*)*(aa|a)*b$"}`, "errored", ""},
		{long, `{"output":"v","contains":"b"}`, "failed", "200"},
		{`"Straße"`, `{"output":"v","matches":"^\\p{L}+$"}`, "passed", ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			id := fmt.Sprintf("c%d", i)
			c.must(200, "PUT", "/cases/"+id, `{"inputs":{"v":`+r.v+`},"checks":[`+r.check+`]}`)
			var got testReport
			if err := json.Unmarshal([]byte(c.must(202, "POST", "/tests", `{"mode":"replay","cases":["`+id+`"]}`)), &got); err != nil {
				t.Fatal(err)
			}
			c.await(got.RunID)
			if err := json.Unmarshal([]byte(c.must(200, "GET", "/tests/"+got.ID+"?case="+id, "")), &got); err != nil {
				t.Fatal(err)
			}
			reason := ""
			for _, check := range got.Verdicts[0].Checks {
				reason += check.Reason
			}
			if got.Verdicts[0].State != r.want || !strings.Contains(reason, r.reason) || r.want != "passed" && reason == "" {
				t.Errorf("%.100s for %.100s: %s because %.300s", r.check, r.v, got.Verdicts[0].State, reason)
			}
		})
	}
}

// TestCases_of_odd_bodies sends cases that are no JSON, have members twice, or are too large.
func TestCases_of_odd_bodies(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(jsonFlow)}
	sized := func(n int) string { return `{"inputs":{"v":"` + strings.Repeat("x", n) + `"}}` }
	for name, r := range map[string]struct {
		body   string
		status int
		text   string
	}{
		"twice":            {`{"inputs":{"v":1,"v":2}}`, 400, "twice"},
		"a member twice":   {`{"tags":["a"],"tags":["b"]}`, 400, "twice"},
		"no UTF-8":         {"{\"inputs\":{\"v\":\"\xff\"}}", 400, ""},
		"half a pair":      {`{"inputs":{"v":"\ud800"}}`, 400, ""},
		"NaN":              {`{"inputs":{"v":NaN}}`, 400, ""},
		"within text":      {`{"checks":[{"output":"v","equals":1,"within":"much"}]}`, 422, "/checks/0/within"},
		"within negative":  {`{"checks":[{"output":"v","equals":1,"within":-1}]}`, 422, "/checks/0/within"},
		"ignore":           {`{"checks":[{"output":"v","equals":1,"ignore":["id"]}]}`, 422, "/checks/0/ignore/0"},
		"pattern":          {`{"checks":[{"output":"v","matches":"("}]}`, 422, "/checks/0/matches"},
		"a long pattern":   {`{"checks":[{"output":"v","matches":"` + strings.Repeat("a|", 2000) + `b"}]}`, 422, "is longer than 2,000 bytes"},
		"a huge pattern":   {`{"checks":[{"output":"v","matches":"((a{1000}){1000}){1000}"}]}`, 422, "/checks/0/matches"},
		"a Perl pattern":   {`{"checks":[{"output":"v","matches":"(?<=x)y"}]}`, 422, "(?<"},
		"an unknown check": {`{"checks":[{"output":"v","equal":1}]}`, 422, "equals"},
		"no checks":        {`{"checks":{}}`, 422, "/checks"},
		"no check":         {`{"checks":[null]}`, 422, "/checks/0"},
		"10,000 checks":    {`{"checks":[` + strings.TrimSuffix(strings.Repeat(`{"status":"succeeded"},`, 10_000), ",") + `]}`, 422, "at most 100 checks"},
		"deep":             {`{"inputs":{"v":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}}`, 400, ""},
		"deep schema":      {`{"checks":[{"output":"v","schema":` + strings.Repeat(`{"items":`, 5_000) + "{}" + strings.Repeat("}", 5_000) + `}]}`, 400, ""},
		"a BOM":            {"\ufeff" + `{"inputs":{"v":1}}`, 200, ""},
		"CRLF":             {"{\r\n\"inputs\": {\"v\": 1}\r\n}\r\n", 200, ""},
		"UTF-16":           {"\xff\xfe{\x00}\x00", 400, ""},
		"large numbers":    {`{"inputs":{"v":[1e400,-1e400,1e-400,123456789012345678901234567890]}}`, 200, ""},
		"within 1e400":     {`{"checks":[{"output":"v","equals":1,"within":1e400}]}`, 422, "/checks/0/within"},
		"repeat 1e400":     {`{"repeat":1e400}`, 422, "/repeat"},
		"repeat 1.5":       {`{"repeat":1.5}`, 422, "/repeat"},
		"a long tag":       {`{"tags":["` + strings.Repeat("x", 201) + `"]}`, 422, "/tags/0"},
		"another ID":       {`{"id":"other"}`, 200, `"id":"odd"`},
		"a run ID":         {`{"from_run":"run_1"}`, 422, "/from_run"},
		"two kinds":        {`{"checks":[{"output":"v","equals":1,"contains":"x"}]}`, 422, "not both"},
		"many checks":      {`{"checks":[` + strings.TrimSuffix(strings.Repeat(`{"status":"succeeded"},`, 101), ",") + `]}`, 422, "/checks"},
		"many judges":      {`{"checks":[` + strings.TrimSuffix(strings.Repeat(`{"judge":"Fine.","model":"a/b"},`, 11), ",") + `]}`, 422, "judges"},
		"even votes":       {`{"checks":[{"judge":"Fine.","model":"a/b","votes":2}]}`, 422, "/checks/0/votes"},
		"large":            {sized(1<<20 - 100), 200, ""},
		"too large":        {sized(1 << 20), 413, ""},
		"no object":        {`[]`, 400, ""},
		"a stub":           {`{"stubs":{"in":{"outputs":1}}}`, 422, "/stubs/in/outputs"},
		"an answer":        {`{"answers":{"ask":{"decision":"maybe"}}}`, 422, "/answers/ask/decision"},
		"a time":           {`{"now":"yesterday"}`, 422, "/now"},
		"a repeat":         {`{"repeat":11}`, 422, "/repeat"},
		"a pass":           {`{"repeat":2,"pass":3}`, 422, "/pass"},
	} {
		status, _, raw := c.send("PUT", "/v1/flow/"+c.flow+"/cases/odd", r.body)
		if status != r.status || !strings.Contains(raw, r.text) {
			t.Errorf("%s: %d %.300s, wanted %d with %q", name, status, raw, r.status, r.text)
		}
	}
	// The same case with its own members in another order is the same. The order of inputs counts: prompts have it.
	c.must(200, "PUT", "/cases/order", `{"inputs":{"v":{"a":1,"b":2}},"tags":["x"]}`)
	hash := func() (o struct{ Hash string }) {
		if err := json.Unmarshal([]byte(c.must(200, "GET", "/cases", "")), &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	was := hash()
	c.must(200, "PUT", "/cases/order", `{"tags":["x"],"inputs":{"v":{"a":1,"b":2}}}`)
	if now := hash(); now != was {
		t.Errorf("another order of members makes other cases")
	}
}

// TestCases_have_a_limit_of_all_together refuses more than 16 MiB of cases of a flow, however large each is.
func TestCases_have_a_limit_of_all_together(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(jsonFlow)}
	for i := range 17 {
		status, code, raw := c.send("PUT", fmt.Sprintf("/v1/flow/%s/cases/c%d", c.flow, i), `{"inputs":{"v":"`+strings.Repeat("x", 1<<20-100)+`"}}`)
		if i < 16 && status != 200 || i == 16 && code != "quota_exceeded" {
			t.Fatalf("case %d: %d %.300s", i, status, raw)
		}
	}
	if r := c.test(`{"mode":"replay"}`); r.State != "passed" || r.Candidates[0].Passed != 16 {
		t.Errorf("%+v", r)
	}
	c.must(204, "DELETE", "/cases/c3", "")
	c.must(200, "PUT", "/cases/c3", `{"inputs":{"v":1}}`)
}

// TestTests_of_one_flow_at_once fill the same results: both reports are of the first that was recorded.
func TestTests_of_one_flow_at_once(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
			{"id":"get","kind":"http_request","config":{"method":"GET","url":"%s/?word={{word}}"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"}]}`, world.URL))}
		for i := range 20 {
			c.must(200, "PUT", fmt.Sprintf("/cases/c%d", i), fmt.Sprintf(`{"inputs":{"word":"w%d"}}`, i))
		}
		var both [2]testReport
		for i := range both {
			if err := json.Unmarshal([]byte(c.must(202, "POST", "/tests", `{"mode":"fill"}`)), &both[i]); err != nil {
				t.Fatal(err)
			}
		}
		answers := [2]map[string]string{{}, {}}
		for i := range both {
			both[i] = c.ended(both[i])
			for _, row := range both[i].Cases {
				run, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, "", row.Results[0].RunID)
				if err != nil {
					t.Fatal(err)
				}
				answers[i][row.ID] = string(flow.EncodeJSON(run.Outputs))
			}
		}
		if both[0].State != "passed" || both[1].State != "passed" || len(answers[0]) != 20 {
			t.Fatalf("%+v", both)
		}
		for id, answer := range answers[0] {
			if answers[1][id] != answer {
				t.Errorf("%s: %s and %s", id, answer, answers[1][id])
			}
		}
	})
}

// TestTests_go_on_while_their_flow_changes renames and archives a flow, publishes another version and deletes the key, while its test runs.
func TestTests_go_on_while_their_flow_changes(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		gate, asked := make(chan struct{}), make(chan struct{}, 100)
		scriptedModel(t, h, func(*scripted.Request) scripted.Answer {
			asked <- struct{}{}
			<-gate
			return scripted.Answer{Text: "done"}
		})
		open := sync.OnceFunc(func() { close(gate) })
		t.Cleanup(open) // before the model is closed
		document := func(prompt string) string {
			return `{"schema":"sluice.flow/v1","name":"Slow","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"chat","kind":"chat","config":{"model":"fake/m","prompt":"` + prompt + ` {{word}}"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"chat.word"},{"from":"chat.text","to":"out.value"}]}`
		}
		owner := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(document("Say"))}
		brief := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), owner.flow}
		for i := range 6 {
			owner.must(200, "PUT", fmt.Sprintf("/cases/c%d", i), fmt.Sprintf(`{"inputs":{"word":"w%d"},"checks":[{"output":"answer","equals":"done"}]}`, i))
		}
		var r testReport
		if err := json.Unmarshal([]byte(brief.must(202, "POST", "/tests", `{"mode":"fill","concurrency":2}`)), &r); err != nil {
			t.Fatal(err)
		}
		<-asked
		h.Replace(flow.FlowID(owner.flow), document("Shout"))
		owner.must(200, "POST", "/publish", `{}`)
		owner.must(204, "DELETE", "/cases/c5", "")
		if err := h.Store.RenameSlug(t.Context(), flow.DefaultWorkspace, flow.FlowID(owner.flow), "another-name", false); err != nil {
			t.Fatal(err)
		}
		if status, _, raw := owner.send("POST", "/v1/flow/"+owner.flow+"/archive", ""); status >= 300 {
			t.Fatalf("%d %s", status, raw)
		}
		if status, _, raw := owner.send("DELETE", "/v1/keys/"+brief.key.ID, ""); status >= 300 {
			t.Fatalf("%d %s", status, raw)
		}
		open()
		if run := owner.await(r.RunID); run.State != flow.RunSucceeded {
			t.Fatalf("%+v", run.Error)
		}
		if status, _, raw := owner.send("POST", "/v1/flow/"+owner.flow+"/restore", ""); status >= 300 {
			t.Fatalf("%d %s", status, raw)
		}
		if r = owner.ended(r); r.State != "passed" || r.Candidates[0].Passed != 6 {
			t.Errorf("%+v", r)
		}
	})
}

// TestTests_stop_at_their_limit_with_what_they_have: cases beyond the limit of the test or the budget of the flow are
// errored, and the others keep their verdicts.
func TestTests_stop_at_their_limit_with_what_they_have(t *testing.T) {
	t.Parallel()
	t.Run("of the test", func(t *testing.T) {
		t.Parallel()
		testStopsAt(t, "", `{"mode":"fill","concurrency":1,"max_usd":2}`)
	})
	t.Run("of the flow", func(t *testing.T) {
		t.Parallel()
		testStopsAt(t, `{"usd_per_day":2}`, `{"mode":"fill","concurrency":1}`)
	})
}

// testStopsAt runs ten cases of a flow with these limits. Each case costs money.
func testStopsAt(t *testing.T, limits, request string) {
	t.Helper()
	h := webtest.Setup(t)
	var asked atomic.Int64
	scriptedModel(t, h, func(*scripted.Request) scripted.Answer {
		asked.Add(1)
		return scripted.Answer{Text: "done", Input: 1_000_000, Output: 1000}
	})
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Costs","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"chat","kind":"chat","config":{"model":"fake/m","prompt":"Say {{word}}","max_tokens":100}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"chat.word"},{"from":"chat.text","to":"out.value"}]}`)}
	for i := range 10 {
		c.must(200, "PUT", fmt.Sprintf("/cases/c%d", i), fmt.Sprintf(`{"inputs":{"word":"w%d"}}`, i))
	}
	if limits != "" {
		c.must(200, "PATCH", "/limits", limits)
	}
	r := c.test(request)
	got := r.Candidates[0]
	if got.Passed == 0 || got.Errored == 0 || got.Failed+got.Stale+got.Pending > 0 || int(asked.Load()) != got.Passed {
		t.Fatalf("%+v after %d calls", r, asked.Load())
	}
	for _, row := range r.Cases {
		if one := row.Results[0]; one.State == "errored" && !strings.Contains(one.Message, "budget_exceeded") {
			t.Errorf("%+v", one)
		}
	}
	// Recorded results cost nothing, also when the limit is used up.
	before := asked.Load()
	if r = c.test(`{"mode":"replay"}`); r.Candidates[0].Passed != got.Passed || r.Candidates[0].Stale != got.Errored || asked.Load() != before {
		t.Errorf("%+v", r)
	}
}

// TestTests_slow_down_when_a_provider_is_busy repeats calls that a provider refuses with 429. No case fails because of it.
func TestTests_slow_down_when_a_provider_is_busy(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	var asked atomic.Int64
	scriptedModel(t, h, func(*scripted.Request) scripted.Answer {
		if asked.Add(1)%2 == 1 {
			return scripted.Answer{Status: http.StatusTooManyRequests}
		}
		return scripted.Answer{Text: "done"}
	})
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Busy","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"chat","kind":"chat","config":{"model":"fake/m","prompt":"Say {{word}}"}},{"id":"out","kind":"output","config":{"name":"answer"}}],"edges":[{"from":"in.value","to":"chat.word"},{"from":"chat.text","to":"out.value"}]}`)}
	for i := range 4 {
		c.must(200, "PUT", fmt.Sprintf("/cases/c%d", i), fmt.Sprintf(`{"inputs":{"word":"w%d"}}`, i))
	}
	start := time.Now()
	if r := c.test(`{"mode":"fill"}`); r.State != "passed" {
		t.Errorf("%+v after %d calls and %s", r, asked.Load(), time.Since(start))
	}
}

// TestCases_of_deep_and_many_values_stay_readable stores values as deep as a request may have, and more values together than one may have. A file
// with all cases nests them deeper.
func TestCases_of_deep_and_many_values_stay_readable(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(jsonFlow)}
		deep := strings.Repeat("[", flow.MaxJSONDepth-2) + "1" + strings.Repeat("]", flow.MaxJSONDepth-2)
		c.must(200, "PUT", "/cases/deep", `{"inputs":{"v":1},"expected":{"w":`+deep+`}}`)
		for i := range 3 {
			c.must(200, "PUT", fmt.Sprintf("/cases/many%d", i), `{"inputs":{"v":[`+strings.Repeat("1,", 400_000)+`1]}}`)
		}
		c.must(200, "GET", "/cases", "")
		if r := c.test(`{"mode":"replay"}`); r.State != "passed" || len(r.Cases) != 4 {
			t.Errorf("%.1000v", r)
		}
		c.must(200, "GET", "/companions/tests", "")
		c.must(204, "DELETE", "/cases/many0", "")
	})
}
