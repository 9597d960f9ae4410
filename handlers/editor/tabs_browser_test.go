package editor_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// Two tabs type into the same text: what each typed is in the draft and in both fields, whether they
// take turns or type at the same time. Where both replaced the same words, the later one is asked.
func TestTwoTabs_typing_into_one_field_lose_nothing(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	one := webtest.OpenInspectorOf(t, b, `{"schema": "sluice.flow/v1", "name": "Two tabs", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "letter", "kind": "template", "position": {"x": 300, "y": 0}, "config": {"template": "Dear {{word}}, thank you"}},
		{"id": "out", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "out"}}],
		"edges": [{"from": "word.value", "to": "letter.word"}, {"from": "letter.text", "to": "out.value"}]}`)
	two := one.Open(b, flow.MemberEditor, "/flows/"+one.ID)
	two.Until(`document.querySelector("flow-canvas[ready]") !== null`)
	tabs := []*chrome.Tab{one.Tab, two}
	field := webtest.Field("template")
	const text = `document.querySelector("flow-canvas").draft.nodes.get("letter").config.template`
	shown := `(document.querySelector('` + field + ` .cm-content')?.innerText ?? document.querySelector('` + field + ` textarea').value)`
	for _, tab := range tabs {
		tab.Allow("status of 409") // the other was faster: that is what is tried here
		tab.Eval(`document.querySelector("flow-canvas").selection.set(["letter"])`)
		tab.There(field)
		tab.Click(field + " :is(textarea:not([hidden]), .cm-content)")
		tab.There(field + " .cm-editor.cm-focused")
		tab.Keys(kb.End)
	}
	one.Keys(" 111")
	two.Until(text + `.includes("111") && ` + shown + `.includes("111")`)
	two.Keys(" 222")
	one.Until(text + `.includes("222") && ` + shown + `.includes("222")`) // in the field that has the focus
	one.Keys(" 333")
	same := func(want ...string) {
		t.Helper()
		for _, tab := range tabs {
			for _, part := range want {
				tab.Until(text + `.includes(` + string(flow.EncodeJSON(part)) + `) && ` + shown + `.includes(` + string(flow.EncodeJSON(part)) + `)`)
			}
			tab.Until(`document.querySelector("flow-canvas").sync.waiting === 0 && ` + text + ` === ` + shown)
		}
		got := one.Draft(one.ID).Node("letter").Config["template"].(string)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("the draft has %q, which lacks %q", got, part)
			}
		}
	}
	same("Dear {{word}}, thank you", "111", "222", "333")

	// At the same time, one at the beginning and one at the end.
	one.Keys(kb.Home)
	two.Keys(kb.End)
	for range 6 {
		one.Keys("a")
		two.Keys("z")
	}
	same("aaaaaaDear {{word}}", "zzzzzz", "111", "222", "333")

	// Both replace everything: nothing is overwritten without a question.
	for i, tab := range tabs {
		tab.Offline(true)
		tab.Allow("ERR_INTERNET_DISCONNECTED")
		tab.Allow("Failed to fetch")
		chrome.Call(tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 'A', Modifiers: ctrlKey, Commands: []string{"selectAll"}})
		tab.Keys([]string{"First choice of words", "Second choice of words"}[i])
		tab.Until(text + ` === ` + shown)
	}
	one.Offline(false)
	one.Until(`document.querySelector("flow-canvas").sync.waiting === 0`)
	two.Allow("status of 409")
	two.Offline(false)
	two.Has(".ins-clash", "Changed in another tab.")
	two.Shot("two-tabs-clash")
	two.Click(".ins-clash button:last-child")
	same("First choice of words")
}
