package editor

import (
	"fmt"
	"net/url"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// APITry is the form that performs a real request.
type APITry struct {
	FlowID string
	Live   int64
	MayTry bool
	Fields []components.RunField
	// Open shows the form; else a line leads to it.
	Open     bool
	Error    string
	Exchange *APIExchange
}

func (t APITry) path() templ.SafeURL { return components.FlowURL(t.FlowID, "/api/try") }

// APIExchange is a request and its answer, as they went over the wire.
type APIExchange struct {
	Request, Response []components.CodePiece
	Status            int
	Reason            string
	Took              time.Duration
	// Cut is set if the body is longer than what is shown.
	Cut bool
	// FlowID and Run are of the run that the request started; Run is empty if it started none.
	FlowID, Run string
}

// tone returns the color of the HTTP status: a 4xx is a mistake in the request, which
// the person can fix, so only a 5xx is red.
func (e *APIExchange) tone() components.Tone {
	switch {
	case e.Status < 300:
		return components.ToneOK
	case e.Status < 500:
		return components.ToneWait
	}
	return components.ToneBad
}

func (e *APIExchange) words() string { return fmt.Sprintf("%d %s", e.Status, e.Reason) }

func (e *APIExchange) run() templ.SafeURL { return templ.SafeURL(components.RunPath(e.Run)) }

// replay returns the URL of the builder with the results of the run on the canvas.
func (e *APIExchange) replay() templ.SafeURL {
	return components.FlowURL(e.FlowID, "?run="+url.QueryEscape(e.Run))
}
