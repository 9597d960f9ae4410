package pages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/a-h/templ"

	"sluice/views"
)

// answerTime is how long a peer may take to read an answer, or a piece of a
// stream.
const answerTime = 60 * time.Second

// policy is what a page may load: nothing but our own. The nonce lets the code
// editor make the styles that it computes.
func (c *call) policy() string {
	frames := cmp.Or(c.frames, "'none'")
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'nonce-" + c.nonce + "'; img-src 'self' data: blob:; " +
		"media-src 'self' blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors " + frames
}

// render answers with a component. It is made completely first, so that an
// error cannot follow half a page.
func (c *call) render(status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(c.ctx(), &b); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", c.policy())
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Add("Vary", "HX-Request")
	c.limitAnswer()
	return c.HTMLBlob(status, c.pack(b.Bytes()))
}

// renderOr answers with a component, unless what it is made of could not be read.
func (c *call) renderOr(err error, component templ.Component) error {
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, component)
}

// limitAnswer bounds the time that the peer may take to read what comes next.
func (c *call) limitAnswer() {
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(answerTime))
}

// flashed is where the session keeps toasts until the next page shows them.
const flashed = "toasts"

// toast shows a short message: with this answer if htmx asked, else on the page
// that comes next.
func (c *call) toast(tone views.Tone, text string) {
	if c.partial() && c.Response().Header().Get("HX-Redirect") == "" {
		c.tellToast(tone, text)
		return
	}
	c.flash(views.Toast{Tone: tone, Text: text})
}

// mostFlashed is how many toasts wait for the next page; of more, the newest.
const mostFlashed = 5

// flash keeps a toast for the next page.
func (c *call) flash(t views.Toast) {
	list, _ := c.s.sessions.Get(c.ctx(), flashed).([]views.Toast)
	list = append(slices.Clone(list), t)
	c.s.sessions.Put(c.ctx(), flashed, list[max(0, len(list)-mostFlashed):])
}

func (c *call) takeToasts() []views.Toast {
	list, _ := c.s.sessions.Pop(c.ctx(), flashed).([]views.Toast)
	return list
}

// longestToast in characters: a proxy refuses headers of more than a few
// kilobytes, and one character may take twelve bytes there.
const longestToast = 300

// tellToast shows a message in the corner of the page that asked.
func (c *call) tellToast(tone views.Tone, text string) {
	if runes := []rune(text); len(runes) > longestToast {
		text = string(runes[:longestToast-1]) + "…"
	}
	c.tell("toast", map[string]string{"tone": string(tone), "text": text})
}

// tell raises an event on the page that asked, beside those told before.
func (c *call) tell(event string, detail any) {
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
