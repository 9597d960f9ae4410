package webtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	cdpnetwork "github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
)

// BrowserPatience bounds each wait for a page. A loaded machine needs seconds.
const BrowserPatience = 2 * time.Minute

// Chromium returns a new profile of a browser, for all tabs of a test. Without Chromium it skips the
// test.
func Chromium(t *testing.T) context.Context {
	t.Helper()
	return chrome.Start(t).Context()
}

// Tab is a page in a real browser.
type Tab struct {
	T      *testing.T
	ctx    context.Context
	base   string
	mu     sync.Mutex
	errors []string // exceptions and console errors
	allow  string   // errors that contain it are expected; "" allows none

	scriptless bool
}

// Tab opens an empty page with the cookies of b, so it is signed in as the same
// user. Exceptions and console errors fail the test at its end.
func (b *Browser) Tab(chromium context.Context, width, height int64) *Tab {
	b.T.Helper()
	ctx, end := chromedp.NewContext(chromium)
	b.T.Cleanup(end)
	p := &Tab{T: b.T, ctx: ctx, base: b.Base}
	if err := chromedp.Listen(ctx, p.recordError); err != nil {
		b.T.Fatal(err)
	}
	Send(p, log.Enable, cdp.Empty{})
	Send(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	at, _ := url.Parse(b.Base)
	for _, c := range b.Client.Jar.Cookies(at) {
		Send(p, cdpnetwork.SetCookie, cdpnetwork.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.Base})
	}
	p.Do(chromedp.EmulateViewport(width, height))
	b.T.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.errors) > 0 {
			b.T.Errorf("errors in the page: %s", strings.Join(p.errors, "\n"))
		}
	})
	return p
}

// Allow permits console errors that contain a text, such as the status of an error that the test
// provokes.
func (p *Tab) Allow(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allow = text
}

// DisableScripts lets pages run no scripts, as in a browser whose user has turned them off.
func (p *Tab) DisableScripts() {
	p.T.Helper()
	Send(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.scriptless = true
}

// recordError records exceptions and console errors, which include violations of the content
// security policy. It is called from the goroutine of the browser connection.
func (p *Tab) recordError(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *cdpruntime.EventExceptionThrown:
		p.errors = append(p.errors, e.ExceptionDetails.Text)
		if e.ExceptionDetails.Exception != nil {
			p.errors = append(p.errors, e.ExceptionDetails.Exception.Description)
		}
	case *log.EventEntryAdded:
		// The inspector may request a new node before the server has it, and then retries.
		missingNode := strings.Contains(e.Entry.URL, "/node/") && strings.Contains(e.Entry.Text, "404")
		expected := p.allow != "" && strings.Contains(e.Entry.Text, p.allow)
		if e.Entry.Level == log.EntryLevelError && !missingNode && !expected {
			p.errors = append(p.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// Do runs actions in the page in order. It fails the test if they take longer than BrowserPatience
// in total.
func (p *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, BrowserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.T.Fatal(err)
	}
}

func (p *Tab) Open(path string) { p.T.Helper(); p.Do(chromedp.Navigate(p.base + path)) }

// Send sends a command of the DevTools protocol to the page.
func Send[P, R any](p *Tab, cmd cdp.Command[P, R], params P) R {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, BrowserPatience)
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.T.Fatal(err)
	}
	return r
}

// Value evaluates an expression in the page.
func Value[T any](p *Tab, js string) T {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, BrowserPatience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.T.Fatalf("%s: %v", js, err)
	}
	return v
}

// Poll waits until an expression is true, even if the page navigates meanwhile.
func Poll(ctx context.Context, js string, patience time.Duration) error {
	for {
		err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](js, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "Cannot find context") {
			return err
		}
	}
}

// Until waits until an expression is true.
func (p *Tab) Until(js string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, BrowserPatience)
	defer cancel()
	if err := Poll(ctx, js, BrowserPatience-time.Second); err != nil {
		p.T.Fatalf("waited for %s: %v; the page says: %s", js, err, p.describe())
	}
}

// describe returns where the page is, what has the focus and the beginning of its text, for
// error messages. It never fails.
func (p *Tab) describe() string {
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.pathname + location.search + " · " + document.activeElement?.outerHTML.slice(0, 120) + " · " +
		(document.querySelector("dialog[open], :popover-open") ?? document.body).innerText.slice(0, 1000)`))
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(text), " ")
}

// Want fails the test unless an expression has a value, which is written as JSON.
func (p *Tab) Want(js, want string) {
	p.T.Helper()
	if got := Value[string](p, `String(JSON.stringify(`+js+`))`); got != want {
		p.T.Fatalf("%s is %s, want %s", js, got, want)
	}
}

// Point is a point of the page in CSS pixels, from the top left of the viewport.
type Point struct{ X, Y float64 }

// Middle returns the center of the first element that matches a selector, once the element
// exists and has stopped moving. Without scripts nothing moves, but nothing can wait either.
func (p *Tab) Middle(selector string) Point {
	p.T.Helper()
	if p.scriptless {
		return Value[Point](p, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`, selector))
	}
	return Value[Point](p, chrome.Settled(fmt.Sprintf("document.querySelector(%q)", selector)))
}

// Mouse sends one mouse event. A move keeps the left button down, because all moves
// here are parts of a drag.
func (p *Tab) Mouse(kind input.DispatchMouseEventType, at Point) {
	p.T.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1}
	if kind == input.DispatchMouseEventTypeMouseMoved {
		e.Buttons = 1
	}
	Send(p, input.DispatchMouseEvent, e)
}

// Click presses and releases the left button in the middle of an element. Unlike a click by
// script, it hits whatever covers the element there, as it would for a person.
func (p *Tab) Click(selector string) {
	p.T.Helper()
	at := p.Middle(selector)
	p.Mouse(input.DispatchMouseEventTypeMousePressed, at)
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, at)
}

// Drag presses the left button, moves the mouse in small steps and releases the button.
func (p *Tab) Drag(from, to Point) {
	p.T.Helper()
	p.Mouse(input.DispatchMouseEventTypeMousePressed, from)
	for i := 1.0; i <= 8; i++ {
		p.Mouse(input.DispatchMouseEventTypeMouseMoved, Point{from.X + (to.X-from.X)*i/8, from.Y + (to.Y-from.Y)*i/8})
	}
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, to)
}

// Write types a text into the focused element.
func (p *Tab) Write(text string) {
	p.T.Helper()
	Send(p, input.InsertText, input.InsertTextParams{Text: text})
}

// Press types keys, written as "Ctrl+Z" or "Enter".
func (p *Tab) Press(chords ...string) {
	p.T.Helper()
	named := map[string]string{"Enter": kb.Enter, "Escape": kb.Escape, "Delete": kb.Delete, "Tab": kb.Tab, "Down": kb.ArrowDown, "Right": kb.ArrowRight, "F2": kb.F2, "F10": kb.F10}
	for _, chord := range chords {
		parts := strings.Split(chord, "+")
		var mods kb.Modifier
		for _, m := range parts[:len(parts)-1] {
			mods |= map[string]kb.Modifier{"Ctrl": kb.ModifierCtrl, "Alt": kb.ModifierAlt, "Shift": kb.ModifierShift}[m]
		}
		text, ok := named[parts[len(parts)-1]]
		if !ok {
			text = strings.ToLower(parts[len(parts)-1])
		}
		k := kb.Keys[[]rune(text)[0]]
		e := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows, Modifiers: int64(mods)}
		if mods == 0 {
			e.Type, e.Text, e.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, k.Text, k.Unmodified
		}
		Send(p, input.DispatchKeyEvent, e)
		e.Type, e.Text, e.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
		Send(p, input.DispatchKeyEvent, e)
	}
}
