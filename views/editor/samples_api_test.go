package editor

import (
	"time"

	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/snippets"
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func apiSamples(theme layout.Theme) map[string]templ.Component {
	whole := func(a APIPane) templ.Component {
		return APIPage(viewtest.Page("API of "+a.Name, layout.SectionFlows, theme), a)
	}
	live, draft, tried := sampleAPI(), sampleAPI(), sampleAPI()
	draft.State.Live, draft.State.Next, draft.Fields, draft.Calls.Rows, draft.Calls.P95, draft.Snippets.Live, draft.Try.Live, draft.Addresses.Form = 0, 1, nil, nil, 0, 0, 0, ""
	tried.Try.Open, tried.Try.Exchange = true, sampleExchange()
	viewer := draft
	viewer.State.ReadOnly, viewer.Snippets.MayTry, viewer.Try = true, false, APITry{FlowID: "flow_1", Open: true}
	return map[string]templ.Component{
		"api": whole(live), "api-draft": whole(draft), "api-viewer": whole(viewer), "api-tried": whole(tried),
		"api-elsewhere": APIElsewhere("flow_1"), "api-later": APILater("flow_1"), "api-refused": TryRefused("The inputs are larger than 4 MB. Pass long ones as files."),
	}
}

func sampleLanguages() (list []APILanguage) {
	for _, l := range snippets.Languages() {
		list = append(list, APILanguage(l))
	}
	return list
}

func sampleAPI() APIPane {
	const base, id = "https://flows.example.com", "flow_01jd6v0q8zmkt5ej4d7n3a"
	call := snippets.Call{BaseURL: base, FlowID: id, FlowName: "Route a support ticket", Inputs: []snippets.Input{{Name: "ticket", Value: "I was charged twice."}}, Outputs: []document.Output{
		{Output: contract.Output{Name: "reply"}, Schema: map[string]any{"type": "string"}}, {Output: contract.Output{Name: "team"}, Schema: map[string]any{"type": "string"}},
	}}
	code, err := snippets.Render("curl", snippets.ModeWait, call)
	if err != nil {
		panic(err)
	}
	field := func(role APIRole, node, typ, note string) APIField {
		return APIField{FlowID: id, Role: role, Node: node, Name: node, Type: typ, Note: note, Next: 4}
	}
	fields := []APIField{
		field(APIInput, "ticket", "text", "required"), field(APIInput, "tone", "text", "default “friendly”"), field(APIInput, "", "number", "required"),
		field(APIOutput, "reply", "text", "output"), field(APIOutput, "team", "text", "output"), field(APIWebhook, "hook", "webhook", "to hooks.example.com"),
	}
	fields[0].About = "What the customer wrote, <b>as it came</b>."
	fields[1].Change = ChangeAdded
	fields[2].Name, fields[2].Change, fields[2].Why = "priority", ChangeRemoved, []string{`The input "priority" was removed: requests that send it are rejected.`}
	fields[4].Title = "Which team"
	fields[5].Name, fields[5].Change = "Tell legal", ChangeChanged
	return APIPane{
		FlowID: id, Name: "Route a support ticket", Rev: 7, Fields: fields,
		State:    APIState{FlowID: id, Live: 3, Next: 4, URL: base + "/v1/flow/" + id + "/run", Base: base, Differs: "1 input added, 1 input removed", Breaks: true},
		Snippets: APISnippets{FlowID: id, Language: sampleLanguages()[0], Mode: "wait", Languages: sampleLanguages(), Modes: []string{"start", "wait", "stream", "webhook"}, Code: components.CodePieces(snippets.Highlight("curl", code)), Live: 3, Differs: true, MayTry: true},
		Try: APITry{FlowID: id, Live: 3, MayTry: true, Fields: []components.RunField{
			{Type: "text", Field: components.Field{ID: "try-ticket", Name: "in.ticket", Label: "ticket", Help: "What the customer wrote.", Value: "I was charged twice."}},
			{Type: "file", Field: components.Field{ID: "try-invoice", Name: "in.invoice", Label: "invoice", Optional: true, Attrs: templ.Attributes{"accept": "image/*"}}},
		}},
		Calls: sampleCalls(id),
		Addresses: APIAddresses{FlowID: id, OpenAPI: base + "/v1/flow/" + id + "/openapi.json", MCP: base + "/mcp", Form: base + "/f/" + id,
			Client: components.CodePieces(snippets.Highlight("json", `{"mcpServers": {"sluice": {"url": "`+base+`/mcp"}}}`))},
	}
}

func sampleCalls(id string) APICalls {
	calls := APICalls{FlowID: id, P95: 1900 * time.Millisecond, Now: viewtest.Noon}
	for i, ms := range []int{0, 412, 1980, 388, 640, 502, 871, 430, 601, 455, 702, 518, 399} {
		c := APICall{ID: "run_" + string(rune('a'+i)), State: "succeeded", At: viewtest.Noon.Add(-time.Duration(i*i+1) * time.Minute), Duration: time.Duration(ms) * time.Millisecond, Key: "production"}
		switch i {
		case 0:
			c.State = "running"
		case 2:
			c.State, c.Key = "failed", "staging of the shop in Łódź"
		}
		calls.Rows = append(calls.Rows, c)
	}
	return calls
}

func sampleExchange() *APIExchange {
	const request = "POST /v1/flow/flow_1/run HTTP/1.1\nHost: flows.example.com\nAuthorization: Bearer slu_YOUR_KEY\nContent-Type: application/json\nPrefer: wait=30\n\n{\n  \"ticket\": \"I was <b>charged</b> twice.\"\n}"
	const response = "HTTP/1.1 200 OK\nContent-Type: application/json\nPreference-Applied: wait=30\n\n{\n  \"run_id\": \"run_1\",\n  \"status\": \"succeeded\"\n}"
	return &APIExchange{Request: components.CodePieces(snippets.Highlight("http", request)), Response: components.CodePieces(snippets.Highlight("http", response)), Status: 200, Reason: "OK", Duration: 412 * time.Millisecond, Cut: true, FlowID: "flow_1", Run: "run_1"}
}
