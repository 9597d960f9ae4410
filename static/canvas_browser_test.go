package static_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/static"
)

// patience bounds the wait for a page; a loaded machine needs seconds.
const patience = 20 * time.Second

// builtCanvas serves assets built from the current sources, or the committed ones
// if npm has not installed the packages.
func builtCanvas(t *testing.T) (http.Handler, map[string]string) {
	t.Helper()
	files := buildOnce()
	names := map[string]string{}
	if files == nil {
		for _, n := range static.Names() {
			names[n] = static.URL(n)
		}
		return static.Handler(), names
	}
	must(json.Unmarshal(files["manifest.json"].Data, &names))
	for n, hashed := range names {
		names[n] = "/assets/" + hashed
	}
	return http.StripPrefix("/assets/", http.FileServerFS(files)), names
}

// buildOnce builds into a temporary directory and returns the files.
var buildOnce = sync.OnceValue(func() fstest.MapFS {
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(modules, "@xyflow")); err != nil {
		return nil
	}
	tree, err := os.MkdirTemp("", "sluice-canvas-")
	must(err)
	defer os.RemoveAll(tree) //nolint:errcheck // a leftover temporary directory is harmless
	dir := filepath.Join(tree, "static")
	must(os.Mkdir(dir, 0o700))
	must(os.CopyFS(filepath.Join(dir, "src"), os.DirFS("src")))
	must(os.Symlink(modules, filepath.Join(dir, "node_modules")))
	lock, err := fs.ReadFile(os.DirFS("."), "package-lock.json")
	must(err)
	must(os.WriteFile(filepath.Join(dir, "package-lock.json"), lock, 0o600))
	out, err := exec.Command("go", "-C", "build", "run", ".", "-root", dir).CombinedOutput()
	if err != nil {
		panic(fmt.Sprintf("build the assets: %v\n%s", err, out))
	}
	files := fstest.MapFS{}
	dist := os.DirFS(filepath.Join(dir, "dist"))
	must(fs.WalkDir(dist, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(dist, path)
		if name, isPacked := strings.CutSuffix(path, ".gz"); isPacked && err == nil {
			path = name
			content, err = unpack(content)
		}
		files[path] = &fstest.MapFile{Data: content}
		return err
	}))
	return files
})

// unpack decompresses an asset.
func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// page is a tab that shows the flow.
type page struct {
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	errors []string
}

// open shows the flow of a server in a new tab and waits for the canvas.
func open(t *testing.T, browser context.Context, url string) *page {
	t.Helper()
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	p := &page{t: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*cdpruntime.EventExceptionThrown); ok {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.errors = append(p.errors, thrown(e.ExceptionDetails))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.errors) > 0 {
			t.Errorf("the page threw: %s", strings.Join(p.errors, "\n"))
		}
	})
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // background tabs receive keys too
	p.do(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url))
	p.ready()
	return p
}

func thrown(d *cdpruntime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}

func (p *page) ready() {
	p.t.Helper()
	p.until(`document.querySelector("flow-canvas[ready]")?.drawing !== undefined`)
	p.eval(`(() => { window.c = document.querySelector("flow-canvas"); window.heard = {};
		for (const name of ["select", "open", "palette", "ops", "state", "refused", "menu", "pin", "reconnect", "inserted"]) c.addEventListener("canvas:" + name, (e) => (heard[name] ??= []).push(e.detail)); })()`)
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// call sends a command of the DevTools protocol.
func call[P, R any](p *page, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// value evaluates an expression of the page.
func value[T any](p *page, js string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// eval runs a statement in the page.
func (p *page) eval(js string) {
	p.t.Helper()
	value[chromedp.Void](p, js)
}

// until waits for a condition of the page.
func (p *page) until(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](js, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience-time.Second)))
	if err != nil {
		p.t.Fatalf("waited for %s: %v", js, err)
	}
}

// waitFor waits for a condition of the server.
func (p *page) waitFor(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			p.t.Fatalf("waited for %s", what)
		}
		p.eval(`new Promise((done) => setTimeout(done, 20))`)
	}
}

// saved waits until every change is saved.
func (p *page) saved() {
	p.t.Helper()
	p.until(`c.sync.waiting === 0`)
}

func (p *page) text(js string) string {
	p.t.Helper()
	return value[string](p, js)
}

// want fails the test unless an expression has a value, written as JSON.
func (p *page) want(js, value string) {
	p.t.Helper()
	if got := p.text(`String(JSON.stringify(` + js + `))`); got != value {
		p.t.Fatalf("%s is %s, want %s", js, got, value)
	}
}

// middle returns the center of an element on the screen.
func (p *page) middle(js string) point {
	p.t.Helper()
	return value[point](p, `(() => { const r = (`+js+`).getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`)
}

func (p *page) head(id string) point {
	p.t.Helper()
	return p.middle(fmt.Sprintf(`c.querySelector("#node-%s header")`, id))
}

func (p *page) port(at, side string) point {
	p.t.Helper()
	return p.middle(portOf(at, side))
}

func portOf(at, side string) string {
	node, name, _ := strings.Cut(at, ".")
	return fmt.Sprintf(`c.querySelector('#node-%s [data-port="%s"][data-side="%s"]')`, node, name, side)
}

func (p *page) position(id string) point {
	p.t.Helper()
	return value[point](p, fmt.Sprintf(`({ ...c.scene.boxes.get(%q).position })`, id))
}

// mouse sends one event of the left button.
func (p *page) mouse(kind input.DispatchMouseEventType, at point, modifiers ...kb.Modifier) {
	p.t.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1}
	if kind != released {
		e.Buttons = 1
	}
	for _, m := range modifiers {
		e.Modifiers |= int64(m)
	}
	call(p, input.DispatchMouseEvent, e)
}

const (
	pressed  = input.DispatchMouseEventTypeMousePressed
	moved    = input.DispatchMouseEventTypeMouseMoved
	released = input.DispatchMouseEventTypeMouseReleased
)

// hover moves the mouse without a button.
func (p *page) hover(at point) {
	p.t.Helper()
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: moved, X: at.X, Y: at.Y})
}

// drag presses at one point, moves to others in small steps, and releases.
func (p *page) drag(from, to point, modifiers ...kb.Modifier) {
	p.t.Helper()
	p.grab(from, to, modifiers...)
	p.mouse(released, to, modifiers...)
}

func (p *page) grab(from, to point, modifiers ...kb.Modifier) {
	p.t.Helper()
	p.hover(from)
	p.mouse(pressed, from, modifiers...)
	for i := 1.0; i <= 8; i++ {
		p.mouse(moved, point{from.X + (to.X-from.X)*i/8, from.Y + (to.Y-from.Y)*i/8}, modifiers...)
	}
}

func (p *page) click(at point, modifiers ...kb.Modifier) {
	p.t.Helper()
	p.hover(at)
	p.mouse(pressed, at, modifiers...)
	p.mouse(released, at, modifiers...)
}

// press types keys written as "Ctrl+Shift+Z".
func (p *page) press(chords ...string) {
	p.t.Helper()
	for _, c := range chords {
		parts := strings.Split(c, "+")
		var m kb.Modifier
		for _, name := range parts[:len(parts)-1] {
			m |= map[string]kb.Modifier{"Ctrl": kb.ModifierCtrl, "Alt": kb.ModifierAlt, "Shift": kb.ModifierShift}[name]
		}
		p.key(parts[len(parts)-1], m)
	}
}

var editing = map[string]string{"C": "copy", "X": "cut", "V": "paste"}

func (p *page) key(name string, m kb.Modifier) {
	p.t.Helper()
	keys := map[string]string{"F2": kb.F2, "Enter": kb.Enter, "Escape": kb.Escape, "Delete": kb.Delete, "Tab": kb.Tab, "Space": " ", "Left": kb.ArrowLeft, "Right": kb.ArrowRight, "Up": kb.ArrowUp, "Down": kb.ArrowDown}
	text, named := keys[name]
	if !named {
		text = strings.ToLower(name)
	}
	k := kb.Keys[[]rune(text)[0]]
	e := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows, Modifiers: int64(m)}
	if command := editing[name]; command != "" && m&kb.ModifierCtrl != 0 {
		e.Commands = []string{command}
	}
	if name == "Enter" || name == "Space" {
		e.Type, e.Text, e.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, k.Text, k.Unmodified
	}
	call(p, input.DispatchKeyEvent, e)
	e.Type, e.Commands = input.DispatchKeyEventTypeKeyUp, nil
	call(p, input.DispatchKeyEvent, e)
}

// touch puts fingers at points; without points it lifts them.
func (p *page) touch(kind input.DispatchTouchEventType, fingers ...point) {
	p.t.Helper()
	e := input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{}}
	for i, f := range fingers {
		finger := float64(i)
		e.TouchPoints = append(e.TouchPoints, &input.TouchPoint{X: f.X, Y: f.Y, ID: &finger})
	}
	call(p, input.DispatchTouchEvent, e)
}

const (
	touchStart = input.DispatchTouchEventTypeTouchStart
	touchMove  = input.DispatchTouchEventTypeTouchMove
	touchEnd   = input.DispatchTouchEventTypeTouchEnd
)

// swipe moves one finger.
func (p *page) swipe(from, to point) {
	p.t.Helper()
	p.touch(touchStart, from)
	for i := 1.0; i <= 8; i++ {
		p.touch(touchMove, point{from.X + (to.X-from.X)*i/8, from.Y + (to.Y-from.Y)*i/8})
	}
	p.touch(touchEnd)
}
