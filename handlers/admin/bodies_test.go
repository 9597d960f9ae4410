package admin_test

import (
	"fmt"
	"slices"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestBodies_report_all_problems checks the codes, pointers and texts of the problems of bodies.
func TestBodies_report_all_problems(t *testing.T) {
	t.Parallel()
	e := setup(t)
	limits := "/v1/flow/" + e.PublishedFlow(webtest.Greeting) + "/limits"
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	e.send(admin, "PUT", "/v1/credentials/c", `{"secret": "s", "hosts": ["api.example.com"]}`).want(200, "")
	for _, c := range []struct {
		method, path, body string
		wrong              []string
	}{
		{"PATCH", limits, `{"max_runing": 1, "usd_per_day": "5"}`, []string{
			"/usd_per_day wrong_type wanted an amount such as 0.5, up to a million, or null for no limit",
			`/max_runing unknown_field this is not a setting of the limits of a flow; did you mean "max_running"?`}},
		{"PATCH", "/v1/prices", `{"inputs": 1}`, []string{
			`/inputs unknown_field this is not a setting of a price; did you mean "input"?`,
			"/model invalid wanted a model as provider/model",
			"/input required there is no price to set; send input, output, second or call"}},
		{"PATCH", "/v1/prices", `{"model": null, "call": 1}`, []string{"/model invalid wanted a model as provider/model"}},
		{"PUT", "/v1/credentials/c", `{"secret": null, "providr": "openai"}`, []string{
			"/secret required send the secret with every change",
			`/providr unknown_field this is not a setting of a credential; did you mean "provider"?`}},
		{"PATCH", "/v1/credentials/c", `{"hosts": [], "max_calls": -1}`, []string{
			"/max_calls out_of_range wanted a whole number from 0 to 100000",
			"/hosts unknown_field only the limits of a credential can be changed without its secret"}},
		{"POST", "/v1/keys", `{}`, []string{"/name invalid " + flow.CheckKeyName("")}},
		{"POST", "/v1/keys", `{"name": null, "scope": ["run"]}`, []string{
			"/name wrong_type wanted text",
			`/scope unknown_field this is not a setting of a key; did you mean "scopes"?`}},
	} {
		a := e.send(admin, c.method, c.path, c.body).want(422, flow.CodeInputInvalid)
		var wrong []string
		list, _ := a.body["errors"].([]any)
		for _, p := range list {
			p := p.(map[string]any)
			wrong = append(wrong, fmt.Sprint(p["pointer"], " ", p["code"], " ", p["detail"]))
		}
		if !slices.Equal(wrong, c.wrong) {
			t.Errorf("%s %s %s:\n%q, wanted\n%q", c.method, c.path, c.body, wrong, c.wrong)
		}
	}
}
