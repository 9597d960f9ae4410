package alarms

import (
	"strings"
	"time"

	"sluice/flow"
)

// Message is what receivers get.
type Message struct {
	Kind     string // Started, Continues, Ended or Test
	At       time.Time
	Alarm    string // name
	AlarmID  string
	Of       Kind
	FlowID   flow.FlowID
	Flow     string // slug, or "" for all flows
	Since    time.Time
	Sentence string // when the alarm fires
	Finding  Finding
	URL      string // of the dashboard, or ""
}

// NewMessage returns a message of an alarm in a state. slug is that of its flow.
func (a *Alarm) NewMessage(kind string, s *State, slug, url string, at time.Time) *Message {
	m := &Message{Kind: kind, At: at, Alarm: a.Name, AlarmID: a.ID, Of: a.Config.Kind, FlowID: a.FlowID, Flow: slug, Sentence: a.Config.Sentence(), URL: url, Since: s.FiringSince}
	if kind == Ended {
		m.Since = a.FiringSince
	}
	if kind != Test {
		m.Finding = s.Finding
	}
	return m
}

// advice says what people can do about each kind.
var advice = map[Kind]string{
	Failed:     "Open the runs and read their errors. After the cause is fixed, run them again: sluice run rerun RUN.",
	Slow:       "Open the runs to see which step takes long. A time limit ends runs: timeout_s.",
	Cost:       "Look at the usage of the flow by model. A budget keeps it below an amount: sluice flow limits.",
	Silent:     "Check whether the triggers of the flow are on and what their last events say: sluice trigger list FLOW.",
	Skipped:    "Read the reasons in the events of the trigger: sluice trigger events FLOW TRIGGER.",
	Deliveries: "Check whether the receiver runs and answers with a status 2xx, then send the failed deliveries again.",
	FailedTest: "Open the report of the test: sluice test show FLOW TEST. Fix the flow, or run the test again after an outage: sluice trigger now FLOW TRIGGER.",
	Waiting:    "Answer the questions on the page of the run, or in the list of approvals.",
}

// Subject returns the message in one line.
func (m *Message) Subject() string {
	of := "all flows"
	if m.Flow != "" {
		of = m.Flow
	}
	switch m.Kind {
	case Started:
		return "Alarm " + m.Alarm + " (" + of + ")"
	case Continues:
		return "Alarm " + m.Alarm + " continues (" + of + ")"
	case Ended:
		return "Alarm " + m.Alarm + " is over (" + of + ")"
	}
	return "Test of alarm " + m.Alarm + " (" + of + ")"
}

// Text returns the message for people.
func (m *Message) Text() string {
	var b strings.Builder
	switch m.Kind {
	case Started, Continues:
		b.WriteString(m.Finding.Text + "\n")
		if m.Kind == Continues {
			b.WriteString("The alarm has been on since " + stamp(m.Since) + ".\n")
		}
		for _, id := range m.Finding.Runs {
			b.WriteString("- " + string(id) + "\n")
		}
		b.WriteString("\n" + advice[m.Of] + "\n")
	case Ended:
		b.WriteString("The condition no longer holds. The alarm was on from " + stamp(m.Since) + " to " + stamp(m.At) + ".\n")
	default:
		b.WriteString("This is a test. A message like this comes if: " + m.Sentence + ".\n")
	}
	if m.URL != "" {
		b.WriteString("\n" + m.URL + "\n")
	}
	return b.String()
}

// stamp returns a time for people who may be anywhere.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") + " UTC" }

// Object returns the message for programs.
func (m *Message) Object() *flow.Object {
	o := &flow.Object{}
	o.Set("type", "alarm."+m.Kind)
	o.Set("timestamp", m.At.UTC().Format(flow.TimeForm))
	data := &flow.Object{}
	data.Set("alarm_id", m.AlarmID)
	data.Set("alarm", m.Alarm)
	data.Set("kind", string(m.Of))
	data.Set("flow_id", nullable(string(m.FlowID)))
	data.Set("flow", nullable(m.Flow))
	data.Set("condition", m.Sentence)
	if m.Since.IsZero() {
		data.Set("since", nil)
	} else {
		data.Set("since", m.Since.UTC().Format(flow.TimeForm))
	}
	data.Set("finding", nullable(m.Finding.Text))
	runs := make([]any, len(m.Finding.Runs))
	for i, id := range m.Finding.Runs {
		runs[i] = string(id)
	}
	data.Set("runs", runs)
	data.Set("what_to_do", advice[m.Of])
	data.Set("url", nullable(m.URL))
	o.Set("data", data)
	return o
}

// nullable returns nil for an empty text.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Body returns the body of a webhook in a format.
func (m *Message) Body(format string) []byte {
	text := m.Subject() + "\n" + strings.TrimSpace(m.Text())
	switch format {
	case "slack":
		return flow.EncodeJSON(map[string]any{"text": text})
	case "teams":
		block := map[string]any{"type": "TextBlock", "wrap": true, "text": text}
		card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": []any{block}}
		return flow.EncodeJSON(map[string]any{"type": "message", "attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}})
	}
	return flow.EncodeJSON(m.Object())
}

// Sent is a message to one receiver, in the log.
type Sent struct {
	ID         string
	AlarmID    string
	Kind       string
	Channel    string
	Target     string
	Body       []byte // what is sent: the body of a webhook, otherwise Mail as JSON
	State      string // pending, sent, delivered or failed
	Tries      int64
	Due        time.Time // of the next attempt; zero after the last one
	Error      string
	DeliveryID string
	RunID      flow.RunID
	CreatedAt  time.Time
}

// States of messages that are no webhooks.
const (
	StatePending = "pending"
	StateSent    = "sent"
	StateFailed  = "failed"
)

// Note is the stored form of a message by mail or to a flow.
type Note struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Alarm   string `json:"alarm"`
	Flow    string `json:"flow"`
}

// pauses are those before further attempts to send a message that is no webhook.
var pauses = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour}

// Pause returns the pause after a number of failed attempts, or false after the last one.
func Pause(tries int64) (time.Duration, bool) {
	if tries < 1 || tries > int64(len(pauses)) {
		return 0, false
	}
	return pauses[tries-1], true
}

// Messages returns a message for each receiver.
func (a *Alarm) Messages(ids flow.IDs, m *Message) []Sent {
	var list []Sent
	for i := range a.Config.To {
		channel, target := a.Config.To[i].Channel()
		s := Sent{ID: ids.New(flow.PrefixMessage), AlarmID: a.ID, Kind: m.Kind, Channel: channel, Target: target, CreatedAt: m.At}
		if s.Body = flow.EncodeJSON(Note{m.Subject(), m.Text(), m.Kind, a.Name, m.Flow}); channel == Webhook {
			s.Body = m.Body(a.Config.To[i].Format)
		}
		list = append(list, s)
	}
	return list
}
