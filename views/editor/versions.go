package editor

import (
	"net/url"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// VersionsPage is the history of a flow.
type VersionsPage struct {
	FlowID, Name string
	State        PublishState
	// Draft says how the draft differs from what is live; nil before the first
	// publish.
	Draft *document.Diff
	// EditedAt is when the draft was changed last.
	EditedAt time.Time
	List     []VersionLine
	// Most tells that the flow had more runs than were counted.
	Most bool
	// URL is where programs start runs.
	URL string
	// Restored is the version that the draft was just made equal to, by the
	// transaction RestoreTx.
	Restored  int64
	RestoreTx string
	Now       time.Time
}

// VersionLine is one version of the list.
type VersionLine struct {
	Number  int64
	At      time.Time
	By      string
	Summary string
	Live    bool
	// Same tells that the draft is this version.
	Same bool
	// Runs are those of the last 30 days.
	Runs int64
}

// LiveForm asks before another version goes live.
type LiveForm struct {
	FlowID, Name string
	Live, Number int64
	Diff         *document.Diff
	Callers      []flow.Caller
}

func (p VersionsPage) flow() templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(p.FlowID))
}

func (p VersionsPage) version(n int64, act string) string {
	return string(components.VersionsURL(p.FlowID)) + "/" + strconv.FormatInt(n, 10) + "/" + act
}

func (p VersionsPage) view(n int64) templ.SafeURL {
	return p.flow() + templ.SafeURL("?version="+strconv.FormatInt(n, 10))
}

func (p VersionsPage) export(n int64) templ.SafeURL {
	if n == 0 {
		return p.flow() + "/export"
	}
	return p.flow() + templ.SafeURL("/export?version="+strconv.FormatInt(n, 10))
}

// draftSays is how the draft stands to what is live.
func (p VersionsPage) draftSays() string {
	switch {
	case p.State.Live == 0:
		return "Not published yet: no program can call it."
	case !p.State.Changed:
		return "Equals " + VersionName(p.State.Live) + ", which is live."
	case p.Draft == nil || p.Draft.Empty():
		return "Differs from " + VersionName(p.State.Live) + " in where nodes stand."
	}
	return "Differs from " + VersionName(p.State.Live) + ": " + DiffSummary(p.Draft)
}

// DiffSummary counts what changed: 1 input added, 2 nodes changed.
func DiffSummary(d *document.Diff) string {
	counts := map[string]int{}
	var order []string
	note := func(what string) {
		if counts[what]++; counts[what] == 1 {
			order = append(order, what)
		}
	}
	for _, a := range d.API {
		what := "input "
		if a.Role == flow.RoleOutput {
			what = "output "
		}
		note(what + a.Change)
	}
	for _, n := range d.Nodes {
		note("node " + n.Change)
	}
	for range d.Added {
		note("edge " + document.ChangeAdded)
	}
	for range d.Removed {
		note("edge " + document.ChangeRemoved)
	}
	text := ""
	for i, what := range order {
		if i > 0 {
			text += ", "
		}
		text += counted(counts[what], what)
	}
	if text == "" {
		return "name, description or groups."
	}
	return text + "."
}

// counted puts a number before a noun and what happened to it: 2 nodes added.
func counted(n int, what string) string {
	for i := range len(what) {
		if what[i] == ' ' {
			return components.Quantity(n, what[:i]) + what[i:]
		}
	}
	return components.Quantity(n, what)
}

// runs are the number of runs, as far as they were counted.
func (p VersionsPage) runs(n int64) string {
	if p.Most && n > 0 {
		return components.Count(int(n)) + "+"
	}
	return components.Count(int(n))
}

func (f LiveForm) page() VersionsPage { return VersionsPage{FlowID: f.FlowID} }

// back tells whether the version is older than what is live.
func (f LiveForm) back() bool { return f.Number < f.Live }

func (f LiveForm) title() string {
	if f.back() {
		return "Roll back to " + VersionName(f.Number)
	}
	return "Make " + VersionName(f.Number) + " live"
}
