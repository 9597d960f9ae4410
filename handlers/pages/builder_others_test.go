package pages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

// twoHouses are two instances on one database, which hear each other.
func twoHouses(t *testing.T, set ...func(*Config)) (a, b *house) {
	t.Helper()
	cfg := dbtest.PostgresConfig(t)
	var both [2]*house
	for i := range both {
		h := setupOn(t, dbtest.Postgres(t, func(c *db.Config) { *c = cfg }), set...)
		listening := make(chan struct{}, 2)
		go h.store.Listen(t.Context(), func(string) { listening <- struct{}{} })
		<-listening
		both[i] = h
	}
	both[0].add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	return both[0], both[1]
}

// TestFlowEvents_ofOthers: what happens at one instance reaches the pages that
// hang on another.
func TestFlowEvents_ofOthers(t *testing.T) {
	t.Parallel()
	a, b := twoHouses(t)
	id := a.flow(sampleFlow)
	path := fmt.Sprintf("/flows/%s/events?rev=%d", id, a.rev(id))
	people := func(s *stream) int { return strings.Count(s.next("flow:people").detail["html"].(string), "<li") }
	until := func(s *stream, n int) {
		t.Helper()
		for people(s) != n {
		}
	}
	here := a.as(flow.MemberEditor).stream(path, "")
	until(here, 0)
	there := b.as(flow.MemberViewer).stream(path, "")
	until(here, 1)
	until(there, 1)
	b.as(flow.MemberEditor).postJSON("/flows/"+id+"/ops", transaction(a.rev(id), "a", rename)).is(http.StatusOK)
	if e := here.next("flow:ops"); e.detail["txid"] != "a" {
		t.Errorf("got %+v", e)
	}
	b.server.announce(id, "flow:run", map[string]string{"run": "run_1"})
	for _, s := range []*stream{here, there} {
		if e := s.next("flow:run"); e.detail["run"] != "run_1" {
			t.Errorf("got %+v", e)
		}
	}
	there.cancel()
	until(here, 0)
}

// TestFormLimits_ofAll: one address sends as often as it may, whichever
// instances it reaches.
func TestFormLimits_ofAll(t *testing.T) {
	t.Parallel()
	a, b := twoHouses(t)
	id := a.formOf(ticketRouting, func(f *flow.Form) { f.PerMinute = 2 })
	for i, h := range []*house{a, b, a, b} {
		want := http.StatusSeeOther
		if i >= 2 {
			want = http.StatusTooManyRequests
		}
		h.stranger().sendForm("/f/"+id, map[string]string{"in.ticket": "one"}, nil).is(want)
	}
}

// TestEditing_elsewhere: an instance that says nothing more is taken for gone.
func TestEditing_elsewhere(t *testing.T) {
	t.Parallel()
	var e editing
	now := time.Now()
	said := &peopleNews{Flow: "f", From: "b", People: []present{{User: "u2"}}}
	if e.hear(said, now) {
		t.Error("nobody here has it open")
	}
	l := &listener{flowID: "f", user: "u1", news: make(chan news, newsKept)}
	if !e.join(l) || e.join(l) {
		t.Error("who is the first to open it?")
	}
	if !e.hear(said, now) || len(e.others("f", "u1")) != 1 || len(e.others("f", "u2")) != 1 {
		t.Errorf("others %v", e.others("f", "u1"))
	}
	for _, c := range []struct {
		after       time.Duration
		forgot, due bool
	}{{peopleSaid, false, true}, {peopleKept, false, true}, {peopleKept + time.Second, true, true}, {0, false, false}} {
		e.elsewhere["f"].said = now
		if forgot, due := e.renew("f", now.Add(c.after)); forgot != c.forgot || due != c.due {
			t.Errorf("after %s: forgot %v, due %v", c.after, forgot, due)
		}
	}
	if len(e.others("f", "u1")) != 0 {
		t.Error("who is gone is still there")
	}
}
