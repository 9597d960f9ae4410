package e2e

import (
	"bytes"
	"testing"
)

// TestDeleteRun_erases_content deletes a run and checks that its tombstone has no content.
func TestDeleteRun_erases_content(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(greeting())
	c := s.client(s.manager())
	r := c.succeed(id, object{"name": "Secret-Name"}, "Idempotency-Key: erased")
	s.client(s.key()).rejected(403, "scope_missing", "DELETE", r.path(), nil)
	if a := c.do("DELETE", r.path(), nil); a.status/100 != 2 {
		t.Fatalf("DELETE answers %d: %s", a.status, a.body)
	}
	checkTombstone(t, c, r)
	c.rejected(410, "result_not_saved", "POST", "/v1/flow/"+id+"/run", object{"name": "Secret-Name"}, "Idempotency-Key: erased")
}

// checkTombstone checks that an erased run has its state and times but no content.
func checkTombstone(t *testing.T, c *client, r *run) {
	t.Helper()
	a := c.want(200, "GET", r.path(), nil)
	now := a.run(t)
	if now.Status != "succeeded" || now.Inputs != nil || now.Outputs != nil || bytes.Contains(a.body, []byte("Secret-Name")) {
		t.Errorf("the tombstone tells too much: %s", a.body)
	}
	for _, part := range []string{"/result", "/steps", "/events"} {
		accept := "Accept: application/json"
		if part == "/events" {
			accept = "Accept: text/event-stream"
		}
		c.rejected(410, "result_not_saved", "GET", r.path()+part, nil, accept)
	}
	c.rejected(410, "result_not_saved", "POST", r.path()+"/rerun", nil)
}

// TestSaveFalse_erases_content checks that the content of a run with save: false is erased once the run
// and its deliveries have ended, and that a waiting caller gets the outputs anyway.
func TestSaveFalse_erases_content(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, nil)
	s := newServer(t)
	id := s.publish(greeting())
	c := s.client(s.key())
	a := c.want(200, "POST", "/v1/flow/"+id+"/run", object{"name": "Secret-Name", "run_options": object{
		"save": false, "webhook": object{"url": receiver.URL + "/run"},
	}}, "Prefer: wait=20")
	r := a.run(t)
	if r.Outputs["text"] != "Hello Secret-Name!" {
		t.Errorf("who waits gets %s", a.body)
	}
	if m := receiver.await(t, "/run", 1)[0]; !bytes.Contains(m.body, []byte("Hello Secret-Name!")) {
		t.Errorf("the webhook says %s", m.body)
	}
	s.waitUntil("the content is gone", func() bool { return c.do("GET", r.path()+"/result", nil).status == 410 })
	checkTombstone(t, c, r)
}
