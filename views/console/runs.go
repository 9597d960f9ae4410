package console

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunsPage is the list of runs with what narrows it.
type RunsPage struct {
	// FlowName is the name of the flow in the filter; empty if it has none.
	FlowName string
	Filter   RunsFilter
	// What can be chosen: flows, keys, and the versions of the chosen flow.
	Flows, Keys, Versions []components.Option
	Rows                  []RunLine
	Pages                 components.Pages
	// Looked is how many runs were read for the text, and More that others were not.
	Looked int
	More   bool
	// Reached is when the last run that was read was accepted, where there are More.
	Reached time.Time
	// HasFlows tells what the next step is where no run is yet.
	HasFlows bool
	Now      time.Time
}

// RunsFilter is what the address of the list says.
type RunsFilter struct {
	Flow, Key, Version, Trigger, Query string
	States                             []string
	// Time is a preset or "custom"; From and Until are as they were typed.
	Time, From, Until string
	Errors            components.Errors
}

// RunLine is a run as the list shows it.
type RunLine struct {
	ID, State             string
	FlowID, Flow          string
	Version               int // 0 for a draft
	By                    string
	At                    time.Time // when it was accepted
	Took                  time.Duration
	Started               bool
	Micros                int64 // cost in millionths of a US dollar
	Tokens                int64
	InputSummary, Failure string
	FailureText           string
	Erased                bool
}

// Choices of the list that are the same everywhere.
var (
	runStates   = []string{"queued", "running", "waiting", "succeeded", "failed", "canceled"}
	runTriggers = []components.Option{{Value: "api", Label: "API"}, {Value: "builder", Label: "Builder"}, {Value: "form", Label: "Form page"}, {Value: "mcp", Label: "MCP"}, {Value: "cli", Label: "Command line"}, {Value: "rerun", Label: "Rerun"}}
	runTimes    = []components.Option{{Value: "", Label: "Any time"}, {Value: "1h", Label: "Last hour"}, {Value: "24h", Label: "Last 24 hours"}, {Value: "7d", Label: "Last 7 days"}, {Value: "30d", Label: "Last 30 days"}, {Value: "custom", Label: "From … until …"}}
)

// TriggerName is what started a run, in words for people.
func TriggerName(trigger string) string {
	for _, o := range runTriggers {
		if o.Value == trigger {
			return o.Label
		}
	}
	return trigger
}

// Values are the filter as the address carries it.
func (f RunsFilter) Values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"flow": f.Flow, "key": f.Key, "version": f.Version, "trigger": f.Trigger, "q": f.Query, "time": f.Time, "from": f.From, "until": f.Until,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(f.States) > 0 {
		q["state"] = f.States
	}
	return q
}

// empty reports whether nothing is filtered, so that an empty list means that there are
// no runs yet.
func (f RunsFilter) empty() bool { return len(f.Values()) == 0 }

// has reports whether the filter includes a state. Several states can be chosen.
func (f RunsFilter) has(state string) bool { return slices.Contains(f.States, state) }

// export is the address of the same list as a file.
func (f RunsFilter) export(format string) templ.SafeURL {
	q := f.Values()
	q.Set("format", format)
	return templ.SafeURL("/runs/export?" + q.Encode())
}

// live is where the rows of the first page are fetched again; empty on others.
func (p RunsPage) live() string {
	if p.Pages.Before != "" || p.Filter.Query != "" || len(p.Filter.Errors) > 0 {
		return ""
	}
	return "/runs?" + p.Filter.Values().Encode()
}

// Mark changes when something about the rows does, apart from the time.
func (p RunsPage) Mark() string {
	h := fnv.New64a()
	for _, r := range p.Rows {
		fmt.Fprint(h, r.mark(), "\n")
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// mark identifies what the row shows, except for relative times; see DeliveryRow.mark
// for its use.
func (r RunLine) mark() string {
	return fmt.Sprint(r.ID, " ", r.State, " ", r.Took, " ", r.Micros, " ", r.Tokens, " ", r.Failure, " ", r.Erased)
}

func (r RunLine) path() templ.SafeURL { return templ.SafeURL("/runs/" + url.PathEscape(r.ID)) }

// version is short: v3, or that it was a draft.
func (r RunLine) version() string {
	if r.Version == 0 {
		return "draft"
	}
	return version(r.Version)
}

// shortID is enough of an ID to tell one from another at a glance.
func (r RunLine) shortID() string {
	if len(r.ID) < 12 {
		return r.ID
	}
	return "…" + r.ID[len(r.ID)-6:]
}

// took returns the duration of the run, or a dash if it has not started: 0 s would say
// that it was fast.
func (r RunLine) took() string {
	if !r.Started {
		return "–"
	}
	return components.Took(r.Took)
}

// looked says how far a search came.
func (p RunsPage) looked() string {
	if p.More {
		return fmt.Sprintf("Looked at %s of the matching runs, as far as %s.", components.Count(p.Looked), moment(p.Reached))
	}
	if p.Looked == 1 {
		return fmt.Sprintf("%d of 1 run matches.", len(p.Rows))
	}
	return fmt.Sprintf("%s of %s runs match.", components.Count(len(p.Rows)), components.Count(p.Looked))
}

// invalid marks a control whose value was refused, and says why.
func invalid(id, problem string) templ.Attributes {
	if problem == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": id + "-error"}
}
