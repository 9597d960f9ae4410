package editor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// interactions maps each interaction of the canvas to the browser tests that perform it by
// mouse, keyboard or touch. Names in lower case are cases of TestCanvas in package static; those
// of package e2e are journeys through the whole server.
var interactions = []struct {
	what  string
	tests []string
}{
	// The view.
	{"1: the wheel and two fingers pan; Ctrl with the wheel, and a pinch, zoom to the pointer", []string{"TestInteractions_view", "TestInteractions_touch", "works_by_touch"}},
	{"2: dragging empty space, Space or the middle button pans", []string{"TestInteractions_view", "pans_over_nodes_with_space"}},
	{"3: + and - zoom, Ctrl+0 is 100%, Shift+1 shows all, Shift+2 the selection", []string{"TestInteractions_view"}},
	{"4: the minimap pans by click and drag, and zooms by wheel", []string{"TestInteractions_view", "navigates_by_minimap"}},
	{"5: nodes snap to a grid of dots; Alt suspends it", []string{"TestInteractions_grid", "TestInteractions_nodes", "adopts_rendered_nodes"}},
	{"6: the view is remembered", []string{"TestInteractions_view", "tidies_and_remembers_the_view"}},
	{"7: dragging and connecting pan at the border", []string{"TestInteractions_grid", "pans_at_the_edge_of_a_drag"}},
	{"8: detail falls away far out", []string{"TestInteractions_view"}},
	// Nodes.
	{"9: a double click or / opens the list of kinds; kinds are dragged from the palette", []string{"TestInteractions_add", "TestCanvas_shortcuts_need_focus", "TestBuilder_inABrowser"}},
	{"10: a wire dropped on empty canvas offers what fits, connected", []string{"TestCanvas_wire_dropped_on_template_connects", "opens_the_palette"}},
	{"11: the + of an edge, or a node dropped on it, inserts; deleting offers to reconnect", []string{"TestInteractions_edges", "TestInteractions_marks", "TestCanvas_makes_room_for_inserted_nodes", "inserts_into_edges", "reconnects_neighbors"}},
	{"12: one or many nodes are dragged; Shift locks the axis, lines help, Alt copies", []string{"TestInteractions_nodes", "shows_helper_lines", "copies_by_alt_drag"}},
	{"13: arrows nudge by 10, with Shift by 40", []string{"TestInteractions_nodes", "works_with_the_keyboard_only"}},
	{"14: nodes are aligned and distributed", []string{"TestInteractions_nodes", "aligns_and_distributes"}},
	{"15: Ctrl+D duplicates", []string{"TestInteractions_nodes"}},
	{"16: nodes are copied, cut and pasted as text between flows, without secrets", []string{"TestInteractions_clipboard", "pastes_into_another_flow", "keeps_incoming_edges_on_paste"}},
	{"17: F2 renames in place", []string{"TestBuilder_inABrowser", "renames_and_pins_by_keyboard"}},
	{"18: a double click or E opens the settings; Escape returns to the node", []string{"TestInteractions_add", "TestInteractions_nodes"}},
	{"19: D disables, P pins, the focused node even while another is selected", []string{"TestCanvas_keys_act_where_the_focus_is", "TestInteractions_nodes", "TestRunInTheBuilder", "renames_and_pins_by_keyboard"}},
	{"20: Ctrl+G groups, groups fold, notes are resized", []string{"TestInteractions_nodes", "groups_nodes", "resizes_notes"}},
	{"21: a bar above the selection and a menu act on it: right click, long press, Shift+F10", []string{"TestInteractions_bar", "TestInteractions_nodes", "TestCanvas_menu_survives_release"}},
	{"22: a node shows its problems, a missing credential, and that it is disabled or pinned", []string{"TestInteractions_rules", "TestInteractions_marks", "TestInteractions_bar", "TestRunInTheBuilder"}},
	// Edges.
	{"23: edges are drawn from either end; what fits glows", []string{"TestInteractions_edges", "connects_by_mouse"}},
	{"24: a wire snaps, is green where it fits and says why where it does not", []string{"TestInteractions_edges", "rejects_mismatched_ports"}},
	{"25: an edge is highlighted near the pointer, selected and deleted", []string{"TestInteractions_rules", "TestInteractions_edges"}},
	{"26: the ends of an edge are moved; dropped on nothing, it is deleted", []string{"TestInteractions_edges", "moves_ends_of_edges"}},
	{"27: a tap or Enter on a port, then on another, connects", []string{"connects_by_taps", "works_with_the_keyboard_only", "TestDrawByKeyboard"}},
	{"28: loops, wrong types and second edges into a port are refused", []string{"TestInteractions_rules", "rejects_mismatched_ports"}},
	{"29: a selected node lights its edges; Alt with arrows follows them", []string{"TestInteractions_edges", "works_with_the_keyboard_only"}},
	{"30: an edge shows how many items a run sent over it", []string{"counts_items_on_edges", "TestRunEventsItems"}},
	// Selection, history, saving.
	{"31: click, Shift and Ctrl, a rectangle, Ctrl+A and Escape select", []string{"TestInteractions_select", "selects_by_rectangle"}},
	{"32: undo and redo, named, across swaps and reloads", []string{"TestInteractions_rules", "deletes_and_undoes", "TestUndo_every_kind_of_change"}},
	{"33: edits are saved, queued offline, and survive a reload", []string{"saves_after_being_offline", "sends_the_queue_on_unload", "TestOfflineEdits_are_saved_on_reconnect"}},
	{"34: two tabs converge and lose no edit", []string{"TestBuilder_twoTabs", "TestTwoTabs_typing_into_one_field_lose_nothing", "converges_with_another_tab", "TestTwoTabs"}},
	{"35: versions are published, compared and restored", []string{"TestPublishInTheBuilder", "TestPublishAndRollBack"}},
	{"36: T tidies the selection or everything", []string{"TestTidy_draws_a_clear_flow", "TestInteractions_nodes", "tidies_and_remembers_the_view"}},
	{"37: Ctrl+F finds a node, Ctrl+K a command, ? lists shortcuts", []string{"TestInteractions_select"}},
	// Runs.
	{"38: Ctrl+Enter runs, a run goes to a node or is stopped; its states, times and data are shown", []string{"TestRunInTheBuilder", "TestRunInTheBuilder_explains_failure", "TestFirstFlow"}},
	{"39: the view follows a run, and goes to the node that failed", []string{"TestInteractions_replay", "TestRunInTheBuilder_explains_failure"}},
	{"40: a past run is shown on the flow that ran", []string{"TestInteractions_replay"}},
	{"41: viewers pan, select and inspect only", []string{"TestViewer", "changes_nothing_when_readonly"}},
	// Keyboard and screen reader.
	{"42: the canvas is one tab stop; arrows move in it", []string{"TestInteractions_select", "works_with_the_keyboard_only"}},
	{"43: a node is read out with its kind, connections and state", []string{"TestInteractions_select", "adopts_rendered_nodes"}},
	{"44: an edge is read out with its ends", []string{"TestInteractions_edges", "adopts_rendered_nodes"}},
	{"45: changes are announced", []string{"TestInteractions_nodes", "works_with_the_keyboard_only"}},
	{"46: a focused node is brought into view", []string{"TestInteractions_select"}},
	{"47: the outline does everything without a pointer", []string{"TestBuilder_onAPhone", "TestDrawOnAPhone"}},
	{"48: after a deletion a neighbor has the focus; dialogs return it", []string{"TestInteractions_select", "works_with_the_keyboard_only"}},
	{"49: only the canvas is an application, and only it takes single letters", []string{"TestInteractions_select", "TestCanvas_shortcuts_need_focus", "ignores_letters_outside_the_canvas"}},
	{"50: contrast, forced colors and reduced motion are respected", []string{"respects_system_preferences", "TestAccessible"}},
	// Touch.
	{"51: one finger pans or drags, two zoom, a tap connects, a long press opens the menu, a mode selects", []string{"TestInteractions_touch", "TestCanvas_menu_survives_release", "works_by_touch", "connects_by_taps", "opens_the_menu_on_long_press", "selects_by_touch"}},
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
		for _, test := range i.tests {
			if !there[test] {
				t.Errorf("%s: there is no test %s", i.what, test)
			}
		}
	}
}
