// Package bases renders the pages of knowledge bases: the list, a base with its documents and a search, a document with its passages, and the settings.
package bases

import (
	"net/url"
	"strconv"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// Path returns the path of a base, or with an empty slug that of all.
func Path(slug string) string {
	if slug == "" {
		return "/knowledge"
	}
	return "/knowledge/" + url.PathEscape(slug)
}

// NewPath is the path of the form of a new base. No slug has a plus sign.
const NewPath = "/knowledge/+new"

// DocumentPath returns the path of a document.
func DocumentPath(slug, id string) string {
	return Path(slug) + "/documents/" + url.PathEscape(id)
}

// ListPage lists the bases of a workspace.
type ListPage struct {
	Bases   []BaseRow
	MayEdit bool
	Now     time.Time
}

// BaseRow is a base in a list.
type BaseRow struct {
	Slug, Name, Model                string
	Documents, Passages, Bad, Active int64
	Bytes                            int64
	ChangedAt                        time.Time
}

// FormPage is the form of a new base, or of the settings of one.
type FormPage struct {
	Slug, Name string // of an existing base
	Fields     []components.Field
	Errors     components.Errors
	Fresh      bool // a new base
	Documents  int64
	UsedBy     []string // names of flows whose live version names it
	MayForce   bool     // delete although it is in use
	// Rebuild identifies the rebuild that the settings need, Cost says what it costs, and Estimate what it does; all are "" without one.
	Rebuild, Cost, Estimate string
}

// action is where the form goes.
func (p *FormPage) action() templ.SafeURL {
	if p.Fresh {
		return templ.SafeURL(Path(""))
	}
	return templ.SafeURL(Path(p.Slug) + "/settings")
}

// back is where a canceled form leads.
func (p *FormPage) back() string {
	if p.Fresh {
		return Path("")
	}
	return Path(p.Slug)
}

// BasePage is the page of a base.
type BasePage struct {
	BaseRow
	Description string
	Parts       bool // required
	Exposed     bool // to assistants
	ExposePart  string
	MayEdit     bool
	Flows       []FlowLink // that search it, in their drafts or live versions
	States      []components.Tab
	Active      []ActiveRow
	Live        bool // some are in progress
	Documents   []DocumentRow
	Filter      string // text that the documents have
	State       string
	Pages       components.Pages
	Problem     string // of an addition
	URL         string // as typed
	Part        string // of an addition, as typed
	Search      Search
	Now         time.Time
}

// exposure says what assistants may search.
func (b *BasePage) exposure() string {
	if b.ExposePart == "" {
		return "For assistants"
	}
	return "For assistants: " + b.ExposePart
}

func (b *BasePage) path(rest string) templ.SafeURL { return templ.SafeURL(Path(b.Slug) + rest) }

// pollID returns an ID that differs in each response, so that the request of the next state starts again.
func (b *BasePage) pollID() string { return "poll-" + strconv.FormatInt(b.Now.UnixMilli(), 36) }

// pollPath is where the documents are read again while some are being indexed.
func (b *BasePage) pollPath() string {
	q := url.Values{"fragment": {"documents"}}
	if b.State != "" {
		q.Set("state", b.State)
	}
	if b.Filter != "" {
		q.Set("find", b.Filter)
	}
	return Path(b.Slug) + "?" + q.Encode()
}

// FlowLink is a flow that searches a base.
type FlowLink struct{ ID, Name string }

// ActiveRow is a document that is about to be indexed, or whose run failed before there was a document.
type ActiveRow struct {
	Name, Source, RunID, State, Error string
	At                                time.Time
}

// word is its state in words.
func (r *ActiveRow) word() string {
	switch r.State {
	case "queued":
		return "Queued"
	case "failed":
		return "Failed"
	}
	return "Indexing"
}

// DocumentRow is a document in a list.
type DocumentRow struct {
	ID, Title, Source, Part, State, Error, RunID string
	Passages                                     int64
	ChangedAt                                    time.Time
	MayRetry                                     bool
}

// trouble says why a document failed, and what is searched instead.
func (r *DocumentRow) trouble() string {
	if r.Passages > 0 {
		return r.Error + " An earlier version is searched."
	}
	return r.Error
}

// Search is a search that is tried.
type Search struct {
	Query, Mode, Part, Where, Expect string
	Parts                            []components.Option // nil if all documents belong to the same part
	Done                             bool
	Hits                             []components.Hit
	Searched                         int
	Took                             time.Duration
	Error                            string
	More                             string // URL with more hits, or ""
	Expected                         []ExpectedRow
}

var modes = []components.Option{{Value: "both", Label: "Both"}, {Value: "words", Label: "Words"}, {Value: "meaning", Label: "Meaning"}}

// ExpectedRow says why a document was not found, or where.
type ExpectedRow struct {
	Title, Text, Icon string
	Bad               bool
	Action, Path      string
}

// DocumentPage is the page of a document.
type DocumentPage struct {
	Base, Slug string
	DocumentRow
	Link, Format string
	Bytes        int64
	Metadata     [][2]string
	Passages     []PassageRow
	Total        int64
	Pages        components.Pages
	MayEdit      bool
	Now          time.Time
	Quotes       []QuoteRow // the latest runs that found passages of it
	QuotesTotal  int
}

// QuoteRow is a run that found passages of a document.
type QuoteRow struct {
	RunID string
	At    time.Time
}

// PassageRow is a passage of a document. Link opens its page.
type PassageRow struct {
	Number   int
	Headings string
	Text     string
	Page     int
	Link     string
	Cells    [][2]string
}

// modelOf names the model of a base.
func modelOf(model string) string {
	if model == "" {
		return "Built-in"
	}
	return model
}

// joined lists names.
func joined(names []string) string { return wording.List(names, 20) }

// partHint is shown in the field of the part of an addition.
func (b *BasePage) partHint() string {
	if b.Parts {
		return "Part"
	}
	return "Part (optional)"
}

// nothing says why no document is listed.
func (b *BasePage) nothing() string {
	if b.Filter != "" || b.State != "" {
		return "No document fits."
	}
	return "No documents yet."
}

// summary counts what a search found.
func (s *Search) summary() string {
	return components.Count(len(s.Hits)) + " of " + components.Quantity(s.Searched, "passage") + ", " + strconv.FormatInt(max(1, s.Took.Milliseconds()), 10) + " ms"
}
