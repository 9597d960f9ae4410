package views

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"sluice/static"
)

var (
	update  = flag.Bool("update", false, "write what the views give to testdata")
	preview = flag.String("preview", "", "serve the sample pages at this address instead of testing, to look at them")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *preview != "" {
		log.Printf("sample pages at http://%s", *preview)
		log.Fatal(http.ListenAndServe(*preview, previewHandler()))
	}
	os.Exit(m.Run())
}

// policy is the strictest that pages may need; the server sends the same.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// previewHandler serves each sample under its name and lists them at "/"; the
// cookie "theme" or ?theme= chooses the colours.
func previewHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		theme := r.FormValue("theme")
		if c, err := r.Cookie("theme"); err == nil && theme == "" {
			theme = c.Value
		}
		pages := samples(ParseTheme(theme))
		page, ok := pages[strings.Trim(r.URL.Path, "/")]
		if !ok {
			for name := range pages {
				fmt.Fprintf(w, `<p><a href="/%s">%s</a></p>`, name, name)
			}
			return
		}
		if err := page.Render(r.Context(), w); err != nil {
			log.Print(err)
		}
	})
	return mux
}

// noon is when the samples are looked at.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func page(title string, section Section, theme Theme) Page {
	return Page{
		Title: title, Section: section, Theme: theme, Workspace: "Acme support",
		Person: &Person{Name: "Ada Kowalski", Email: "ada@example.com", Role: "owner"},
	}
}

// sampleSets are the samples of each noun; its test file adds its own.
var sampleSets = []func(theme Theme) map[string]templ.Component{firstSamples}

// samples are all pages, with data that shows each of their sides.
func samples(theme Theme) map[string]templ.Component {
	all := map[string]templ.Component{}
	for _, set := range sampleSets {
		maps.Copy(all, set(theme))
	}
	return all
}

func firstSamples(theme Theme) map[string]templ.Component {
	in := page("Flows", SectionFlows, theme)
	out := Page{Title: "Sign in", Theme: theme}
	told := in
	told.Unsafe, told.Toasts = true, []Toast{{Tone: ToneOK, Text: "“Summarize a text” is archived.", Undo: "/flows/flow_4/restore"}, {Tone: ToneBad, Text: "The webhook was not saved: the address has no host."}}
	many := FlowsPage{Flows: sampleFlows(), Tags: []string{"billing", "nightly", "support"}, Now: noon, Pages: Pages{Path: "/flows", After: "c_9"}, MayEdit: true, Archived: 2}
	table, none, nothing := many, many, FlowsPage{Now: noon, Starters: sampleStarters(), MayEdit: true}
	table.Filter = FlowFilter{Table: true, Sort: SortRuns}
	none.Flows, none.Pages, none.Filter = nil, Pages{}, FlowFilter{Query: "invoice <b>", Tag: "billing"}
	return map[string]templ.Component{
		"flows":          Flows(in, many),
		"flows-table":    Flows(in, table),
		"flows-toasts":   Flows(told, many),
		"flows-none":     Flows(in, none),
		"flows-empty":    Flows(in, nothing),
		"flow-list":      FlowList(table),
		"templates":      Templates(page("Templates", SectionFlows, theme), TemplatesPage{Starters: sampleStarters(), MayEdit: true}),
		"import":         ImportFlow(page("Import", SectionFlows, theme), ImportForm{}),
		"import-errors":  ImportFlow(page("Import", SectionFlows, theme), ImportForm{Text: `{"schema": "sluice.flow/v1"}`, Problems: []ImportProblem{{"nodes.write", "The kind “chatt” does not exist; “chat” does."}, {"edges[2]", "“write.txt” is no output of “write”; it has “text” and “json”."}}}),
		"setup":          SetUp(Page{Title: "Set up", Theme: theme}, SetUpForm{Token: "st_1"}),
		"setup-errors":   SetUp(Page{Title: "Set up", Theme: theme}, SetUpForm{Token: "st_1", Name: "Ada", Email: "ada@", Errors: Errors{"email": "This is not an e-mail address.", "password": "10 characters at least; this has 4.", "workspace": "Give the workspace a name."}}),
		"sign-in":        SignIn(out, SignInForm{Next: "/runs"}),
		"sign-in-errors": SignIn(Page{Title: "Sign in", Theme: theme, Unsafe: true, Workspace: "Acme support"}, SignInForm{Email: "ada@example.com", Errors: Errors{"": "E-mail and password do not fit together."}}),
		"password":       ChangePassword(page("Change password", "", theme), PasswordForm{Email: "ada@example.com", Errors: Errors{"current": "This is not your current password."}}),
		"invite":         AcceptInvite(Page{Title: "Join", Theme: theme}, InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com"}),
		"error-403":      ErrorPage(Page{Title: "Not allowed", Theme: theme}, ProblemOf(403, "")),
		"error-404":      ErrorPage(page("Not found", "", theme), ProblemOf(404, "")),
		"error-500":      ErrorPage(Page{Title: "Error", Theme: theme}, ProblemOf(500, "req_01JD6V0Q8Z")),
		"parts":          parts(in),
	}
}

func sampleStarters() []Starter {
	return []Starter{
		{ID: "route", Icon: "tags", Name: "Route a support ticket", Text: "Finds the team a ticket belongs to."},
		{ID: "summarize", Icon: "scroll-text", Name: "Summarize a text", Text: "Picks the sentences that say most."},
		{ID: "answer", Icon: "text-search", Name: "Answer from a document", Text: "Finds the passages that answer a question."},
	}
}

func hours(counts, failed string) []Bar {
	bars := make([]Bar, len(counts))
	for i := range counts {
		bars[i] = Bar{Count: int(counts[i]-'0') * 7, Failed: int(failed[i] - '0')}
	}
	return bars
}

func sampleFlows() []FlowCard {
	route := Graph{
		Nodes: []GraphNode{{0, 0, "api"}, {0, 300, "api"}, {280, -20, "builtin"}, {560, 120, "control"}, {280, 240, "model"}, {840, 340, "api"}, {840, 40, "api"}},
		Edges: [][2]int{{0, 2}, {0, 4}, {1, 4}, {2, 3}, {4, 5}, {3, 6}},
	}
	line := Graph{Nodes: []GraphNode{{0, 0, "api"}, {280, 0, "builtin"}, {560, 0, "api"}}, Edges: [][2]int{{0, 1}, {1, 2}}}
	answer := Graph{
		Nodes: []GraphNode{{0, 0, "api"}, {0, 200, "api"}, {280, 0, "source"}, {560, 100, "builtin"}, {840, 100, "model"}, {1120, 20, "api"}, {1120, 200, "api"}},
		Edges: [][2]int{{0, 2}, {2, 3}, {1, 3}, {3, 4}, {4, 5}, {3, 6}},
	}
	night := Graph{
		Nodes: []GraphNode{{0, 0, "source"}, {280, 0, "text"}, {560, 0, "control"}, {840, -130, "model"}, {840, 0, "code"}, {840, 130, "model"}, {1120, 0, "api"}},
		Edges: [][2]int{{0, 1}, {1, 2}, {2, 3}, {2, 4}, {2, 5}, {3, 6}, {4, 6}, {5, 6}},
	}
	return []FlowCard{
		{ID: "flow_1", Name: "Route a support ticket", Description: "Finds the team a ticket belongs to and writes a first reply in the tone you choose.", Tags: []string{"support"}, Graph: route, Version: 3, Differs: true, EditedAt: noon.Add(-4 * time.Minute), EditedBy: "Lin", Day: FlowDay{hours("234311124567899876554343", "000000000000000200000000"), 1204, .997, 1900 * time.Millisecond, 412_300}},
		{ID: "flow_2", Name: "Answer from the handbook", Description: "Passages of the handbook that answer a question, and an answer that cites them.", Tags: []string{"support", "billing"}, Graph: answer, Version: 12, EditedAt: noon.Add(-26 * time.Hour), EditedBy: "Ada", Day: FlowDay{hours("000000011245432345310000", "000000010023320011100000"), 318, .846, 6400 * time.Millisecond, 3_402_000}},
		{ID: "flow_3", Name: "Nightly digest of releases", Description: "Reads the release pages of what we depend on and tells what changed.", Tags: []string{"nightly"}, Graph: night, Version: 1, EditedAt: noon.Add(-9 * 24 * time.Hour), EditedBy: "Ada", Day: FlowDay{hours("001000000000000000000000", "000000000000000000000000"), 7, 1, 83 * time.Second, 58}},
		{ID: "flow_4", Name: "Summarize a text", Description: "The sentences that say most, offline.", Graph: line, EditedAt: noon.Add(-40 * time.Second), EditedBy: "you", Day: FlowDay{Hours: make([]Bar, 24)}},
		{ID: "flow_5", Name: "A flow whose name is rather longer than any card would like it to be", Graph: Graph{}, EditedAt: noon.Add(-70 * 24 * time.Hour), Day: FlowDay{Hours: make([]Bar, 24)}},
	}
}

// within puts children into a component that has a place for them.
func within(outer templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return outer.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}

// parts shows the components that no page above uses yet.
func parts(p Page) templ.Component {
	states := []templ.Component{}
	for _, s := range []string{"queued", "pending", "running", "retrying", "waiting", "succeeded", "delivered", "reused", "skipped", "failed", "canceled", "unheard of"} {
		states = append(states, State(s), templ.Raw(" "))
	}
	fields := []templ.Component{
		Input(Field{Name: "url", Label: "Address", Type: "url", Placeholder: "https://", Help: "Where the webhook goes.", Error: "The address has no host."}),
		TextArea(Field{Name: "prompt", Label: "Prompt", Value: "Answer in a {{tone}} tone:\n{{ticket}}", Optional: true, Mono: true}),
		Select(Field{Name: "role", Label: "Role", Value: "editor", Options: []Option{{"owner", "Owner"}, {"editor", "Editor"}, {"viewer", "Viewer"}}}),
		Checkbox(Field{Name: "test", Label: "Send a test first", Checked: true, Help: "It says that it is one."}),
	}
	buttons := []templ.Component{
		Press(Button{Label: "Run", Icon: "play", Look: LookPrimary, Busy: "Starting…"}), Press(Button{Label: "Rerun"}), Press(Button{Label: "Revoke", Look: LookDanger}),
		Press(Button{Label: "Cancel", Look: LookQuiet}), Press(Button{Label: "Small", Size: "small"}), Press(Button{Icon: "ellipsis", Title: "More", Look: LookQuiet, Type: "button"}),
		Press(Button{Label: "Publish", Disabled: true}), Press(Button{Label: "Open a dialog", Type: "button", Attrs: templ.Attributes{"commandfor": "ask", "command": "show-modal"}}),
	}
	return within(Layout(p), templ.Raw("<h1>Parts</h1>"),
		Tabs("Pane", []Tab{{Label: "Node", Href: "?tab=node"}, {Label: "API", Href: "?tab=api", Current: true}, {Label: "Runs", Href: "?tab=runs", Count: "1,204"}}),
		Note(ToneBad, "“Write a reply” was refused by the provider after 3 tries.", "Everything before it is kept. A rerun from here pays for nothing twice."),
		Note(ToneWait, "Copy this key now.", "It is shown once and cannot be read again."),
		Note(ToneOK, "Published v4.", ""), Note(ToneNone, "The draft differs from v3.", "One input was added."),
		templ.Raw(`<div class="bar">`), templ.Join(states...), templ.Raw(`</div>`),
		templ.Raw(`<div class="bar">`), templ.Join(buttons...), templ.Raw(`</div>`),
		templ.Raw(`<form class="form card box narrow">`), templ.Join(fields...), templ.Raw(`</form>`),
		ShareBar(Share{Part: .82, Tone: ToneWait, Label: "Budget: $41 of $50"}),
		Code("request", "curl https://flows.example.com/v1/flow/flow_9/run \\\n  -H \"Authorization: Bearer $SLUICE_KEY\" \\\n  --json '{\"ticket\": \"I was charged twice\"}'"),
		TabPanels("call", "Language", []Panel{{"cURL", Code("cURL", "curl …")}, {"Go", Code("Go", "http.Post(…)")}, {"Python", Code("Python", "requests.post(…)")}}),
		Pagination(Pages{Path: "/runs", Before: "c_1", After: "c_2"}),
		within(Dialog("ask", "Roll this key?"), templ.Raw(`<p>The old key works for 24 hours more.</p><footer>`), Press(Button{Label: "Roll", Look: LookPrimary}), templ.Raw(`</footer>`)),
	)
}
