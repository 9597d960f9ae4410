package cases

import (
	"testing"

	"sluice/flow"
	"sluice/flow/cases"
	view "sluice/views/cases"
)

func TestCheckRows_keep_every_check(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ check, kind, value string }{
		{`{"output":"label","equals":"refund"}`, "equals", "refund"},
		{`{"output":"label","equals":"5"}`, "equals", `"5"`},
		{`{"output":"n","equals":5}`, "equals", "5"},
		{`{"output":"n","equals":{"a":[1,null]},"watch":true}`, "equals", `{"a":[1,null]}`},
		{`{"output":"n","equals":1,"within":0.1}`, "json", `{"output":"n","equals":1,"within":0.1}`},
		{`{"output":"label","one_of":["a","b c",3]}`, "one_of", "a\nb c\n3"},
		{`{"output":"t","contains":"yes"}`, "contains", "yes"},
		{`{"output":"t","contains":["a","b"]}`, "contains", "a\nb"},
		{`{"output":"t","contains":["a"]}`, "json", `{"output":"t","contains":["a"]}`},
		{`{"output":"t","not_contains":"un-\nfortunately"}`, "json", `{"output":"t","not_contains":"un-\nfortunately"}`},
		{`{"output":"t","matches":"^a+$"}`, "matches", "^a+$"},
		{`{"output":"t","schema":{"type":"string"}}`, "schema", `{"type":"string"}`},
		{`{"expected":true}`, "expected", ""},
		{`{"output":"t","expected":true}`, "expected", ""},
		{`{"status":"failed","code":"http_failed"}`, "status", "failed http_failed"},
		{`{"steps":{"refund":"skipped","answer":"succeeded"}}`, "steps", "refund: skipped\nanswer: succeeded"},
		{`{"sends":{"hook":null}}`, "sends", `{"hook":null}`},
		{`{"limits":{"usd":0.01,"ms":2000}}`, "limits", "usd: 0.01\nms: 2000"},
		{`{"expression":"outputs.n > 1"}`, "expression", "outputs.n > 1"},
		{`{"expression":"score","min":0.5}`, "expression", "score"},
		{`{"output":"t","similar":true,"min":0.9}`, "similar", ""},
		{`{"output":"t","similar":"Hello","model":"openai/text-embedding-3-small"}`, "similar", "Hello"},
		{`{"flow":"checker","min":0}`, "flow", "checker"},
		{`{"judge":"Is polite.","model":"openai/gpt-5-mini","votes":5,"against":"baseline","min":0.75,"watch":true}`, "judge", "Is polite."},
		{`{"name":"short","status":"succeeded"}`, "json", `{"name":"short","status":"succeeded"}`},
	} {
		body, err := flow.DecodeJSON([]byte(`{"id":"a","checks":[` + c.check + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		k, problems := cases.ParseCase(body, nil)
		if len(problems) > 0 {
			t.Fatal(c.check, problems)
		}
		row := rowOf(&k.Checks[0])
		if row.Kind != c.kind || row.Value != c.value {
			t.Errorf("%s is the row %s %q, wanted %s %q", c.check, row.Kind, row.Value, c.kind, c.value)
		}
		again, err := checkOf(&row)
		if err != nil || !flow.EqualValues(again, k.Checks[0].Object()) {
			t.Errorf("%s became %s (%v)", c.check, flow.EncodeJSON(again), err)
		}
		if sentence(&k.Checks[0]) == "" {
			t.Errorf("%s has no sentence", c.check)
		}
	}
}

func TestCheckRows_say_what_is_wrong(t *testing.T) {
	t.Parallel()
	for _, row := range []view.CheckRow{{Kind: "schema", Value: "{"}, {Kind: "json", Value: "5"}, {Kind: "steps", Value: "refund"}, {Value: "refund"}} {
		if o, err := checkOf(&row); err == nil {
			t.Errorf("%+v became %s", row, flow.EncodeJSON(o))
		}
	}
	if o, err := checkOf(&view.CheckRow{Output: "label"}); o != nil || err != nil {
		t.Errorf("an empty row became %v, %v", o, err)
	}
}
