package chrome

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Do executes actions.
func (p *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, WaitTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Go loads an address.
func (p *Tab) Go(url string) { p.t.Helper(); p.Do(chromedp.Navigate(url)) }

// Early runs JavaScript in each page that the tab loads from now on, when its HTML has been read and before its scripts run: what people
// do on a slow connection.
func (p *Tab) Early(js string) {
	p.t.Helper()
	Call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `document.addEventListener("readystatechange", () => { ` + js + ` }, { once: true });`})
}

// Value evaluates a JavaScript expression and awaits promises.
func Value[T any](p *Tab, js string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, WaitTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// Eval executes a JavaScript statement.
func (p *Tab) Eval(js string) { p.t.Helper(); Value[chromedp.Void](p, js) }

// Until waits until a JavaScript condition holds, also across a navigation.
func (p *Tab) Until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, WaitTimeout)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		var ok bool
		if ok, err = chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+js+")", chromedp.EvalAwaitPromise)); ok {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.Shot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
	p.t.Fatalf("waited for %s at %s: %v; the page says: %s", js, p.where(), err, p.text("body"))
}

// where returns the address of the tab for error messages. It never fails.
func (p *Tab) where() string {
	url, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.href"))
	return url
}

func (p *Tab) text(selector string) string {
	text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector)))
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return strings.Join(strings.Fields(text), " ")
}

// Has waits until an element shows a text.
func (p *Tab) Has(selector, text string) {
	p.t.Helper()
	p.Until(fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, text))
}

// Gone waits until no element matches the selector.
func (p *Tab) Gone(selector string) { p.t.Helper(); p.Until("!" + find(selector)) }

func find(selector string) string { return fmt.Sprintf("document.querySelector(%q)", selector) }

// There waits until an element that matches the selector is visible.
func (p *Tab) There(selector string) {
	p.t.Helper()
	p.Until(find(selector) + "?.checkVisibility({visibilityProperty: true})")
}

// Point is a position in the viewport, in CSS pixels.
type Point struct{ X, Y float64 }

// Middle scrolls an element into view and returns the position of its center.
func (p *Tab) Middle(selector string) Point {
	p.t.Helper()
	p.There(selector)
	return p.middleOf(find(selector))
}

// middleOf scrolls the element that a JavaScript expression gives into view and returns the
// position of its center.
func (p *Tab) middleOf(element string) Point {
	p.t.Helper()
	return Value[Point](p, Settled(element))
}

// Settled returns JavaScript for a promise of the center of an element, as a Point. The page
// may be replacing or moving the element, so its position must be the same in three frames.
func Settled(element string) string {
	return `(async () => {
		const frame = () => new Promise((next) => { requestAnimationFrame(next); setTimeout(next, 500); }); // hidden tabs have no frames
		for (let last = "", same = 0; ; await frame()) {
			const e = ` + element + `;
			e?.scrollIntoViewIfNeeded?.();
			const r = e?.getBoundingClientRect(), now = r ? [r.x, r.y, r.width, r.height].join() : "";
			same = now && now === last ? same + 1 : 0;
			last = now;
			if (same === 2) return {X: r.x + r.width / 2, Y: r.y + r.height / 2};
		}
	})()`
}

// ClickOn presses the mouse on the element that a JavaScript expression gives.
func (p *Tab) ClickOn(element string) {
	p.t.Helper()
	at := p.middleOf(element)
	p.acts.Clicks++
	p.Do(chromedp.MouseClickXY(at.X, at.Y))
}

// Click presses the mouse on an element.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	at := p.Middle(selector)
	p.acts.Clicks++
	p.Do(chromedp.MouseClickXY(at.X, at.Y))
}

// Type replaces the text of a field by clicking into it and typing.
func (p *Tab) Type(selector, text string) {
	p.t.Helper()
	p.Click(selector)
	p.Eval(find(selector) + "?.select?.()")
	p.Keys(text)
}

// Keys types keys into the focused element.
func (p *Tab) Keys(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.acts.Keys += utf8.RuneCountInString(keys)
	p.Do(chromedp.KeyEvent(keys, options...))
}

// Press presses a key that types no text, such as a shortcut that the page handles.
func (p *Tab) Press(key rune) {
	p.t.Helper()
	k := kb.Keys[key]
	p.acts.Keys++
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		Call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows})
	}
}

// Acts are what a person did with mouse and keyboard.
type Acts struct{ Clicks, Keys int }

// Acts returns what was done in the tab so far.
func (p *Tab) Acts() Acts { return p.acts }

// Takes returns how long a person needs for the acts, by the keystroke-level model (Card, Moran and Newell, 1980): 1.35 s to decide on a click, 1.1 s to point, 0.2 s to
// press, 0.8 s for the hand to go to the mouse and back; 0.28 s for a key. It says nothing about the speed of the machine.
func (a Acts) Takes() time.Duration {
	return time.Duration(a.Clicks)*3450*time.Millisecond + time.Duration(a.Keys)*280*time.Millisecond
}

// Size sets the size of the viewport.
func (p *Tab) Size(width, height int64) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(width, height))
}

// Phone emulates a touch screen of 375 by 812 CSS pixels.
func (p *Tab) Phone() {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(375, 812, chromedp.EmulateMobile, chromedp.EmulateTouch))
}

// Theme emulates a system that prefers the light or the dark theme.
func (p *Tab) Theme(name string) {
	p.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	Call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	p.Until("document.getAnimations().every((a) => !(a instanceof CSSTransition))") // a color on its way has no contrast of its own
}

// Offline disconnects the tab from the network, or reconnects it.
func (p *Tab) Offline(cut bool) {
	p.t.Helper()
	Call(p, network.Enable, network.EnableParams{})
	Call(p, emulateNetwork, networkConditions{Offline: cut, Download: -1, Upload: -1})
}

// emulateNetwork also sets navigator.onLine, unlike the newer command of the protocol
// that package cdproto has.
var emulateNetwork = cdp.Command[networkConditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

type networkConditions struct {
	Offline  bool    `json:"offline"`
	Latency  float64 `json:"latency"`
	Download float64 `json:"downloadThroughput"` // -1: as fast as it is
	Upload   float64 `json:"uploadThroughput"`
}

// SetCookies sets cookies of the server at an address, in the profile of the tab.
func (p *Tab) SetCookies(url string, cookies []*http.Cookie) {
	p.t.Helper()
	for _, c := range cookies {
		Call(p, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: url})
	}
}

// Shot writes a screenshot if SLUICE_TEST_SHOTS is set to a directory.
func (p *Tab) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv("SLUICE_TEST_SHOTS")
	if dir == "" {
		return
	}
	p.Picture(filepath.Join(dir, name+".png"))
}

// Picture writes a screenshot to a file.
func (p *Tab) Picture(path string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, WaitTimeout)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, png, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Drag presses the mouse at one position, moves it and releases it at another.
func (p *Tab) Drag(from, to Point) {
	p.t.Helper()
	mouse := func(kind input.DispatchMouseEventType, at Point, buttons int64) {
		Call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1})
	}
	mouse(input.DispatchMouseEventTypeMouseMoved, from, 0)
	mouse(input.DispatchMouseEventTypeMousePressed, from, 1)
	const hops = 8 // a gesture begins after the first few points
	for i := 1; i <= hops; i++ {
		part := float64(i) / hops
		mouse(input.DispatchMouseEventTypeMouseMoved, Point{from.X + (to.X-from.X)*part, from.Y + (to.Y-from.Y)*part}, 1)
	}
	mouse(input.DispatchMouseEventTypeMouseReleased, to, 0)
	// d3-drag ignores clicks until a timer of 0 ms after the release has fired; a test is
	// fast enough to click before it.
	p.Eval("new Promise((done) => setTimeout(done))")
}

// Tap touches an element with a finger.
func (p *Tab) Tap(selector string) {
	p.t.Helper()
	at := p.Middle(selector)
	p.touch(input.DispatchTouchEventTypeTouchStart, at)
	p.touch(input.DispatchTouchEventTypeTouchEnd)
}

// Swipe moves a finger over the page.
func (p *Tab) Swipe(from, to Point) {
	p.t.Helper()
	p.touch(input.DispatchTouchEventTypeTouchStart, from)
	const hops = 8
	for i := 1; i <= hops; i++ {
		part := float64(i) / hops
		p.touch(input.DispatchTouchEventTypeTouchMove, Point{from.X + (to.X-from.X)*part, from.Y + (to.Y-from.Y)*part})
	}
	p.touch(input.DispatchTouchEventTypeTouchEnd)
}

// touch sends an event of one finger, or of none at its end.
func (p *Tab) touch(kind input.DispatchTouchEventType, at ...Point) {
	p.t.Helper()
	points := []*input.TouchPoint{}
	for _, point := range at {
		points = append(points, &input.TouchPoint{X: point.X, Y: point.Y})
	}
	Call(p, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
}

// AllowClipboard permits the pages of an origin to write and read the clipboard, as
// browsers do after a click of the user.
func (p *Tab) AllowClipboard(origin string) {
	p.t.Helper()
	for _, name := range []string{"clipboard-write", "clipboard-read"} {
		Call(p, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted, Origin: origin,
			BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		})
	}
}
