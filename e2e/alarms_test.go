package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/e2e/npm"
)

// dividing returns a flow whose runs fail if n is 0.
func dividing() []byte {
	return documentOf("Broken", []object{input("n"), node("check", "expression", object{"expression": "1 / int(value)"}), output("got")}, "n.value > check.value", "check.value > out_got.value")
}

// TestAlarm_mails_through_a_real_server checks that an independent mail server gets the message of an alarm once, although it refuses the first attempt.
func TestAlarm_mails_through_a_real_server(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	dir := filepath.Join("testdata", "smtp")
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "server.cjs"), npm.Install(t, dir))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	port, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, "SLUICE_SMTP_URL=smtp://mailer:secret@127.0.0.1:"+strings.TrimSpace(port)+"?from=sluice@example.com&tls=off")
	id := s.publish(dividing())
	c := s.client(s.key("--scope", "edit,read,run"))
	c.want(200, "PUT", "/v1/alarms/broken", object{"kind": "failed", "flow": id, "to": []any{object{"email": "ops@example.com"}}})
	run := c.await(c.start(id, object{"n": "0"}))
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		To  []string
		Raw string
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.To) != 1 || m.To[0] != "ops@example.com" || !strings.Contains(m.Raw, run.ID) || !strings.Contains(strings.ToLower(m.Raw), "from: <sluice@example.com>") {
		t.Errorf("the mail is %s to %v", m.Raw, m.To)
	}
	waitUntil(t, "the message counts as sent", func() bool {
		return strings.Contains(string(c.want(200, "GET", "/v1/alarms/broken/messages", nil).body), `"sent"`)
	})
}

// alarmBox receives the webhooks of alarms.
type alarmBox struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]map[string]int // how often each message ID arrived, by the alarm and the type of the message
}

func newAlarmBox(t *testing.T) *alarmBox {
	b := &alarmBox{seen: map[string]map[string]int{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			Type string
			Data struct{ Alarm string }
		}
		if json.Unmarshal(body, &m) != nil {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		key := m.Data.Alarm + " " + m.Type
		if b.seen[key] == nil {
			b.seen[key] = map[string]int{}
		}
		b.seen[key][r.Header.Get("webhook-id")]++
	}))
	t.Cleanup(b.Close)
	return b
}

// types returns how many alarms have sent a message of a type.
func (b *alarmBox) types(of string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.seen {
		if strings.HasSuffix(key, " "+of) {
			n++
		}
	}
	return n
}

// crashedAlarms is how many alarms look at the flow of TestCrashAlarms_tell_once.
const crashedAlarms = 20

// TestCrashAlarms_tell_once kills servers at random moments while alarms start to fire and end: each sends one message of both, which may arrive twice with the same ID.
func TestCrashAlarms_tell_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			source := random(t)
			servers := []*server{}
			if on == "PostgreSQL" {
				servers = newFleet(t, fleetConfig{}).servers
			} else {
				s := newServer(t)
				s.faulty = true
				servers = append(servers, s)
			}
			s, box := servers[0], newAlarmBox(t)
			id := s.publish(dividing())
			c := s.client(s.key("--scope", "edit,read,run"))
			for i := range crashedAlarms {
				c.want(200, "PUT", "/v1/alarms/broken-"+string(rune('a'+i)), object{"kind": "failed", "flow": id, "clear_after": "1m", "to": []any{object{"webhook": box.URL}}})
			}
			c.await(c.start(id, object{"n": "0"}))
			kills := max(10, *rounds)
			for i := range kills {
				time.Sleep(time.Duration(500+source.IntN(4000)) * time.Millisecond) // the random moment itself
				one := servers[source.IntN(len(servers))]
				one.kill()
				one.start()
				if i == kills/2 { // a run that succeeds lets the alarms end
					waitUntil(t, "all alarms have started", func() bool { return box.types("alarm.started") == crashedAlarms })
					c.await(c.start(id, object{"n": "1"}))
				}
			}
			waitUntil(t, "all alarms have ended", func() bool { return box.types("alarm.ended") == crashedAlarms })
			box.mu.Lock()
			defer box.mu.Unlock()
			for key, ids := range box.seen {
				if len(ids) != 1 {
					t.Errorf("%s was sent with %d IDs", key, len(ids))
				}
			}
			t.Logf("%d kills", kills)
		})
	}
}
