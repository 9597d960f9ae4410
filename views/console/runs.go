package console

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunsPage is the list of runs with its filters.
type RunsPage struct {
	// FlowName and LiveVersion are those of the flow in the filter; empty without that filter.
	FlowName    string
	LiveVersion int64
	Filter      RunsFilter
	// Options of the filters: flows, keys, and the versions of the selected flow.
	Flows, Keys, Versions []components.Option
	Rows                  []RunLine
	Pages                 components.Pages
	// Looked is the number of runs that the text search read; More is set if it stopped before
	// the end.
	Looked int
	More   bool
	// Reached is the creation time of the last run that was read, if there are More.
	Reached time.Time
	// HasFlows decides which next step an empty list suggests.
	HasFlows bool
	Now      time.Time
}

// RunsFilter holds the query parameters of the list.
type RunsFilter struct {
	Flow, Key, Version, Trigger, Query string
	States                             []string
	// Time is a preset or "custom". From and Until are kept as typed.
	Time, From, Until string
	Errors            components.Errors
}

// RunLine is one run in the list.
type RunLine struct {
	components.RunHead
	Flow                 string // name of the flow
	By                   string
	InputSummary         string
	Failure, FailureText string
	Erased               bool
}

// Options of the filters that don't depend on the workspace.
var (
	runStates   = []string{"queued", "running", "waiting", "succeeded", "failed", "canceled"}
	runTriggers = []components.Option{{Value: "api", Label: "API"}, {Value: "builder", Label: "Builder"}, {Value: "form", Label: "Form page"}, {Value: "mcp", Label: "MCP"}, {Value: "cli", Label: "Command line"}, {Value: "rerun", Label: "Rerun"}}
	runTimes    = []components.Option{{Value: "", Label: "Any time"}, {Value: "1h", Label: "Last hour"}, {Value: "24h", Label: "Last 24 hours"}, {Value: "7d", Label: "Last 7 days"}, {Value: "30d", Label: "Last 30 days"}, {Value: "custom", Label: "From … until …"}}
)

// TriggerName returns the label of a trigger, such as "Schedule".
func TriggerName(trigger string) string {
	for _, o := range runTriggers {
		if o.Value == trigger {
			return o.Label
		}
	}
	return trigger
}

// Values returns the filter as URL parameters, without empty ones.
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

// export returns the URL of the filtered list as a file.
func (f RunsFilter) export(format string) templ.SafeURL {
	q := f.Values()
	q.Set("format", format)
	return templ.SafeURL("/runs/export?" + q.Encode())
}

// live returns the URL that refreshes the rows of the first page; "" on other pages, which
// don't refresh.
func (p RunsPage) live() string {
	if p.Pages.Before != "" || p.Filter.Query != "" || len(p.Filter.Errors) > 0 {
		return ""
	}
	return "/runs?" + p.Filter.Values().Encode()
}

// Mark is a hash of the rows, except for relative times. A poll with the current mark gets no
// new rows.
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
	return fmt.Sprint(r.ID, " ", r.State, " ", r.Duration, " ", r.Usage.Micros(), " ", r.Usage.Tokens(), " ", r.Failure, " ", r.Erased)
}

func (r RunLine) path() templ.SafeURL { return templ.SafeURL("/runs/" + url.PathEscape(r.ID)) }

// version returns a version such as "v3", or "draft".
func (r RunLine) version() string {
	if r.Version == 0 {
		return "draft"
	}
	return version(int(r.Version))
}

// shortID abbreviates the run's ID for tables.
func shortID(id string) string {
	if len(id) < 12 {
		return id
	}
	return "…" + id[len(id)-6:]
}

// took returns the duration of the run, or a dash if it has not started: 0 s would say
// that it was fast.
func (r RunLine) took() string {
	if !r.Started {
		return "–"
	}
	return components.Duration(r.Duration)
}

// looked says how many runs the text search read.
func (p RunsPage) looked() string {
	if p.More {
		return fmt.Sprintf("Looked at %s of the matching runs, as far as %s.", components.Count(p.Looked), wording.Moment(p.Reached))
	}
	if p.Looked == 1 {
		return fmt.Sprintf("%d of 1 run matches.", len(p.Rows))
	}
	return fmt.Sprintf("%s of %s runs match.", components.Count(len(p.Rows)), components.Count(p.Looked))
}

// invalid returns the attributes that mark a control as invalid and connect it to its error.
func invalid(id, problem string) templ.Attributes {
	if problem == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": id + "-error"}
}
