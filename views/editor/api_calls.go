package editor

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// APICalls are the most recent API calls of a flow.
type APICalls struct {
	FlowID string
	Rows   []APICall
	P95    time.Duration // of the finished calls; 0 without any
	Now    time.Time
}

// APICall is one API call, which started a run.
type APICall struct {
	ID       string
	State    string
	At       time.Time
	Duration time.Duration
	// Key is the name of the API key; "" if it is unknown.
	Key string
}

func (c APICall) path() templ.SafeURL { return templ.SafeURL(components.RunPath(c.ID)) }

// curl returns the URL that serves a run as a cURL command with the same inputs.
func (c APICalls) curl(run string) string {
	return components.FlowPath(c.FlowID) + "/runs/" + url.PathEscape(run) + "/curl"
}

// all returns the URL of the list of all runs of the flow that were started over the
// API.
func (c APICalls) all() templ.SafeURL {
	return templ.SafeURL("/runs?" + url.Values{"flow": {c.FlowID}, "trigger": {"api"}}.Encode())
}

// Mark is a hash of the list, except for relative times. A poll with the current mark gets no
// new list.
func (c APICalls) Mark() string {
	h := fnv.New64a()
	for _, r := range c.Rows {
		fmt.Fprint(h, r.ID, r.State, r.Duration, r.Key, "\n")
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// mostCalls is the number of bars in the chart.
const mostCalls = 20

// spark charts the duration of the calls, oldest first.
func (c APICalls) spark() components.Sparkline {
	s := components.Sparkline{Bars: make([]components.Bar, max(0, mostCalls-len(c.Rows)))}
	for i := len(c.Rows) - 1; i >= 0; i-- {
		r := c.Rows[i]
		b := components.Bar{Count: int(r.Duration.Milliseconds()) + 1}
		if r.State == "failed" {
			b.Failed = b.Count
		}
		s.Bars = append(s.Bars, b)
	}
	return s
}

// APIAddresses are other interfaces of the flow.
type APIAddresses struct {
	FlowID  string
	OpenAPI string
	// MCP is the URL for MCP clients, and Client a configuration for one.
	MCP    string
	Client []components.CodePiece
	// Form is the URL of the public form; "" without one.
	Form string
}
