package forms

import (
	"encoding/json"
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func formSamples(theme layout.Theme) map[string]templ.Component {
	open := func(title string) PublicPage {
		return PublicPage{Page: layout.Page{Title: title, Theme: theme}, Path: "/f/flow_1", About: "Tell us what you want to know."}
	}
	hidden, live := open("Order a report"), open("Order a report")
	hidden.Unlisted, live.Unlisted, live.Refresh = true, true, true
	form := FormPage{Title: "Order a report", Intro: "Tell us what you want to know.\nYou get it at once.", Fields: sampleFormFields(), Once: "A"}
	refused := form
	refused.Again, refused.Error, refused.Button = "t.1.2", "This was sent too often in a short time. Send it again in 30 seconds; what you typed is still here.", "Order"
	refused.Fields = sampleFormFields()
	refused.Fields[0].Error, refused.Fields[2].Error, refused.Fields[4].Error = "This is needed.", "Type a number, such as 3 or 0.5.", "Choose one."
	refused.Fields[7].Last = &components.FileView{ID: "file_1", Name: "me.png", MIME: "image/png", Size: 4096}
	run := func(state string) FormRun {
		return FormRun{Title: "Order a report", Path: "/f/flow_1/r/t.1.2", URL: "https://flows.example.com/f/flow_1/r/t.1.2", Again: "/f/flow_1?again=t.1.2", State: state, Done: 2, All: 5, Until: viewtest.Noon.Add(7 * 24 * time.Hour), Reference: "run_1"}
	}
	running, done, failed, erased := run("running"), run("succeeded"), run("failed"), run("succeeded")
	running.Outputs = []FormOutput{{Name: "summary", Pending: true, View: components.ValueView{Name: "Summary"}}, {Name: "score", View: components.ValueView{Name: "Score", Value: json.Number("0.82"), All: true}}}
	done.Outputs = sampleFormOutputs()
	failed.Problem = "A service that this form relies on did not answer. Try again in a few minutes."
	erased.Erased = true
	return map[string]templ.Component{
		"form":                Form(open("Order a report"), form),
		"form-refused":        Form(open("Order a report"), refused),
		"form-empty":          Form(open("Ping"), FormPage{Title: "Ping", Once: "A"}),
		"form-password":       FormPassword(hidden, PasswordAsk{}),
		"form-password-wrong": FormPassword(hidden, PasswordAsk{Ticket: "t.1.2", Error: "This is not the password."}),
		"form-running":        FormResult(live, running),
		"form-done":           FormResult(hidden, done),
		"form-failed":         FormResult(hidden, failed),
		"form-canceled":       FormResult(hidden, run("canceled")),
		"form-erased":         FormResult(hidden, erased),
		"approval":            Approval(hidden, sampleApproval()),
		"approval-call":       Approval(hidden, callApproval()),
		"approval-refused":    Approval(hidden, refusedApproval()),
		"approval-done":       Approval(hidden, ApprovalPage{Title: "Pay Northwind?", Done: &ApprovalDone{State: "approved", By: "Ada", At: viewtest.Noon, Comment: "Fine."}}),
		"approval-late":       Approval(hidden, ApprovalPage{Title: "Pay Northwind?", Done: &ApprovalDone{State: "rejected", By: "Ada", At: viewtest.Noon, Late: "Ada has already rejected this."}}),
	}
}

func sampleApproval() ApprovalPage {
	return ApprovalPage{
		Title: "Pay Northwind?", Message: "<p>It is <strong>12% above</strong> the order.</p>\n", Flow: "Pay invoices", Path: "/approval/abc", Now: viewtest.Noon, Expires: viewtest.Noon.Add(23 * time.Hour), AskName: true,
		Values: []ApprovalField{
			{View: components.ValueView{Name: "Supplier", Value: "Northwind", All: true}},
			{View: components.ValueView{Name: "Amount"}, Control: &components.Field{Name: "value.amount", Label: "Amount", Type: "number", Value: "4820"}},
			{View: components.ValueView{Name: "Urgent"}, Control: &components.Field{Name: "value.urgent", Label: "Urgent", Value: "true", Options: []components.Option{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}}},
			{View: components.ValueView{Name: "Note"}, Control: &components.Field{Name: "value.note", Label: "Note", Value: "Hi", Optional: true}},
		},
	}
}

// callApproval asks about a call of an agent. Its texts are hostile.
func callApproval() ApprovalPage {
	a := sampleApproval()
	a.Title, a.Message, a.AskName = "Allow Refund?", "", false
	a.Call = &ApprovalCall{
		Tool: "refund", Destination: "api.shop.example", Write: true, Untrusted: true, All: true, Wider: []string{"changes something", "sends data to api.example.com"},
		Bound: []ApprovalText{{"order", "o-1017"}}, Reason: "The lamp was **broken**, see [the order](https://evil.example).⟨U+200B⟩",
	}
	a.Values = []ApprovalField{
		{Plain: &ApprovalText{"amount", "80"}, Control: &components.Field{Name: "value.amount", Label: "amount", Type: "number", Value: "80"}},
		{Plain: &ApprovalText{"note", "<b>Sorry</b>\nfor the trouble"}},
	}
	return a
}

func refusedApproval() ApprovalPage {
	a := sampleApproval()
	a.Error, a.Comment, a.Expires = "Amount: type a number, such as 3 or 0.5.", "Fine.", viewtest.Noon.Add(30*time.Minute)
	return a
}

func sampleFormFields() []FormField {
	field := func(name, label, help string, kind string, optional bool) FormField {
		return FormField{RunField: components.RunField{Type: kind, Field: components.Field{ID: "in-" + name, Name: "in." + name, Label: label, Help: help, Size: "large", Optional: optional, Attrs: templ.Attributes{}}}}
	}
	list := []FormField{
		field("question", "Your question", "What is it about? At least 3 characters.", "text", false),
		field("name", "Name", "At most 20 characters.", "text", true),
		field("pages", "Pages", "1 to 9.", "number", false),
		field("urgent", "This is urgent", "", "boolean", true),
		field("tone", "Tone", "", "text", false),
		field("extra", "Extra", "", "json", true),
		field("labels", "Labels", "One item a line. At most 3 items.", "list", true),
		field("photo", "Photo", "Takes pictures. At most 25 MiB.", "file", false),
		field("country", "Country", "", "text", false),
	}
	list[1].Short, list[1].Value = true, "Ada"
	list[2].Field.Type, list[2].Attrs = "number", templ.Attributes{"min": "1", "max": "9", "step": "any"}
	list[3].Value = "true"
	list[4].Radio, list[4].Options = true, []components.Option{{Value: "calm", Label: "calm"}, {Value: "loud", Label: "loud"}}
	list[5].Mono, list[5].Value = true, "{\n  \"a\": 1\n}"
	list[7].Most, list[7].Attrs = 25<<20, templ.Attributes{"accept": "image/*"}
	list[8].Options = []components.Option{{Value: "", Label: "Choose…"}, {Value: "de", Label: "de"}, {Value: "fr", Label: "fr"}, {Value: "it", Label: "it"}, {Value: "pl", Label: "pl"}, {Value: "se", Label: "se"}}
	return list
}

func sampleFormOutputs() []FormOutput {
	signed := func(id string) string { return "/v1/files/" + id + "?expires=1&signature=2" }
	out := func(name, label string, value any) FormOutput {
		return FormOutput{Name: name, View: components.ValueView{Name: label, Value: value, All: true, Files: signed}}
	}
	file := func(id, name, mime string) map[string]any {
		return map[string]any{"file": "file_01jd3v8m2kq4r5t6w7x8y9z0" + id, "name": name, "mime": mime, "size": json.Number("20480")}
	}
	return []FormOutput{
		out("summary", "Summary", "The <b>invoice</b> is right.\n\nYou were charged once; the second line is a reservation that was released the day after."),
		out("score", "Score", json.Number("0.82")),
		out("report", "Report", file("ab", "report.pdf", "application/pdf")),
		out("voice", "Voice", file("ac", "voice.mp3", "audio/mpeg")),
		out("rows", "Rows", []any{map[string]any{"month": "October", "amount": json.Number("12.5")}, map[string]any{"month": "November", "amount": json.Number("9")}}),
		out("details", "Details", map[string]any{"plan": "pro", "seats": json.Number("3"), "owner": map[string]any{"name": "Ada", "since": "2024"}}),
	}
}
