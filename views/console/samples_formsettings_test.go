package console

import (
	"sluice/views/components"
	"sluice/views/layout"

	"github.com/a-h/templ"
)

func formSettingsSamples(theme layout.Theme) map[string]templ.Component {
	settings := FormSettings{
		FlowID: "flow_1", Flow: "Order a report", Description: "Answers at once.", On: true, Shown: true, Published: true, Title: "Ask us", Intro: "Tell us what you want to know.", PerMinute: "10", PerDay: "500", MaxFile: "25",
		Origins: "https://www.example.com\nhttps://*.partner.example", URL: "https://flows.example.com/f/flow_1", FrameTitle: "Ask us", HasPassword: true, Embedded: true, Encrypted: true, MayEdit: true, Chat: true,
	}
	wrong := settings
	wrong.Published, wrong.Shown, wrong.Encrypted, wrong.UsedUp = false, false, false, true
	wrong.Errors = components.Errors{"origins": "\"example\" is not the address of a site. Write it like https://www.example.com, without a path.", "per_day": "Type a whole number from 1 to 1000000."}
	fresh := FormSettings{FlowID: "flow_1", Flow: "Order a report", PerMinute: "10", PerDay: "500", MaxFile: "25", URL: "https://flows.example.com/f/flow_1", Published: true}
	member := func(role string) layout.Page {
		return layout.Page{Title: "Form of Order a report", Section: layout.SectionFlows, Theme: theme, Workspace: "Acme support", Person: &layout.Person{Name: "Ada Kowalski", Email: "ada@example.com", Role: role}}
	}
	return map[string]templ.Component{
		"form-settings":        FormSettingsPage(member("editor"), settings),
		"form-settings-errors": FormSettingsPage(member("editor"), wrong),
		"form-settings-viewer": FormSettingsPage(member("viewer"), fresh),
	}
}
