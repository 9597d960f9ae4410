package firefox

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/e2e/chrome"
)

// Keys without a character, as WebDriver writes them (https://www.w3.org/TR/webdriver2/#keyboard-actions).
const (
	Enter   = "\ue007"
	Escape  = "\ue00c"
	Delete  = "\ue017"
	Control = "\ue009"
	Shift   = "\ue008"
)

// Go loads an address.
func (p *Tab) Go(url string) {
	p.t.Helper()
	p.call("browsingContext.navigate", object{"context": p.context, "url": url, "wait": "interactive"}, nil)
}

// evaluate returns the JSON of the value of a JavaScript expression, whose promise is awaited.
func (p *Tab) evaluate(js string) (text string, err error) {
	var r struct {
		Type             string
		Result           struct{ Value any }
		ExceptionDetails struct{ Text string }
	}
	err = p.send("script.evaluate", object{"expression": `(async () => JSON.stringify(await (` + js + `) ?? null))()`,
		"target": object{"context": p.context}, "awaitPromise": true}, &r)
	if err == nil && r.Type != "success" {
		err = fmt.Errorf("%s: %s", js, r.ExceptionDetails.Text)
	}
	text, _ = r.Result.Value.(string)
	return text, err
}

// Value evaluates a JavaScript expression and awaits promises.
func Value[T any](p *Tab, js string) (v T) {
	p.t.Helper()
	text, err := p.evaluate(js)
	if err == nil {
		err = json.Unmarshal([]byte(text), &v)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// Until waits until a JavaScript condition holds, also across a navigation.
func (p *Tab) Until(js string) {
	p.t.Helper()
	var err error
	for end := time.Now().Add(WaitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var text string
		if text, err = p.evaluate("Boolean(" + js + ")"); err == nil && text == "true" {
			return
		}
	}
	p.Shot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
	where, _ := p.evaluate("location.href + ' ' + document.body.innerText.slice(0, 600)")
	p.t.Fatalf("waited for %s: %v; the page is %s", js, err, where)
}

func find(selector string) string { return fmt.Sprintf("document.querySelector(%q)", selector) }

// There waits until an element that matches the selector is visible.
func (p *Tab) There(selector string) {
	p.t.Helper()
	p.Until(find(selector) + "?.checkVisibility({visibilityProperty: true})")
}

// Has waits until an element shows a text.
func (p *Tab) Has(selector, text string) {
	p.t.Helper()
	p.Until(fmt.Sprintf("%s?.innerText.includes(%q)", find(selector), text))
}

// Middle scrolls an element into view and returns the position of its center.
func (p *Tab) Middle(selector string) chrome.Point {
	p.t.Helper()
	p.There(selector)
	p.Until(fmt.Sprintf("(%s.scrollIntoView({block: 'nearest', inline: 'nearest'}), true)", find(selector)))
	return Value[chrome.Point](p, chrome.Settled(find(selector)))
}

// perform performs the actions of one device.
func (p *Tab) perform(device object) {
	p.t.Helper()
	p.call("input.performActions", object{"context": p.context, "actions": []object{device}}, nil)
}

func move(to chrome.Point) object {
	return object{"type": "pointerMove", "x": int(to.X), "y": int(to.Y)}
}

// Click presses the mouse on an element.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	p.mouse(move(p.Middle(selector)), object{"type": "pointerDown", "button": 0}, object{"type": "pointerUp", "button": 0})
}

func (p *Tab) mouse(actions ...object) {
	p.t.Helper()
	p.perform(object{"type": "pointer", "id": "mouse", "actions": actions})
}

// Drag presses the mouse at one position, moves it and releases it at another.
func (p *Tab) Drag(from, to chrome.Point) {
	p.t.Helper()
	actions := []object{move(from), {"type": "pointerDown", "button": 0}}
	const hops = 8 // a gesture begins after the first few points
	for i := 1; i <= hops; i++ {
		part := float64(i) / hops
		actions = append(actions, move(chrome.Point{X: from.X + (to.X-from.X)*part, Y: from.Y + (to.Y-from.Y)*part}))
	}
	p.mouse(append(actions, object{"type": "pointerUp", "button": 0})...)
}

// Keys types the characters of a text into the focused element, one after the other.
func (p *Tab) Keys(text string) {
	p.t.Helper()
	var actions []object
	for _, r := range text {
		actions = append(actions, object{"type": "keyDown", "value": string(r)}, object{"type": "keyUp", "value": string(r)})
	}
	p.perform(object{"type": "key", "id": "keyboard", "actions": actions})
}

// Chord presses keys together, modifiers first.
func (p *Tab) Chord(keys ...string) {
	p.t.Helper()
	var actions []object
	for _, k := range keys {
		actions = append(actions, object{"type": "keyDown", "value": k})
	}
	for i := len(keys) - 1; i >= 0; i-- {
		actions = append(actions, object{"type": "keyUp", "value": keys[i]})
	}
	p.perform(object{"type": "key", "id": "keyboard", "actions": actions})
}

// Type replaces the text of a field by clicking into it and typing.
func (p *Tab) Type(selector, text string) {
	p.t.Helper()
	p.Click(selector)
	Value[any](p, find(selector)+".select?.()")
	p.Keys(text)
}

// Shot writes a screenshot if SLUICE_TEST_SHOTS is set to a directory.
func (p *Tab) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv("SLUICE_TEST_SHOTS")
	if dir == "" {
		return
	}
	var picture struct{ Data string }
	p.call("browsingContext.captureScreenshot", object{"context": p.context}, &picture)
	png, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
