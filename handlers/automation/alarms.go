package automation

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/sorting"
	"sluice/flow/triggers"
	"sluice/handlers/web"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"
)

const (
	// troubleEvents is how many events in a row of a trigger that start nothing need attention.
	troubleEvents = 5
	shownMessages = 50
)

// alarmKinds are the kinds of alarms in words.
var alarmKinds = []view.KindRow{
	{Kind: "failed", Title: "Runs fail", Text: "One, several in a row, or a share of them"},
	{Kind: "silent", Title: "Nothing succeeds", Text: "No run has succeeded for some time"},
	{Kind: "slow", Title: "Runs take long", Text: "One in progress, or the slowest of many"},
	{Kind: "cost", Title: "Runs cost much", Text: "A day, or a single run"},
	{Kind: "skipped", Title: "Triggers start nothing", Text: "They skip, miss or reject events"},
	{Kind: "deliveries", Title: "Webhooks fail", Text: "A receiver does not take messages"},
	{Kind: "test", Title: "Tests fail", Text: "The latest test of a schedule did not pass"},
	{Kind: "waiting", Title: "Questions wait", Text: "They have no answer after some time"},
}

// alarmRoutes returns the routes of alarms.
func (s *Server) alarmRoutes() []route {
	const one = "/alarms/:alarm"
	return []route{
		{http.MethodGet, "/alarms", web.Viewer, listAlarms},
		{http.MethodGet, "/alarms/new/:kind", web.Editor, newAlarm},
		{http.MethodPost, "/alarms/new/:kind", web.Editor, web.Posted(createAlarm)},
		{http.MethodGet, one, web.Viewer, onAlarm(showAlarm)},
		{http.MethodPost, one, web.Editor, web.Posted(onAlarm(changeAlarm))},
		{http.MethodPost, one + "/pause", web.Editor, onAlarm(switchAlarm(false))},
		{http.MethodPost, one + "/resume", web.Editor, onAlarm(switchAlarm(true))},
		{http.MethodPost, one + "/delete", web.Editor, onAlarm(deleteAlarm)},
		{http.MethodPost, one + "/test", web.Editor, onAlarm(testAlarm)},
	}
}

// onAlarm wraps a handler that needs the alarm of the path.
func onAlarm(handle func(*call, *alarms.Alarm) error) func(*call) error {
	return func(c *call) error {
		a, err := c.s.Store.FindAlarm(c.Ctx(), c.WorkspaceID(), c.Param("alarm"))
		if err != nil {
			return err
		}
		return handle(c, a)
	}
}

// mayChangeAlarms returns an error unless the member may change alarms of a flow: those of all flows are for owners.
func (c *call) mayChangeAlarms(flowID flow.FlowID) error {
	if flowID == "" && !c.Member.Role.AtLeast(flow.MemberOwner) {
		return flow.Errorf(flow.CodeInputInvalid, "Only owners change alarms of all flows. Choose a flow.")
	}
	return nil
}

// flowNames returns the active flows of the workspace by ID, and as options.
func (c *call) flowNames() (map[flow.FlowID]string, []components.Option, error) {
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	names := map[flow.FlowID]string{}
	options := []components.Option{{Value: "all", Label: "All flows"}}
	for i := range heads {
		names[heads[i].ID] = heads[i].Name
		options = append(options, components.Option{Value: string(heads[i].ID), Label: heads[i].Name})
	}
	return names, options, err
}

// alarmRow converts an alarm.
func (c *call) alarmRow(a *alarms.Alarm, names map[flow.FlowID]string) view.AlarmRow {
	r := view.AlarmRow{Name: a.Name, Flow: "All flows", Sentence: a.Config.Sentence(), State: "quiet", Since: a.FiringSince, On: a.On, MayEdit: c.MayEdit() && c.mayChangeAlarms(a.FlowID) == nil}
	if a.FlowID != "" {
		r.Flow = cmp.Or(names[a.FlowID], "An archived flow")
	}
	switch {
	case !a.On:
		r.State = a.Reason
	case !a.FiringSince.IsZero():
		r.State, r.Finding = "firing", a.Finding.Text
	}
	return r
}

// listAlarms is GET alarms.
func listAlarms(c *call) error {
	list, err := c.s.Store.ListAlarms(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	names, _, err := c.flowNames()
	if err != nil {
		return err
	}
	page := view.AlarmsPage{MayEdit: c.MayEdit(), Now: c.s.Now(), Kinds: alarmKinds}
	for i := range list {
		page.Alarms = append(page.Alarms, c.alarmRow(&list[i], names))
		messages, err := c.s.Store.ListAlarmMessages(c.Ctx(), list[i].ID, "", 1)
		if err != nil {
			return err
		}
		if len(messages) > 0 && messages[0].State == alarms.StateFailed {
			page.Trouble = append(page.Trouble, view.TroubleRow{Title: list[i].Name, Text: "The last message of the alarm did not arrive.", Path: view.AlarmPath(list[i].Name)})
		}
	}
	sorting.By(page.Alarms, func(a, b view.AlarmRow) int {
		return cmp.Compare(order(a.State), order(b.State))
	})
	trouble, err := c.triggerTrouble(names)
	if err != nil {
		return err
	}
	page.Trouble = append(page.Trouble, trouble...)
	return c.Render(http.StatusOK, view.Alarms(c.Page("Alarms", layout.SectionTriggers), page))
}

// order sorts alarms that fire first.
func order(state string) int {
	if state == "firing" {
		return 0
	}
	return 1
}

// triggerTrouble returns the triggers whose last events all started nothing.
func (c *call) triggerTrouble(names map[flow.FlowID]string) (list []view.TroubleRow, err error) {
	all, err := c.s.Store.ListTriggers(c.Ctx(), c.WorkspaceID(), "")
	if err != nil {
		return nil, err
	}
	for i := range all {
		t := &all[i]
		if names[t.FlowID] == "" || !t.On {
			continue
		}
		events, err := c.s.Store.ListEvents(c.Ctx(), t, "", "", troubleEvents)
		if err != nil {
			return nil, err
		}
		idle := func(e triggers.Event) bool { return e.State == triggers.Skipped || e.State == triggers.Rejected }
		if len(events) == troubleEvents && !slices.ContainsFunc(events, func(e triggers.Event) bool { return !idle(e) }) {
			list = append(list, view.TroubleRow{Title: title(t.Name), Text: fmt.Sprintf("The last %d events of this trigger of %s started nothing: %s", troubleEvents, names[t.FlowID], cmp.Or(events[0].Detail, string(events[0].Code))),
				Path: view.TriggerPath(string(t.FlowID), t.ID)})
		}
	}
	return list, nil
}

// newAlarm is GET alarms/new/kind.
func newAlarm(c *call) error {
	c0 := alarms.Config{Kind: alarms.Kind(c.Param("kind"))}
	switch c0.Kind {
	case alarms.Slow, alarms.Silent, alarms.Waiting:
		c0.Over = "1h"
	case alarms.Cost:
		c0.USD = 10
	}
	return alarmPage(c, http.StatusOK, &alarms.Alarm{Config: c0, On: true, FlowID: flow.FlowID(c.QueryParam("flow"))}, nil, nil)
}

// showAlarm is GET alarms/alarm.
func showAlarm(c *call, a *alarms.Alarm) error { return alarmPage(c, http.StatusOK, a, nil, nil) }

// alarmPage renders an alarm, with what was typed after an error.
func alarmPage(c *call, status int, a *alarms.Alarm, typed map[string]string, wrong components.Errors) error {
	at := slices.IndexFunc(alarmKinds, func(k view.KindRow) bool { return k.Kind == string(a.Config.Kind) })
	if at < 0 {
		return flow.Errorf(flow.CodeNotFound, "There is no such kind of alarms.")
	}
	names, options, err := c.flowNames()
	if err != nil {
		return err
	}
	page := view.AlarmPage{AlarmRow: c.alarmRow(a, names), Fresh: a.ID == "", Kind: string(a.Config.Kind), KindText: alarmKinds[at].Title, Errors: wrong, Now: c.s.Now()}
	if page.Fresh {
		page.MayEdit = true
	}
	if page.MayEdit {
		chosen := cmp.Or(typed["flow"], string(a.FlowID), "all")
		page.Choices = []components.Field{{Name: "flow", Label: "Flow", Value: chosen, Options: web.BoundOptions(options, chosen), Error: wrong["flow"]}}
		page.Fields = alarmFields(a, typed, wrong, page.Fresh)
	}
	for _, id := range a.Finding.Runs {
		page.Runs = append(page.Runs, string(id))
	}
	if !page.Fresh {
		messages, err := c.s.Store.ListAlarmMessages(c.Ctx(), a.ID, "", shownMessages)
		if err != nil {
			return err
		}
		for i := range messages {
			page.Messages = append(page.Messages, alarmMessageRow(&messages[i]))
		}
	}
	return c.Render(status, view.Alarm(c.Page(cmp.Or(a.Name, "New alarm"), layout.SectionTriggers), page))
}

// alarmMessageRow converts a message.
func alarmMessageRow(m *alarms.Sent) view.AlarmMessageRow {
	r := view.AlarmMessageRow{At: m.CreatedAt, Kind: m.Kind, To: m.Target, State: m.State, Error: m.Error}
	switch {
	case m.DeliveryID != "":
		r.To, r.Path = alarms.ShownURL(m.Target), "/deliveries/"+m.DeliveryID
	case m.RunID != "":
		r.Path = "/runs/" + string(m.RunID)
	}
	return r
}

// alarmFields returns the fields of a kind, with what was typed or is set.
func alarmFields(a *alarms.Alarm, typed map[string]string, wrong components.Errors, fresh bool) (list []components.Field) {
	c := &a.Config
	add := func(name, label, help, value string) {
		if v, ok := typed[name]; ok {
			value = v
		}
		list = append(list, components.Field{Name: name, Label: label, Help: help, Value: value, Error: wrong[name], Optional: name != "name", Autocomplete: "off"})
	}
	number := func(n float64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	if fresh {
		add("name", "Name", "Lower-case letters, digits and hyphens.", a.Name)
	}
	switch c.Kind {
	case alarms.Failed:
		add("count", "Failures in a row", "Default: 1.", number(float64(c.Count)))
		add("percent", "Or a share in percent", "Of the runs in the window below.", number(float64(c.Percent)))
		add("window", "Window", "Such as 15m. Default: 15m.", c.Window)
		add("least", "Least runs in the window", "Default: 20.", number(float64(c.Least)))
	case alarms.Slow:
		add("over", "Longer than", "Such as 30s, 15m or 2h.", c.Over)
		add("window", "Window", "Empty: one run takes longer. Such as 15m: 5 % of the runs in it did.", c.Window)
		add("least", "Least runs in the window", "Default: 20.", number(float64(c.Least)))
	case alarms.Cost:
		add("usd", "Dollars", "At least this amount.", number(c.USD))
		add("per", "Per day or run", "day or run. Default: day, of UTC.", c.Per)
		add("factor", "Or a multiple of the mean", "Of the last 7 days, such as 3.", number(c.Factor))
	case alarms.Skipped:
		add("count", "Events", "Default: 1.", number(float64(c.Count)))
		add("window", "Window", "Such as 1h. Default: 1h.", c.Window)
	case alarms.FailedTest:
	default:
		add("over", "For longer than", "Such as 15m, 2h or 1d.", c.Over)
	}
	if c.Kind != alarms.FailedTest { // it is over with a test that passes
		add("clear_after", "Over after", "How long the condition must not have held. Default: 5m.", c.ClearAfter)
	}
	add("to", "Messages to", "One receiver a line: an address, a URL, slack:URL, teams:URL or flow:SLUG. Empty: only this page.", receiverLines(c.To))
	return list
}

// receiverLines returns receivers as people type them.
func receiverLines(list []alarms.Receiver) string {
	var lines []string
	for i := range list {
		r := &list[i]
		channel, target := r.Channel()
		switch {
		case channel == alarms.ToFlow:
			target = "flow:" + target
		case r.Format == "slack" || r.Format == "teams":
			target = r.Format + ":" + target
		}
		lines = append(lines, target)
	}
	return strings.Join(lines, "\n")
}

// readAlarm reads the form into a configuration.
func readAlarm(c *call, kind alarms.Kind) (config alarms.Config, flowID flow.FlowID, typed map[string]string, wrong components.Errors) {
	typed, wrong = map[string]string{}, components.Errors{}
	for _, name := range []string{"name", "flow", "count", "percent", "window", "least", "over", "usd", "per", "factor", "clear_after", "to"} {
		typed[name] = c.Trimmed(name)
	}
	number := func(name string) float64 {
		if typed[name] == "" {
			return 0
		}
		n, err := strconv.ParseFloat(strings.TrimPrefix(typed[name], "$"), 64)
		if err != nil {
			wrong[name] = "This must be a number."
		}
		return n
	}
	config = alarms.Config{Kind: kind, Count: int64(number("count")), Percent: int64(number("percent")), Least: int64(number("least")), Window: typed["window"], Over: typed["over"],
		USD: number("usd"), Per: typed["per"], Factor: number("factor"), ClearAfter: typed["clear_after"]}
	for line := range strings.Lines(typed["to"]) {
		if line = strings.TrimSpace(line); line != "" {
			config.To = append(config.To, alarms.ParseReceiver(line))
		}
	}
	if typed["flow"] != "all" {
		flowID = flow.FlowID(typed["flow"])
	}
	return config, flowID, typed, wrong
}

// saveAlarm stores the form, or shows it again with its problems.
func saveAlarm(c *call, a *alarms.Alarm, name string) error {
	config, flowID, typed, wrong := readAlarm(c, a.Config.Kind)
	err := c.mayChangeAlarms(flowID)
	if err == nil && len(wrong) == 0 && a.ID == "" {
		if !alarms.ValidName(name) {
			wrong["name"] = "This must have lower-case letters, digits and hyphens."
		} else if _, taken := c.s.Store.FindAlarm(c.Ctx(), c.WorkspaceID(), name); taken == nil {
			wrong["name"] = "The workspace has an alarm with this name. Choose another one."
		}
	}
	if flowID != "" && err == nil {
		_, err = c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flowID)
	}
	if err == nil && len(wrong) == 0 {
		_, err = c.s.alarms.Set(c.Ctx(), c.Actor(), nil, c.WorkspaceID(), name, flowID, config)
	}
	refused, public := errors.AsType[*flow.Error](err)
	if err != nil && !public {
		return err
	}
	if err == nil && len(wrong) == 0 {
		c.Toast(components.ToneOK, "The alarm “"+name+"” is saved.")
		return c.Redirect(view.AlarmPath(name))
	}
	if refused != nil {
		wrong[""] = refused.Message
		for _, p := range refused.Fields {
			field, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
			wrong[field] = "This " + p.Detail + "."
			delete(wrong, "")
		}
	}
	a.Config = config
	return alarmPage(c, http.StatusUnprocessableEntity, a, typed, wrong)
}

// createAlarm is POST alarms/new/kind.
func createAlarm(c *call) error {
	return saveAlarm(c, &alarms.Alarm{Config: alarms.Config{Kind: alarms.Kind(c.Param("kind"))}, On: true}, c.Trimmed("name"))
}

// changeAlarm is POST alarms/alarm.
func changeAlarm(c *call, a *alarms.Alarm) error {
	if err := c.mayChangeAlarms(a.FlowID); err != nil {
		return err
	}
	return saveAlarm(c, a, a.Name)
}

// actOnAlarm does an act on an alarm, says so, and leads to a page.
func actOnAlarm(c *call, a *alarms.Alarm, done, path string, act func() error) error {
	err := c.mayChangeAlarms(a.FlowID)
	if err == nil {
		err = act()
	}
	if refused, public := errors.AsType[*flow.Error](err); public {
		c.Toast(components.ToneBad, refused.Message)
		return c.Redirect(view.AlarmPath(a.Name))
	}
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, done)
	return c.Redirect(path)
}

// switchAlarm returns the handler that pauses or resumes an alarm.
func switchAlarm(on bool) func(*call, *alarms.Alarm) error {
	done := "The alarm is paused."
	if on {
		done = "The alarm is on. It watches from now."
	}
	return func(c *call, a *alarms.Alarm) error {
		return actOnAlarm(c, a, done, view.AlarmPath(a.Name), func() error { return c.s.alarms.Switch(c.Ctx(), c.Actor(), nil, a, on) })
	}
}

// deleteAlarm is POST alarms/alarm/delete.
func deleteAlarm(c *call, a *alarms.Alarm) error {
	return actOnAlarm(c, a, "The alarm “"+a.Name+"” was deleted.", "/alarms", func() error { return c.s.alarms.Delete(c.Ctx(), c.Actor(), nil, a) })
}

// testAlarm is POST alarms/alarm/test.
func testAlarm(c *call, a *alarms.Alarm) error {
	return actOnAlarm(c, a, "A test is on its way to each receiver.", view.AlarmPath(a.Name), func() error {
		_, err := c.s.alarms.Test(c.Ctx(), c.Actor(), nil, a, c.s.PublicURL+view.AlarmPath(a.Name))
		return err
	})
}
