package e2e

import (
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// checkByHand runs the shell snippet on a recorded message.
func (l *language) checkByHand(t *testing.T, c *called, dir string) {
	kept := newReceiver(t, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(kept.URL, "http://"), ":")
	c.as(t, c.key).succeed(c.hook, object{"port": port, "text": awkward})
	m := kept.await(t, "/hook", 1)[0]
	check := func(signature, body string) result {
		at := filepath.Join(dir, "webhook")
		cmd := in(at, l.run(at, m.id(), m.header.Get("Webhook-Timestamp"), signature))
		cmd.Stdin = strings.NewReader(body)
		return runCommand(t, cmd)
	}
	signature := m.header.Get("Webhook-Signature")
	if r := check("v1,AAAA "+signature, string(m.body)); r.code != 0 {
		t.Errorf("a genuine message: exit code %d, %s%s", r.code, r.out, r.errs)
	}
	if r := check(signature, string(m.body)+" "); r.code == 0 {
		t.Errorf("a forged message: %s", r.out)
	}
}

// checkReceiver delivers webhooks to the snippet's own server, which must accept them and
// reject forged and late ones.
func (l *language) checkReceiver(t *testing.T, c *called, dir string, port int) {
	at := filepath.Join(dir, "webhook")
	cmd := l.run(at)
	if l.serve != nil {
		cmd = l.serve(at, port)
	}
	out := newProcessOutput()
	in(at, cmd).Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := "http://127.0.0.1:" + strconv.Itoa(port) + "/hook"
	waitUntil(t, l.id+" refuses a message without a signature", func() bool { return sendTo(address, nil, "{}") == http.StatusBadRequest })

	r := c.as(t, c.key).succeed(c.hook, object{"port": strconv.Itoa(port), "text": "from " + l.id})
	manager := c.as(t, c.manage)
	waitUntil(t, l.id+" takes the delivery", func() bool {
		for _, d := range manager.deliveries("", c.hook) {
			if d.RunID == r.ID {
				return d.Status == "delivered" && len(d.Attempts) == 1
			}
		}
		return false
	})
	waitUntil(t, l.id+" prints it", func() bool { return strings.Contains(out.String(), "from "+l.id) })

	body := `{"text": "signed here"}`
	for name, tt := range map[string]struct {
		age          time.Duration
		before, sent string
		accepted     bool
	}{
		"genuine": {0, "", body, true}, "of several signatures": {time.Minute, "v1,AAAA v2,x ", body, true},
		"forged": {0, "", body + " ", false}, "late": {10 * time.Minute, "", body, false}, "early": {-10 * time.Minute, "", body, false},
	} {
		status := sendTo(address, signed(t, time.Now().Add(-tt.age), body, tt.before), tt.sent)
		if (status/100 == 2) != tt.accepted {
			t.Errorf("a message that is %s: status %d\n%s", name, status, out)
		}
	}
}

// freePort returns a port that is currently unused.
func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	return l.Addr().(*net.TCPAddr).Port
}

// signed returns the headers of a message as the reference library signs it.
func signed(t *testing.T, at time.Time, body, before string) http.Header {
	hook, err := standardwebhooks.NewWebhook(nodeSecret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hook.Sign("msg_1", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {before + signature}}
}

// sendTo posts to a receiver and returns the status, or 0 without a response.
func sendTo(address string, header http.Header, body string) int {
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return 0
	}
	if header != nil {
		req.Header = header
	}
	resp, err := plain.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
