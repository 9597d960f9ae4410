package static_test

import (
	"context"
	"os"
	"testing"

	"sluice/e2e/chrome"
)

// TestCanvas drives the canvas in a real browser against a server that keeps
// ops in memory.
func TestCanvas(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*testing.T, context.Context){
		"adopts_rendered_nodes":              adoptsNodes,
		"drags_by_mouse":                     drags,
		"connects_by_mouse":                  connects,
		"rejects_mismatched_ports":           rejectsMismatch,
		"selects_by_rectangle":               selectsByRectangle,
		"deletes_and_undoes":                 deletesAndUndoes,
		"moves_ends_of_edges":                movesEndsOfEdges,
		"opens_the_palette":                  opensPalette,
		"inserts_into_edges":                 insertsIntoEdges,
		"groups_nodes":                       groupsNodes,
		"copies_by_alt_drag":                 copiesByAltDrag,
		"works_with_the_keyboard_only":       worksByKeyboard,
		"keeps_the_focus_on_a_port":          keepsPortFocus,
		"ignores_letters_outside_the_canvas": ignoresLetters,
		"changes_nothing_when_readonly":      staysReadonly,
		"works_by_touch":                     worksByTouch,
		"starts_readable_on_phones":          startsReadableOnPhones,
		"connects_by_taps":                   taps,
		"opens_the_menu_on_long_press":       opensMenuOnLongPress,
		"converges_with_another_tab":         converges,
		"saves_after_being_offline":          savesAfterOffline,
		"undoes_rejected_changes":            undoesRejected,
		"follows_swaps_by_the_server":        followsSwaps,
		"shows_run_states":                   showsRunStates,
		"tidies_and_remembers_the_view":      tidies,
		"navigates_by_minimap":               navigatesByMinimap,
		"pans_over_nodes_with_space":         pansWithSpace,
		"drags_right_after_the_wheel":        dragsAfterWheel,
		"pans_at_the_edge_of_a_drag":         pansAtTheEdge,
		"shows_helper_lines":                 showsHelperLines,
		"aligns_and_distributes":             aligns,
		"tidies_a_large_flow":                tidiesLargeFlow,
		"resizes_notes":                      resizesNotes,
		"reconnects_neighbors":               reconnectsNeighbors,
		"renames_and_pins_by_keyboard":       renamesAndPins,
		"keeps_incoming_edges_on_paste":      pastesWithEdges,
		"selects_by_touch":                   selectsByTouch,
		"asks_for_a_reload":                  asksForReload,
		"counts_items_on_edges":              countsItems,
		"respects_system_preferences":        respectsPreferences,
		"reports_the_box_of_the_selection":   reportsSelectionBox,
	}
	testCanvas(t, chrome.Start(t), cases)
}

// TestCanvas_in_a_complete_browser has what a headless shell does not do, or not for each profile:
// the clipboard, and requests that outlive their page.
func TestCanvas_in_a_complete_browser(t *testing.T) {
	t.Parallel()
	testCanvas(t, chrome.StartAlone(t), map[string]func(*testing.T, context.Context){
		"pastes_into_another_flow":  pastes,
		"sends_the_queue_on_unload": sendsOnUnload,
	})
}

func testCanvas(t *testing.T, b *chrome.Browser, cases map[string]func(*testing.T, context.Context)) {
	t.Helper()
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, b.Context())
		})
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	chrome.Stop()
	os.Exit(code)
}

func adoptsNodes(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.want(`[c.scene.boxes.size, c.edges.size]`, `[6,2]`)
	p.want(`[...c.querySelectorAll("article")].filter((a) => a.tabIndex === 0).length`, `1`)
	p.want(`c.querySelector("#node-write").getAttribute("aria-label")`, `"write, chat, 2 inputs, 1 connected"`)
	p.want(`c.querySelector('[data-edge="ticket.value>write.prompt"]').getAttribute("aria-label")`, `"Edge from ticket output value to write input prompt"`)
	p.want(`parseFloat(getComputedStyle(c.grid).backgroundSize)`, `20`) // the dots are there before the first zoom
	p.want(`[...c.querySelectorAll(".canvas-edge-line")].every((l) => l.getTotalLength() > 20)`, `true`)
	p.want(`c.querySelector('#node-write [data-port="tone"]').hasAttribute("data-linked")`, `false`)
	p.want(`c.querySelector('#node-write [data-port="prompt"]').hasAttribute("data-linked")`, `true`)
}

func drags(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	path := p.text(`c.edges.path("write.text>answer.value").getAttribute("d")`)
	from, at := p.position("write"), p.head("write")
	p.drag(at, point{at.X + 43, at.Y + 120})
	to := p.position("write")
	if to == from || int(to.X)%10 != 0 {
		t.Fatalf("moved from %v to %v, want another place on the grid", from, to)
	}
	p.want(`[...c.selection.nodes]`, `["write"]`)
	if p.text(`c.edges.path("write.text>answer.value").getAttribute("d")`) == path {
		t.Fatal("the edge stayed where it was")
	}
	p.saved()
	if got := s.position("write"); got != to {
		t.Fatalf("the server has %v, want %v", got, to)
	}
	p.press("Ctrl+Z")
	p.saved()
	if got := s.position("write"); got != from {
		t.Fatalf("after undo the server has %v, want %v", got, from)
	}
}

func connects(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	to := p.port("write.tone", "in")
	p.grab(p.port("tone.value", "out"), point{to.X - 4, to.Y + 4})
	p.want(portOf("write.tone", "in")+`.dataset.verdict`, `"valid"`)
	p.want(portOf("answer.value", "in")+`.dataset.fit`, `"yes"`)
	p.want(portOf("ticket.value", "out")+`.dataset.fit`, `"no"`)
	p.mouse(released, to)
	p.saved()
	if !s.has(testEdge{"tone.value", "write.tone"}) {
		t.Fatalf("the server has %v", s.now().Edges)
	}
	p.want(`c.querySelectorAll("[data-fit], [data-verdict]").length`, `0`)
	p.want(`c.connect.pending`, `undefined`)
}

func rejectsMismatch(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	for _, c := range []struct{ from, to, reason string }{
		{"join.list", "plain.text", "Type mismatch: join outputs list, plain needs text."},
		{"plain.text", "join.values", ""},
	} {
		to := p.port(c.to, "in")
		p.grab(p.port(c.from, "out"), to)
		if c.reason != "" {
			p.want(portOf(c.to, "in")+`.dataset.verdict`, `"invalid"`)
			p.want(`c.querySelector(".canvas-reason").textContent`, `"`+c.reason+`"`)
		}
		p.mouse(released, to)
		if c.reason != "" {
			p.until(`heard.refused?.at(-1).reason === "` + c.reason + `"`)
		}
	}
	p.saved()
	if s.has(testEdge{"join.list", "plain.text"}) || !s.has(testEdge{"plain.text", "join.values"}) {
		t.Fatalf("the server has %v", s.now().Edges)
	}
}
