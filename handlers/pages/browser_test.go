package pages

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
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

	"sluice/e2e/need"
)

// browserPatience bounds what a page is waited for; a loaded machine needs seconds.
const browserPatience = 20 * time.Second

// chromium starts one browser for all tabs of a test, or leaves the test out.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	need.Tool(t, "no Chromium is installed", path != "")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-quic", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() { end(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is one page of a real browser, signed in as somebody.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string
	mu   sync.Mutex
	bad  []string // what the page threw or the policy refused
}

// tab opens an empty page that is signed in as the person of b. At the end of
// the test it must have thrown nothing, and the policy refused nothing.
func (b *browser) tab(chromium context.Context, width, height int64) *tab {
	b.t.Helper()
	ctx, end := chromedp.NewContext(chromium)
	b.t.Cleanup(end)
	p := &tab{t: b.t, ctx: ctx, base: b.base}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		b.t.Fatal(err)
	}
	send(p, log.Enable, cdp.Empty{})
	send(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	at, _ := url.Parse(b.base)
	for _, c := range b.client.Jar.Cookies(at) {
		send(p, cdpnetwork.SetCookie, cdpnetwork.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.base})
	}
	p.do(chromedp.EmulateViewport(width, height))
	b.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.bad) > 0 {
			b.t.Errorf("the page complained: %s", strings.Join(p.bad, "\n"))
		}
	})
	return p
}

func (p *tab) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *cdpruntime.EventExceptionThrown:
		p.bad = append(p.bad, e.ExceptionDetails.Text)
		if e.ExceptionDetails.Exception != nil {
			p.bad = append(p.bad, e.ExceptionDetails.Exception.Description)
		}
	case *log.EventEntryAdded:
		// The pane may ask for a new node before the server has it; it asks again.
		early := strings.Contains(e.Entry.URL, "/node/") && strings.Contains(e.Entry.Text, "404")
		if e.Entry.Level == log.EntryLevelError && !early {
			p.bad = append(p.bad, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) open(path string) { p.t.Helper(); p.do(chromedp.Navigate(p.base + path)) }

// send is one command of the protocol.
func send[P, R any](p *tab, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// value evaluates an expression of the page.
func value[T any](p *tab, js string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// poll waits for a condition of a page, which may be replaced by another meanwhile.
func poll(ctx context.Context, js string, patience time.Duration) error {
	for {
		err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](js, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "Cannot find context") {
			return err
		}
	}
}

// until waits for a condition of the page.
func (p *tab) until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	if err := poll(ctx, js, browserPatience-time.Second); err != nil {
		p.t.Fatalf("waited for %s: %v", js, err)
	}
}

// want fails unless an expression has a value, written as JSON.
func (p *tab) want(js, want string) {
	p.t.Helper()
	if got := value[string](p, `String(JSON.stringify(`+js+`))`); got != want {
		p.t.Fatalf("%s is %s, want %s", js, got, want)
	}
}

type spot struct{ X, Y float64 }

// middle is where an element lies.
func (p *tab) middle(selector string) spot {
	p.t.Helper()
	return value[spot](p, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`, selector))
}

func (p *tab) mouse(kind input.DispatchMouseEventType, at spot) {
	p.t.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1}
	if kind == input.DispatchMouseEventTypeMouseMoved {
		e.Buttons = 1
	}
	send(p, input.DispatchMouseEvent, e)
}

func (p *tab) click(selector string) {
	p.t.Helper()
	at := p.middle(selector)
	p.mouse(input.DispatchMouseEventTypeMousePressed, at)
	p.mouse(input.DispatchMouseEventTypeMouseReleased, at)
}

// drag goes from one place to another in small steps.
func (p *tab) drag(from, to spot) {
	p.t.Helper()
	p.mouse(input.DispatchMouseEventTypeMousePressed, from)
	for i := 1.0; i <= 8; i++ {
		p.mouse(input.DispatchMouseEventTypeMouseMoved, spot{from.X + (to.X-from.X)*i/8, from.Y + (to.Y-from.Y)*i/8})
	}
	p.mouse(input.DispatchMouseEventTypeMouseReleased, to)
}

// write types a text into what has the focus.
func (p *tab) write(text string) {
	p.t.Helper()
	send(p, input.InsertText, input.InsertTextParams{Text: text})
}

// press types keys written as "Ctrl+Z" or "Enter".
func (p *tab) press(chords ...string) {
	p.t.Helper()
	named := map[string]string{"Enter": kb.Enter, "Escape": kb.Escape, "Delete": kb.Delete, "Tab": kb.Tab, "Down": kb.ArrowDown, "F2": kb.F2}
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
		send(p, input.DispatchKeyEvent, e)
		e.Type, e.Text, e.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
		send(p, input.DispatchKeyEvent, e)
	}
}
