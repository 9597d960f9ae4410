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

	"sluice/flow"
	"sluice/views/components"
	"sluice/views/layout"
)

// Policy returns the Content-Security-Policy of a page, which loads only resources of
// this server. The nonce allows the styles that the code editor computes.
func (c *Call) Policy() string {
	frames := cmp.Or(c.Frames, "'none'")
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'nonce-" + c.nonce + "'; img-src 'self' data: blob:; " +
		"media-src 'self' blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors " + frames
}

// Render responds with a component. It renders into a buffer first, so that an error
// becomes an error page instead of half a page.
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

// RenderOr renders a component, or returns err if that is not nil.
func (c *Call) RenderOr(err error, component templ.Component) error {
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, component)
}

// LimitWrite gives the client a minute to read the next write.
func (c *Call) LimitWrite() {
	LimitWrite(c.Response())
}

// toastsKey is the session value with the toasts for the next page.
const toastsKey = "toasts"

// Toast shows a short message: with this response for htmx, else on the next page.
func (c *Call) Toast(tone components.Tone, text string) {
	if c.IsFragment() && c.Response().Header().Get("HX-Redirect") == "" {
		c.triggerToast(tone, text)
		return
	}
	c.Flash(layout.Toast{Tone: tone, Text: text})
}

// MaxToasts bounds the toasts for the next page. The newest are kept.
const MaxToasts = 5

// Flash adds a toast to the session, for the next page.
func (c *Call) Flash(t layout.Toast) {
	list, _ := c.s.Sessions.Get(c.Ctx(), toastsKey).([]layout.Toast)
	list = append(slices.Clone(list), t)
	c.s.Sessions.Put(c.Ctx(), toastsKey, list[max(0, len(list)-MaxToasts):])
}

// takeToasts removes the toasts of earlier requests from the session and returns them.
func (c *Call) takeToasts() []layout.Toast {
	list, _ := c.s.Sessions.Pop(c.Ctx(), toastsKey).([]layout.Toast)
	return list
}

// maxToastLen is in characters. Proxies reject headers of more than a few kilobytes,
// and a character outside ASCII takes up to twelve bytes.
const maxToastLen = 300

// triggerToast shows a toast on the current page.
func (c *Call) triggerToast(tone components.Tone, text string) {
	if runes := []rune(text); len(runes) > maxToastLen {
		text = string(runes[:maxToastLen-1]) + "…"
	}
	c.Trigger("toast", map[string]string{"tone": string(tone), "text": text})
}

// Trigger raises a JavaScript event on the current page, in addition to earlier ones
// of this response.
func (c *Call) Trigger(event string, detail any) {
	h := c.Response().Header()
	all := map[string]any{}
	_ = json.Unmarshal([]byte(h.Get("HX-Trigger")), &all) // written only here
	all[event] = detail
	h.Set("HX-Trigger", ascii(flow.EncodeJSON(all)))
}

// ascii escapes all characters of JSON outside ASCII: browsers read headers as
// Latin-1.
func ascii(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		if r < 0x7f { // HTTP/2 rejects headers with a DEL
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
