package editor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// interactions maps each interaction of the canvas to the browser tests that perform it by mouse, by
// keyboard and by touch. Names in lower case are cases of TestCanvas in package static; those of package
// e2e are journeys through the whole server. An entry with a space is not a test: it says what takes the
// place of the interaction, or why nothing does.
var interactions = []struct {
	what               string
	mouse, keys, touch []string
}{
	// The view.
	{"1: the wheel and two fingers pan; Ctrl with the wheel, and a pinch, zoom to the pointer",
		[]string{"TestInteractions_view"},
		[]string{"+ and - zoom, arrows bring nodes into view"},
		[]string{"TestTouch_view", "TestInteractions_touch", "works_by_touch"}},
	{"2: dragging empty space, Space or the middle button pans",
		[]string{"TestInteractions_view", "pans_over_nodes_with_space"},
		[]string{"Space with the mouse; arrows bring nodes into view"},
		[]string{"TestTouch_view", "TestInteractions_touch"}},
	{"3: + and - zoom, Ctrl+0 is 100%, Shift+1 shows all, Shift+2 the selection",
		[]string{"TestTouch_view"},
		[]string{"TestInteractions_view"},
		[]string{"TestTouch_view"}},
	{"4: the minimap pans by click and drag, and zooms by wheel",
		[]string{"TestInteractions_view", "navigates_by_minimap"},
		[]string{"not needed: arrows bring nodes into view"},
		[]string{"TestTouch_minimap"}},
	{"5: nodes snap to a grid of dots; Alt suspends it",
		[]string{"TestInteractions_grid", "TestInteractions_nodes", "adopts_rendered_nodes"},
		[]string{"TestInteractions_nodes"},
		[]string{"TestTouch_nodes"}},
	{"6: the view is remembered",
		[]string{"TestInteractions_view", "tidies_and_remembers_the_view"},
		[]string{"TestInteractions_view"},
		[]string{"TestTouch_view"}},
	{"7: dragging and connecting pan at the border",
		[]string{"TestInteractions_grid", "pans_at_the_edge_of_a_drag"},
		[]string{"not needed: a node that is moved stays in view"},
		[]string{"TestTouch_nodes"}},
	{"8: detail falls away far out",
		[]string{"TestInteractions_view"},
		[]string{"TestInteractions_view"},
		[]string{"TestTouch_view"}},
	// Nodes.
	{"9: a double click or / opens the list of kinds; kinds are dragged from the palette",
		[]string{"TestInteractions_add", "TestBuilder_inABrowser"},
		[]string{"TestCanvas_shortcuts_need_focus", "TestCanvas_narrow_palette_is_rail"},
		[]string{"TestTouch_nodes", "TestBuilder_onAPhone"}},
	{"10: a wire dropped on empty canvas offers what fits, connected",
		[]string{"TestCanvas_wire_dropped_on_template_connects", "opens_the_palette"},
		[]string{"TestDrawByKeyboard"},
		[]string{"TestTouch_draws_on_a_phone"}},
	{"11: the + of an edge, or a node dropped on it, inserts; deleting offers to reconnect",
		[]string{"TestInteractions_edges", "TestInteractions_marks", "TestCanvas_makes_room_for_inserted_nodes", "inserts_into_edges"},
		[]string{"TestInteractions_edges", "reconnects_neighbors"},
		[]string{"TestTouch_draws_on_a_phone"}},
	{"12: one or many nodes are dragged; Shift locks the axis, lines help, Alt copies",
		[]string{"TestInteractions_nodes", "shows_helper_lines", "copies_by_alt_drag"},
		[]string{"TestInteractions_nodes"},
		[]string{"TestTouch_nodes", "TestTouch_draws_on_a_phone"}},
	{"13: arrows nudge by 10, with Shift by 40",
		[]string{"a drag moves by the grid"},
		[]string{"TestInteractions_nodes", "works_with_the_keyboard_only"},
		[]string{"a drag moves by the grid"}},
	{"14: nodes are aligned and distributed",
		[]string{"TestInteractions_nodes", "aligns_and_distributes"},
		[]string{"by Ctrl+K"},
		[]string{"TestTouch_nodes"}},
	{"15: Ctrl+D duplicates",
		[]string{"TestInteractions_bar"},
		[]string{"TestInteractions_nodes"},
		[]string{"TestTouch_nodes"}},
	{"16: nodes are copied, cut and pasted as text between flows, without secrets",
		[]string{"TestCanvas_menu_copies_and_pastes"},
		[]string{"TestInteractions_clipboard", "pastes_into_another_flow", "keeps_incoming_edges_on_paste"},
		[]string{"TestTouch_nodes"}},
	{"17: F2 renames in place",
		[]string{"TestBuilder_inABrowser"},
		[]string{"TestBuilder_inABrowser", "renames_and_pins_by_keyboard"},
		[]string{"TestTouch_nodes"}},
	{"18: a double click or E opens the settings; Escape returns to the node",
		[]string{"TestInteractions_nodes"},
		[]string{"TestInteractions_add"},
		[]string{"TestTouch_nodes"}},
	{"19: D disables, P pins, the focused node even while another is selected",
		[]string{"TestInteractions_bar"},
		[]string{"TestCanvas_keys_act_where_the_focus_is", "TestInteractions_nodes", "TestRunInTheBuilder", "renames_and_pins_by_keyboard"},
		[]string{"TestTouch_nodes"}},
	{"20: Ctrl+G groups, groups fold, notes are resized",
		[]string{"groups_nodes", "resizes_notes"},
		[]string{"TestInteractions_nodes"},
		[]string{"TestTouch_nodes"}},
	{"21: a bar above the selection and a menu act on it: right click, long press, Shift+F10",
		[]string{"TestInteractions_bar", "TestCanvas_menu_survives_release"},
		[]string{"TestInteractions_nodes"},
		[]string{"TestTouch_nodes", "TestCanvas_menu_survives_release"}},
	{"22: a node shows its problems, a missing credential, and that it is disabled or pinned",
		[]string{"TestInteractions_marks", "TestInteractions_bar"},
		[]string{"TestInteractions_rules", "TestRunInTheBuilder"},
		[]string{"TestTouch_problems"}},
	// Edges.
	{"23: edges are drawn from either end; what fits glows",
		[]string{"TestInteractions_edges", "connects_by_mouse"},
		[]string{"TestDrawByKeyboard"},
		[]string{"TestTouch_connects", "TestTouch_draws_on_a_phone"}},
	{"24: a wire snaps, is green where it fits and says why where it does not",
		[]string{"TestInteractions_edges", "rejects_mismatched_ports"},
		[]string{"works_with_the_keyboard_only"},
		[]string{"TestTouch_explains_refusals"}},
	{"25: an edge is highlighted near the pointer, selected and deleted",
		[]string{"TestInteractions_rules", "TestInteractions_edges"},
		[]string{"TestInteractions_rules"},
		[]string{"TestTouch_draws_on_a_phone"}},
	{"26: the ends of an edge are moved; dropped on nothing, it is deleted",
		[]string{"TestInteractions_edges", "moves_ends_of_edges"},
		[]string{"Delete on a port removes its edges; then 27"},
		[]string{"TestTouch_draws_on_a_phone"}},
	{"27: a tap or Enter on a port, then on another, connects",
		[]string{"connects_by_taps"},
		[]string{"works_with_the_keyboard_only", "TestDrawByKeyboard"},
		[]string{"TestTouch_connects", "TestInteractions_touch", "connects_by_taps", "TestTouch_draws_on_a_phone"}},
	{"28: loops, wrong types and second edges into a port are refused",
		[]string{"TestInteractions_rules", "rejects_mismatched_ports"},
		[]string{"works_with_the_keyboard_only"},
		[]string{"TestTouch_explains_refusals"}},
	{"29: a selected node lights its edges; Alt with arrows follows them",
		[]string{"TestInteractions_edges"},
		[]string{"TestInteractions_edges", "works_with_the_keyboard_only"},
		[]string{"TestTouch_follows_edges"}},
	{"30: an edge shows how many items a run sent over it",
		[]string{"counts_items_on_edges", "TestRunEventsItems"},
		[]string{"the same for every pointer"},
		[]string{"the same for every pointer"}},
	// Selection, history, saving.
	{"31: click, Shift and Ctrl, a rectangle, Ctrl+A and Escape select",
		[]string{"TestInteractions_select", "selects_by_rectangle"},
		[]string{"TestInteractions_select"},
		[]string{"TestTouch_nodes", "TestInteractions_touch", "selects_by_touch"}},
	{"32: undo and redo, named, across swaps and reloads",
		[]string{"TestInteractions_rules", "deletes_and_undoes"},
		[]string{"TestInteractions_rules", "TestUndo_every_kind_of_change"},
		[]string{"TestTouch_nodes", "TestTouch_undoes_with_repeated_taps"}},
	{"33: edits are saved, queued offline, and survive a reload",
		[]string{"saves_after_being_offline", "sends_the_queue_on_unload", "TestOfflineEdits_are_saved_on_reconnect"},
		[]string{"the same for every pointer"},
		[]string{"the same for every pointer"}},
	{"34: two tabs converge and lose no edit",
		[]string{"TestBuilder_twoTabs", "TestTwoTabs_typing_into_one_field_lose_nothing", "converges_with_another_tab", "TestTwoTabs"},
		[]string{"the same for every pointer"},
		[]string{"the same for every pointer"}},
	{"35: versions are published, compared and restored",
		[]string{"TestPublishInTheBuilder", "TestPublishAndRollBack"},
		[]string{"TestBuilder_partsLoadIndependently"},
		[]string{"TestTouch_publishes"}},
	{"36: T tidies the selection or everything",
		[]string{"TestTidy_draws_a_clear_flow"},
		[]string{"TestInteractions_nodes", "tidies_and_remembers_the_view"},
		[]string{"TestTouch_tidies"}},
	{"37: Ctrl+F finds a node, Ctrl+K a command, ? lists shortcuts",
		[]string{"TestInteractions_find"},
		[]string{"TestInteractions_select"},
		[]string{"TestTouch_finds"}},
	// Runs.
	{"38: Ctrl+Enter runs, a run goes to a node or is stopped; its states, times and data are shown",
		[]string{"TestRunInTheBuilder", "TestRunInTheBuilder_explains_failure", "TestFirstFlow"},
		[]string{"TestRunInTheBuilder"},
		[]string{"TestTouch_runs", "TestTouch_answers_on_a_phone"}},
	{"39: the view follows a run, and goes to the node that failed",
		[]string{"TestInteractions_replay", "TestRunInTheBuilder_explains_failure"},
		[]string{"by Ctrl+K"},
		[]string{"TestTouch_follows_runs"}},
	{"40: a past run is shown on the flow that ran",
		[]string{"TestInteractions_replay"},
		[]string{"the list of runs has links"},
		[]string{"TestTouch_replays"}},
	{"41: viewers pan, select and inspect only",
		[]string{"TestViewer"},
		[]string{"changes_nothing_when_readonly"},
		[]string{"TestTouch_viewer"}},
	// Keyboard and screen reader.
	{"42: the canvas is one tab stop; arrows move in it",
		[]string{"for the keyboard only"},
		[]string{"TestInteractions_select", "works_with_the_keyboard_only"},
		[]string{"for the keyboard only"}},
	{"43: a node is read out with its kind, connections and state",
		[]string{"for screen readers only"},
		[]string{"TestInteractions_select", "adopts_rendered_nodes"},
		[]string{"for screen readers only"}},
	{"44: an edge is read out with its ends",
		[]string{"for screen readers only"},
		[]string{"TestInteractions_edges", "adopts_rendered_nodes"},
		[]string{"for screen readers only"}},
	{"45: changes are announced",
		[]string{"for screen readers only"},
		[]string{"TestInteractions_nodes", "works_with_the_keyboard_only"},
		[]string{"for screen readers only"}},
	{"46: a focused node is brought into view",
		[]string{"for the keyboard only"},
		[]string{"TestInteractions_select"},
		[]string{"for the keyboard only"}},
	{"47: the outline does everything without a pointer",
		[]string{"TestBuilder_onAPhone"},
		[]string{"TestBuilder_onAPhone"},
		[]string{"TestDrawOnAPhone"}},
	{"48: after a deletion a neighbor has the focus; dialogs return it",
		[]string{"for the keyboard only"},
		[]string{"TestInteractions_select", "works_with_the_keyboard_only"},
		[]string{"for the keyboard only"}},
	{"49: only the canvas is an application, and only it takes single letters",
		[]string{"for the keyboard only"},
		[]string{"TestInteractions_select", "TestCanvas_shortcuts_need_focus", "ignores_letters_outside_the_canvas"},
		[]string{"for the keyboard only"}},
	{"50: contrast, forced colors and reduced motion are respected",
		[]string{"respects_system_preferences", "TestAccessible"},
		[]string{"TestAccessible"},
		[]string{"TestTouch_view", "TestTouch_nodes"}},
	// Touch.
	{"51: one finger pans or drags, two zoom, a tap connects, a long press opens the menu, a mode selects",
		[]string{"for fingers only"},
		[]string{"for fingers only"},
		[]string{"TestInteractions_touch", "TestTouch_nodes", "works_by_touch", "connects_by_taps", "opens_the_menu_on_long_press", "selects_by_touch"}},
}

// TestInteractions checks that every test in the list exists.
func TestInteractions(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	name := regexp.MustCompile(`(?m)^func (Test\w+)\(t|^\t\t"([a-z_]+)": +[a-zA-Z]+,$`)
	for _, dir := range []string{".", "../../static", "../../e2e"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d files with tests: %v", dir, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				there[m[1]+m[2]] = true
			}
		}
	}
	for _, i := range interactions {
		for _, tests := range [][]string{i.mouse, i.keys, i.touch} {
			if len(tests) == 0 {
				t.Errorf("%s: nothing is said of one of mouse, keyboard and touch", i.what)
			}
			for _, test := range tests {
				if !strings.Contains(test, " ") && !there[test] {
					t.Errorf("%s: there is no test %s", i.what, test)
				}
			}
		}
	}
}
