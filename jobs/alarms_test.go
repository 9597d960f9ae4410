package jobs_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
	"sluice/flow/value"
	"sluice/jobs"
	"sluice/outbound/mail"
	"sluice/outbound/mail/mailtest"
)

// postbox receives webhooks.
type postbox struct {
	*httptest.Server
	mu       sync.Mutex
	messages []string // bodies, in the order of arrival
	headers  []http.Header
}

func newPostbox(t *testing.T) *postbox {
	p := &postbox{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.messages, p.headers = append(p.messages, string(body)), append(p.headers, r.Header)
	}))
	t.Cleanup(p.Close)
	return p
}

// types returns the types of the messages, as "alarm.started alarm.ended".
func (p *postbox) types() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, m := range p.messages {
		var body struct{ Type string }
		_ = json.Unmarshal([]byte(m), &body)
		list = append(list, body.Type)
	}
	return strings.Join(list, " ")
}

// addAlarm adds an alarm of the published flow.
func (fx *fixture) addAlarm(name string, c alarms.Config) *alarms.Alarm {
	fx.t.Helper()
	now := fx.clock.now()
	a := &alarms.Alarm{ID: flow.NewIDs().New(flow.PrefixAlarm), WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Name: name, Config: c, On: true, Rev: 1, CreatedAt: now, ChangedAt: now}
	if problems := c.Check(); len(problems) > 0 {
		fx.t.Fatalf("the configuration has problems: %v", problems)
	}
	if err := fx.store.CreateAlarm(context.Background(), a); err != nil {
		fx.t.Fatal(err)
	}
	return a
}

// alarm reads an alarm again.
func (fx *fixture) alarm(a *alarms.Alarm) *alarms.Alarm {
	fx.t.Helper()
	now, err := fx.store.FindAlarm(context.Background(), a.WorkspaceID, a.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	return now
}

// firing waits until an alarm fires, or does not any longer. The clock advances meanwhile, because alarms look at intervals.
func (fx *fixture) firing(a *alarms.Alarm, want bool) *alarms.Alarm {
	fx.t.Helper()
	what := "the alarm fires"
	if !want {
		what = "the alarm ends"
	}
	fx.waitUntil(what, func() bool {
		fx.clock.advance(alarms.Interval / 300)
		return fx.alarm(a).FiringSince.IsZero() != want
	})
	return fx.alarm(a)
}

// endRuns starts runs one after the other and lets them succeed or fail.
func (fx *fixture) endRuns(results ...bool) (list []*flow.Run) {
	fx.t.Helper()
	for _, good := range results {
		run := fx.startRun()
		<-fx.gate.started
		if good {
			fx.gate.release <- nil
		} else {
			fx.gate.release <- flow.Errorf(flow.CodeHTTPFailed, "It failed.")
		}
		list = append(list, fx.awaitEnd(run))
		fx.clock.advance(time.Second)
	}
	return list
}

func TestAlarm_tells_of_many_failures_once(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := scheduleFixture(t, cfg, gatedFlow)
		box := newPostbox(t)
		a := fx.addAlarm("broken", alarms.Config{Kind: alarms.Failed, To: []alarms.Receiver{{Webhook: box.URL}}})
		fx.start()
		runs := fx.endRuns(true, false)
		now := fx.firing(a, true)
		if len(now.Finding.Runs) != 1 || now.Finding.Runs[0] != runs[1].ID {
			t.Errorf("the alarm names %v, want %s", now.Finding.Runs, runs[1].ID)
		}
		fx.waitUntil("the message arrives", func() bool { return box.types() == "alarm.started" })
		fx.endRuns(false, false, false, false, false)
		fx.clock.advance(time.Hour) // no success: it continues
		fx.waitUntil("it looks again", func() bool {
			fx.clock.advance(time.Second)
			return fx.alarm(a).Finding.Text == "6 runs in a row failed."
		})
		fx.endRuns(true)
		fx.clock.advance(5 * time.Minute)
		fx.firing(a, false)
		fx.waitUntil("the end arrives", func() bool { return box.types() == "alarm.started alarm.ended" })
		fx.clock.advance(time.Hour)
		fx.endRuns(true)
		if got := box.types(); got != "alarm.started alarm.ended" {
			t.Errorf("the messages are %s", got)
		}
		secret, err := fx.store.AlarmSecret(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		h := box.headers[0]
		checkSignature(t, secret, h, box.messages[0])
		if !strings.Contains(box.messages[0], string(runs[1].ID)) || !strings.Contains(box.messages[0], `"alarm":"broken"`) || !strings.Contains(box.messages[0], `"what_to_do"`) {
			t.Errorf("the message is %s", box.messages[0])
		}
	})
}

// checkSignature checks a webhook as its receiver does.
func checkSignature(t *testing.T, secret string, h http.Header, body string) {
	t.Helper()
	var at int64
	if _, err := fmt.Sscan(h.Get("Webhook-Timestamp"), &at); err != nil {
		t.Fatal(err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", h.Get("Webhook-Id"), at, body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("Webhook-Signature") != want {
		t.Errorf("the signature is %s, want %s", h.Get("Webhook-Signature"), want)
	}
}

// A failure is not lost if runs succeed before the alarm looks.
func TestAlarm_sees_a_failure_between_two_looks(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), gatedFlow)
	a := fx.addAlarm("broken", alarms.Config{Kind: alarms.Failed})
	three := fx.addAlarm("three", alarms.Config{Kind: alarms.Failed, Count: 3})
	four := fx.addAlarm("four", alarms.Config{Kind: alarms.Failed, Count: 4})
	fx.start()
	fx.endRuns(true, false, false, false, true, true)
	fx.firing(a, true)
	fx.firing(three, true)
	if !fx.alarm(four).FiringSince.IsZero() {
		t.Error("three failures fire an alarm for four")
	}
}

func TestAlarm_of_each_kind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config alarms.Config
		quiet  func(fx *fixture) // keeps it from firing
		cause  func(fx *fixture)
		want   string // of the finding
	}{
		"percent": {alarms.Config{Kind: alarms.Failed, Percent: 50, Least: 4, Window: "10m"},
			func(fx *fixture) { fx.endRuns(true, true, false) }, func(fx *fixture) { fx.endRuns(false) }, "2 of 4 runs in 10m failed."},
		"slow run": {alarms.Config{Kind: alarms.Slow, Over: "10m"},
			func(fx *fixture) { fx.startRun(); <-fx.gate.started }, func(fx *fixture) { fx.clock.advance(10 * time.Minute) }, "A run has been going on for longer than 10m."},
		"p95": {alarms.Config{Kind: alarms.Slow, Over: "20s", Window: "1h", Least: 2},
			func(fx *fixture) { fx.endRuns(true) },
			func(fx *fixture) {
				run := fx.startRun()
				<-fx.gate.started
				fx.clock.advance(30 * time.Second)
				fx.gate.release <- nil
				fx.awaitEnd(run)
			}, "Of 2 runs in 1h, 5 % took longer than"},
		"silent": {alarms.Config{Kind: alarms.Silent, Over: "30m"},
			func(fx *fixture) {
				fx.clock.advance(20 * time.Minute)
				fx.endRuns(true)
				fx.clock.advance(20 * time.Minute)
			},
			func(fx *fixture) { fx.clock.advance(11 * time.Minute) }, "The last run succeeded at"},
		"cost of a day": {alarms.Config{Kind: alarms.Cost, USD: 5},
			func(fx *fixture) { fx.spend("2027-03-01", 4_999_999_999) }, func(fx *fixture) { fx.spend("2027-03-01", 1) }, "This day (UTC) has cost $5."},
		"cost above the mean": {alarms.Config{Kind: alarms.Cost, Factor: 3},
			func(fx *fixture) { fx.spend("2027-02-26", 7_000_000_000); fx.spend("2027-03-01", 3_000_000_000) }, func(fx *fixture) { fx.spend("2027-03-01", 1) }, "the mean of the last 7 days is $1."},
		"cost of a run": {alarms.Config{Kind: alarms.Cost, USD: 2, Per: "run"},
			func(fx *fixture) { fx.endRuns(true) }, func(fx *fixture) {
				run := fx.endRuns(true)[0]
				fx.exec(fmt.Sprintf("UPDATE runs SET cost_nano_usd = 2000000000 WHERE id = '%s'", run.ID))
			}, "A run cost $2."},
		"skipped": {alarms.Config{Kind: alarms.Skipped, Count: 2},
			func(fx *fixture) { fx.trouble(1) }, func(fx *fixture) { fx.trouble(2) }, "Triggers started nothing 2 times in 1h: daily (skipped: overlap)."},
		"waiting": {alarms.Config{Kind: alarms.Waiting, Over: "1h"},
			func(fx *fixture) {
				now := fx.clock.now().UnixMicro()
				fx.exec(fmt.Sprintf(`INSERT INTO approvals (run_id, path, workspace_id, flow_id, node, token_hash, question, created_at, expires_at, decided_at, decision, seen)
					VALUES ('run_x', 'ask', '%s', '%s', 'ask', 'h', '{}', %d, %d, 0, '', 0)`, flow.DefaultWorkspace, fx.flowID, now, now+86_400_000_000))
				fx.clock.advance(50 * time.Minute)
			}, func(fx *fixture) { fx.clock.advance(10 * time.Minute) }, "A question has been open for longer than 1h."},
		"deliveries": {alarms.Config{Kind: alarms.Deliveries, Over: "10m"},
			func(fx *fixture) {
				fx.exec(fmt.Sprintf(`INSERT INTO endpoints (id, workspace_id, flow_id, node, host, hostname, failing_since, created_at)
					VALUES ('end_x', '%s', '%s', 'hook', 'example.com h', 'example.com', %d, 1)`, flow.DefaultWorkspace, fx.flowID, fx.clock.now().UnixMicro()))
			}, func(fx *fixture) { fx.clock.advance(10 * time.Minute) }, "Webhooks to example.com have failed for at least 10m."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, cfg db.Config) {
				fx := scheduleFixture(t, cfg, gatedFlow)
				a := fx.addAlarm("it", tt.config)
				looks := fx.addAlarm("looks", alarms.Config{Kind: alarms.Silent, Over: "1m"}) // fires once alarms have looked
				fx.start()
				tt.quiet(fx)
				fx.firing(looks, true)
				if now := fx.alarm(a); !now.FiringSince.IsZero() {
					t.Fatalf("the alarm fires without a cause: %s", now.Finding.Text)
				}
				tt.cause(fx)
				if now := fx.firing(a, true); !strings.Contains(now.Finding.Text, tt.want) {
					t.Errorf("the finding is %q, want %q", now.Finding.Text, tt.want)
				}
			})
		})
	}
}

// spend records a cost of the flow.
func (fx *fixture) spend(day string, nano int64) {
	fx.exec(fmt.Sprintf(`INSERT INTO usage_daily (workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps, input_tokens, output_tokens, cost_nano_usd, duration)
		VALUES ('%s', '%s', 'key_%d', '%s', 'm', 0, 0, 0, 0, 0, 1, 1, 1, %d, 0)`, flow.DefaultWorkspace, day, nano, fx.flowID, nano))
}

// trouble records the event with a number, which was skipped.
func (fx *fixture) trouble(n int) {
	if n == 1 {
		fx.addSchedule("daily", triggers.Config{Spec: schedule.Spec{Cron: "@daily"}})
	}
	tr, err := fx.store.FindTrigger(context.Background(), flow.DefaultWorkspace, fx.flowID, "daily")
	if err != nil {
		fx.t.Fatal(err)
	}
	id := flow.IDs{Now: fx.clock.now, Random: flow.NewIDs().Random}.New(flow.PrefixEvent)
	fx.exec(fmt.Sprintf(`INSERT INTO events (trigger_id, event_key, workspace_id, flow_id, position, created_at, state, run_id, code, detail, repeats, request)
		VALUES ('%s', 'k%d', '%s', '%s', '%s', %d, 'skipped', '', 'overlap', '', 0, '')`, tr.ID, n, flow.DefaultWorkspace, fx.flowID, id, fx.clock.now().UnixMicro()))
}

// mailedFixture is a fixture whose alarms send mail to a server for tests.
func mailedFixture(t *testing.T, cfg db.Config, document string) (*fixture, *mailtest.Server) {
	t.Helper()
	fx := scheduleFixture(t, cfg, document)
	server := mailtest.New(t)
	s, err := mail.Parse("smtp://" + server.Addr + "?from=sluice@example.com")
	if err != nil {
		t.Fatal(err)
	}
	fx.newRunnerWith(fx.store, func(c *jobs.Config) {
		c.Mail, c.PublicURL = mail.New(s, slog.New(slog.DiscardHandler)), "https://sluice.example.com"
	})
	return fx, server
}

func TestAlarm_sends_mail_and_starts_a_flow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx, server := mailedFixture(t, cfg, gatedFlow)
		watched := fx.flowID
		fx.publish(strings.NewReplacer(`"Pass"`, `"Teller"`, `"name":"x"`, `"name":"message"`).Replace(passThroughFlow))
		teller := fx.flowID
		fx.flowID = watched
		a := fx.addAlarm("broken", alarms.Config{Kind: alarms.Failed, To: []alarms.Receiver{{Email: "ops@example.com"}, {Flow: string(teller)}}})
		server.Refuse("451 4.3.0 Try again") // the first attempt
		fx.start()
		run := fx.endRuns(false)[0]
		fx.firing(a, true)
		fx.waitUntil("the first attempt fails", func() bool {
			return fx.queryInt(`SELECT count(*) FROM alarm_messages WHERE channel = 'email' AND state = 'pending' AND error <> ''`) == 1
		})
		fx.clock.advance(time.Minute)
		m := server.Next(t)
		if m.To[0] != "ops@example.com" || !strings.Contains(m.Text, string(run.ID)) || !strings.Contains(m.Text, "https://sluice.example.com/alarms/broken") {
			t.Errorf("the mail is %+v", m)
		}
		fx.waitUntil("both are sent", func() bool { return fx.queryInt(`SELECT count(*) FROM alarm_messages WHERE state = 'sent'`) == 2 })
		list, err := fx.store.ListAlarmMessages(context.Background(), a.ID, "", 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("the messages are %v, %v", list, err)
		}
		for _, m := range list {
			if m.Channel == alarms.ToFlow {
				got := fx.awaitEnd(&flow.Run{ID: m.RunID, WorkspaceID: flow.DefaultWorkspace, FlowID: teller})
				if got.Trigger != flow.TriggerAlarm || !strings.Contains(flow.Text(got.Inputs.Get("message")), string(run.ID)) {
					t.Errorf("the run is %+v", got)
				}
			}
		}
		fx.clock.advance(time.Hour)
		if server.Count() != 1 || fx.queryInt(`SELECT count(*) FROM runs WHERE run_trigger = 'alarm'`) != 1 {
			t.Errorf("%d mails were sent", server.Count())
		}
	})
}

// The runs that alarms start raise none, and neither do drafts and child runs.
func TestAlarm_does_not_look_at_runs_of_alarms(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), gatedFlow)
	a := fx.addAlarm("broken", alarms.Config{Kind: alarms.Failed})
	looks := fx.addAlarm("looks", alarms.Config{Kind: alarms.Silent, Over: "1m"})
	fx.start()
	run := fx.startRun(func(s *flow.Start) { s.Trigger, s.Given = flow.TriggerAlarm, value.FromMap(map[string]any{"x": "y"}) })
	<-fx.gate.started
	fx.gate.release <- flow.Errorf(flow.CodeHTTPFailed, "It failed.")
	fx.awaitEnd(run)
	fx.firing(looks, true)
	if !fx.alarm(a).FiringSince.IsZero() {
		t.Error("a run that an alarm started fires an alarm")
	}
}

func TestAlarm_repeats_its_message_once_a_day(t *testing.T) {
	t.Parallel()
	fx, server := mailedFixture(t, sqliteConfig(t), gatedFlow)
	a := fx.addAlarm("quiet", alarms.Config{Kind: alarms.Silent, Over: "1h", To: []alarms.Receiver{{Email: "ops@example.com"}}})
	fx.start()
	fx.clock.advance(time.Hour)
	fx.firing(a, true)
	if m := server.Next(t); !strings.Contains(m.Text, "No run has succeeded since") {
		t.Errorf("the first mail is %+v", m)
	}
	fx.clock.advance(25 * time.Hour)
	if m := server.Next(t); !strings.Contains(m.Text, "The alarm has been on since 2027-03-01") {
		t.Errorf("the second mail is %+v", m)
	}
	fx.clock.advance(23 * time.Hour)
	fx.endRuns(true)
	fx.clock.advance(5 * time.Minute)
	fx.firing(a, false)
	if m := server.Next(t); !strings.Contains(m.Text, "no longer holds") {
		t.Errorf("the last mail is %+v", m)
	}
}

// Three processes look at the same alarms: one message is written.
func TestAlarm_of_three_instances_tells_once(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	fx := scheduleFixture(t, cfg, gatedFlow)
	const n = 20
	for i := range n {
		fx.addAlarm(fmt.Sprint("a", i), alarms.Config{Kind: alarms.Silent, Over: "1h", To: []alarms.Receiver{{Email: "ops@example.com"}}})
	}
	for _, other := range []*fixture{fx, fx.secondProcess(cfg), fx.secondProcess(cfg)} {
		if other != fx {
			other.newRunner()
		}
		other.start()
	}
	fx.clock.advance(time.Hour)
	fx.waitUntil("all fire", func() bool {
		fx.clock.advance(time.Second)
		return fx.queryInt(`SELECT count(*) FROM alarms WHERE firing_since > 0`) == n
	})
	if got := fx.queryInt(`SELECT count(*) FROM alarm_messages`); got != n {
		t.Errorf("%d messages were written, want %d", got, n)
	}
}

func TestAlarm_is_off_with_an_archived_flow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := scheduleFixture(t, cfg, gatedFlow)
		box := newPostbox(t)
		a := fx.addAlarm("quiet", alarms.Config{Kind: alarms.Silent, Over: "1h", To: []alarms.Receiver{{Webhook: box.URL}}})
		fx.start()
		fx.clock.advance(time.Hour)
		fx.firing(a, true)
		fx.waitUntil("the message arrives", func() bool { return box.types() == "alarm.started" })
		if err := fx.store.ArchiveFlow(context.Background(), flow.DefaultWorkspace, fx.flowID); err != nil {
			t.Fatal(err)
		}
		if now := fx.alarm(a); now.On || now.Reason != alarms.ReasonArchived || !now.FiringSince.IsZero() {
			t.Errorf("the alarm of the archived flow is %+v", now)
		}
		if box.types() != "alarm.started" {
			t.Errorf("the messages are %s", box.types())
		}
	})
}

// TestAlarm_is_not_delayed_by_receivers_that_hang: a webhook and a mail server that do not answer hold up no other message.
func TestAlarm_is_not_delayed_by_receivers_that_hang(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		never := make(chan struct{})
		hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-never:
			case <-r.Context().Done():
			}
		}))
		t.Cleanup(hung.Close)
		t.Cleanup(func() { close(never) })
		silent, err := net.Listen("tcp", "127.0.0.1:0") // connects, and says nothing
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
		settings, err := mail.Parse("smtp://" + silent.Addr().String() + "?from=sluice@example.com&tls=off")
		if err != nil {
			t.Fatal(err)
		}
		fx := scheduleFixture(t, cfg, gatedFlow)
		fx.newRunnerWith(fx.store, func(c *jobs.Config) { c.Mail = mail.New(settings, slog.New(slog.DiscardHandler)) })
		box := newPostbox(t)
		for i := range 4 { // the slots of an unknown receiver are tested with deliveries
			fx.addAlarm(fmt.Sprintf("hung-%d", i), alarms.Config{Kind: alarms.Failed, To: []alarms.Receiver{{Webhook: hung.URL}, {Email: "ops@example.com"}}})
		}
		last := fx.addAlarm("told", alarms.Config{Kind: alarms.Failed, To: []alarms.Receiver{{Webhook: box.URL}}})
		fx.start()
		fx.endRuns(false)
		fx.firing(last, true)
		fx.waitUntil("the message arrives", func() bool { return box.types() == "alarm.started" })
		if n := fx.queryInt(`SELECT count(*) FROM alarm_messages WHERE channel = 'email' AND state = 'sent'`); n != 0 {
			t.Errorf("%d mails count as sent", n)
		}
	})
}
