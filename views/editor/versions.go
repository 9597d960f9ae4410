package editor

import (
	"net/url"
	"strconv"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// VersionsPage is the version history of a flow.
type VersionsPage struct {
	FlowID, Name string
	State        PublishState
	// Draft is the difference between the live version and the draft; nil before the first
	// publish.
	Draft *Diff
	// EditedAt is when the draft was last edited.
	EditedAt time.Time
	List     []VersionLine
	// Most is set if the flow had more runs than were counted.
	Most bool
	// URL starts runs over the API.
	URL string
	// Replaced are the replacements of the draft over the API that can be undone, newest first.
	Replaced []Replacement
	// Restored is the version that was just restored to the draft by the transaction RestoreTx.
	Restored  int64
	RestoreTx string
	Now       time.Time
}

// VersionLine is one version in the list.
type VersionLine struct {
	Number  int64
	At      time.Time
	By      string
	Summary string
	Live    bool
	// Same is set if the draft equals this version.
	Same bool
	// Runs is the number of runs in the last 30 days.
	Runs int64
}

// LiveForm asks for confirmation before another version goes live.
type LiveForm struct {
	FlowID, Name string
	Live, Number int64
	Diff         *Diff
	Callers      []Caller
}

func (p VersionsPage) flow() templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(p.FlowID))
}

// version returns the URL of an action on a version; act is a path element.
func (p VersionsPage) version(n int64, act string) string {
	return string(components.VersionsURL(p.FlowID)) + "/" + strconv.FormatInt(n, 10) + "/" + act
}

func (p VersionsPage) view(n int64) templ.SafeURL {
	return p.flow() + templ.SafeURL("?version="+strconv.FormatInt(n, 10))
}

// export returns the URL of a version's document as a download; 0 is the draft.
func (p VersionsPage) export(n int64) templ.SafeURL {
	if n == 0 {
		return p.flow() + "/export"
	}
	return p.flow() + templ.SafeURL("/export?version="+strconv.FormatInt(n, 10))
}

// draftSays compares the draft with the live version.
func (p VersionsPage) draftSays() string {
	switch {
	case p.State.Live == 0:
		return "Not published. Publish it to call it from programs."
	case !p.State.Changed:
		return "No changes since " + VersionName(p.State.Live) + " (live)."
	case p.Draft == nil || p.Draft.Empty():
		return "Differs from " + VersionName(p.State.Live) + " only in node positions."
	}
	return "Differs from " + VersionName(p.State.Live) + ": " + p.Draft.Summary
}

// runs formats the number of runs, with a plus sign if counting stopped early.
func (p VersionsPage) runs(n int64) string {
	if p.Most && n > 0 {
		return components.Count(int(n)) + "+ runs"
	}
	return components.Quantity(int(n), "run")
}

func (f LiveForm) page() VersionsPage { return VersionsPage{FlowID: f.FlowID} }

// back reports whether the version is older than the live one.
func (f LiveForm) back() bool { return f.Number < f.Live }

// title returns the heading and the button's label. Making an older version live is called a
// rollback.
func (f LiveForm) title() string {
	if f.back() {
		return "Roll back to " + VersionName(f.Number)
	}
	return "Make " + VersionName(f.Number) + " live"
}
