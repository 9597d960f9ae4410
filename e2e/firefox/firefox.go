// Package firefox drives a real Firefox for tests, through WebDriver BiDi
// (https://w3c.github.io/webdriver-bidi/). It owns finding and starting the browser and the actions
// of a page. Whatever goes wrong in a page fails the test: exceptions, logged errors and violations
// of the content security policy. It must not know the pages.
package firefox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"sluice/e2e/chrome"
	"sluice/e2e/need"
)

// WaitTimeout bounds every wait. It only ends a test that hangs.
const WaitTimeout = 2 * time.Minute

// Tab is a page of a Firefox that ends with the test.
type Tab struct {
	t       testing.TB
	socket  *websocket.Conn
	context string // the ID of the page

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply // commands without an answer, by ID
	closed  error              // why the connection ended
	faults  chrome.Faults
}

// reply is a message of the browser: the answer to a command, or an event.
type reply struct {
	ID      int             `json:"id"`
	Type    string          `json:"type"` // success, error or event
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
}

// preferences keep a fresh profile from opening pages and connections of its own.
const preferences = `user_pref("app.normandy.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("browser.newtabpage.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
`

var listening = regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)

// Open starts a Firefox and opens an address in it, or skips the test. At the end of the test, every
// fault of the page that Allow does not permit is an error.
func Open(t testing.TB, url string) *Tab {
	t.Helper()
	p := &Tab{t: t, waiting: map[int]chan reply{}}
	address := start(t)
	config, err := websocket.NewConfig(address+"/session", "http://127.0.0.1")
	if err == nil {
		p.socket, err = config.DialContext(t.Context())
	}
	if err != nil {
		t.Fatalf("connect to Firefox: %v", err)
	}
	p.socket.MaxPayloadBytes = 64 << 20 // screenshots
	go p.listen()
	t.Cleanup(func() { p.faults.Report(t) })
	p.call("session.new", object{"capabilities": object{}}, nil)
	t.Cleanup(func() { _ = p.send("browser.close", object{}, nil) })
	var page struct{ Context string } // in the first tab, the focus stays in the address bar
	p.call("browsingContext.create", object{"type": "tab"}, &page)
	p.context = page.Context
	p.call("session.subscribe", object{"events": []string{"log.entryAdded"}}, nil)
	p.call("script.addPreloadScript", object{"functionDeclaration": `() => document.addEventListener("securitypolicyviolation",
		(e) => console.error("refused by " + e.violatedDirective + ": " + e.blockedURI))`}, nil)
	p.call("browsingContext.setViewport", object{"context": p.context, "viewport": object{"width": 1440, "height": 900}}, nil)
	p.Go(url)
	return p
}

type object = map[string]any

// start starts a Firefox with an empty profile and returns the address of its socket.
func start(t testing.TB) (address string) {
	t.Helper()
	need.Time(t)
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		path, err = exec.LookPath("firefox")
	}
	need.Tool(t, "no Firefox is installed", err == nil)
	profile := t.TempDir()
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(preferences), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "--remote-allow-origins", "http://127.0.0.1")
	cmd.Env = append(os.Environ(), "HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	output, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	t.Cleanup(func() {
		late := time.AfterFunc(WaitTimeout, func() { _ = cmd.Process.Kill() }) // it was told to close
		defer late.Stop()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				for lines.Scan() { // so that it never waits for a reader
				}
			}()
			return found[1]
		}
	}
	t.Fatalf("%s ended without an address: %v", path, lines.Err())
	return ""
}

// listen distributes the messages of the browser until the connection ends.
func (p *Tab) listen() {
	for {
		var r reply
		if err := websocket.JSON.Receive(p.socket, &r); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.closed = fmt.Errorf("the connection to Firefox ended: %w", err)
			for _, waiter := range p.waiting {
				close(waiter)
			}
			return
		}
		if r.Type == "event" {
			p.hear(r.Params)
			continue
		}
		p.mu.Lock()
		waiter := p.waiting[r.ID]
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		if waiter != nil {
			waiter <- r
		}
	}
}

// hear records errors that a page threw or logged.
func (p *Tab) hear(params json.RawMessage) {
	var entry struct{ Level, Text string }
	if json.Unmarshal(params, &entry) == nil && entry.Level == "error" {
		p.faults.Add("logged: " + entry.Text)
	}
}

// Allow permits faults that contain a text.
func (p *Tab) Allow(text string) { p.faults.Allow(text) }

// send sends a command and decodes its result, unless that is nil.
func (p *Tab) send(method string, params object, result any) error {
	waiter := make(chan reply, 1)
	p.mu.Lock()
	if p.closed != nil {
		defer p.mu.Unlock()
		return p.closed
	}
	p.last++
	id := p.last
	p.waiting[id] = waiter
	p.mu.Unlock()
	if err := websocket.JSON.Send(p.socket, object{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case r, ok := <-waiter:
		switch {
		case !ok:
			return p.closed
		case r.Type == "error":
			return fmt.Errorf("%s: %s: %s", method, r.Error, r.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-time.After(WaitTimeout):
		return errors.New(method + " is not answered")
	}
}

// call is send for commands that must succeed.
func (p *Tab) call(method string, params object, result any) {
	p.t.Helper()
	if err := p.send(method, params, result); err != nil {
		p.t.Fatal(err)
	}
}
