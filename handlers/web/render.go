package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/a-h/templ"

	"sluice/views/components"
	"sluice/views/layout"
)

// Policy is what a page may load: nothing but our own. The nonce lets the code
// editor make the styles that it computes.
func (c *Call) Policy() string {
	frames := cmp.Or(c.Frames, "'none'")
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'nonce-" + c.nonce + "'; img-src 'self' data: blob:; " +
		"media-src 'self' blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors " + frames
}

// Render answers with a component. It is made completely first, so that an
// error cannot follow half a page.
func (c *Call) Render(status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(c.Ctx(), &b); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", c.Policy())
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Add("Vary", "HX-Request")
	c.LimitWrite()
	return c.HTMLBlob(status, c.gzip(b.Bytes()))
}

// RenderOr answers with a component, unless what it is made of could not be read.
func (c *Call) RenderOr(err error, component templ.Component) error {
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, component)
}

// LimitWrite bounds the time that the peer may take to read what comes next.
func (c *Call) LimitWrite() {
	LimitWrite(c.Response())
}

// toastsKey is where the session keeps toasts until the next page shows them.
const toastsKey = "toasts"

// Toast shows a short message: with this answer if htmx asked, else on the page
// that comes next.
func (c *Call) Toast(tone components.Tone, text string) {
	if c.IsFragment() && c.Response().Header().Get("HX-Redirect") == "" {
		c.triggerToast(tone, text)
		return
	}
	c.Flash(layout.Toast{Tone: tone, Text: text})
}

// MaxToasts is how many toasts wait for the next page; of more, the newest.
const MaxToasts = 5

// Flash keeps a toast for the next page.
func (c *Call) Flash(t layout.Toast) {
	list, _ := c.s.Sessions.Get(c.Ctx(), toastsKey).([]layout.Toast)
	list = append(slices.Clone(list), t)
	c.s.Sessions.Put(c.Ctx(), toastsKey, list[max(0, len(list)-MaxToasts):])
}

func (c *Call) takeToasts() []layout.Toast {
	list, _ := c.s.Sessions.Pop(c.Ctx(), toastsKey).([]layout.Toast)
	return list
}

// maxToastLen in characters: a proxy refuses headers of more than a few
// kilobytes, and one character may take twelve bytes there.
const maxToastLen = 300

// triggerToast shows a message in the corner of the page that asked.
func (c *Call) triggerToast(tone components.Tone, text string) {
	if runes := []rune(text); len(runes) > maxToastLen {
		text = string(runes[:maxToastLen-1]) + "…"
	}
	c.Trigger("toast", map[string]string{"tone": string(tone), "text": text})
}

// Trigger raises an event on the page that asked, beside those told before.
func (c *Call) Trigger(event string, detail any) {
	h := c.Response().Header()
	all := map[string]any{}
	_ = json.Unmarshal([]byte(h.Get("HX-Trigger")), &all) // only ever written here
	all[event] = detail
	text, err := json.Marshal(all)
	if err != nil {
		panic("pages: " + err.Error()) // details are maps of texts and numbers
	}
	h.Set("HX-Trigger", ascii(text))
}

// ascii writes JSON with nothing but ASCII: browsers read headers as Latin-1.
func ascii(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		if r < 0x7f { // HTTP/2 takes no header with a DEL
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
