package editor

import (
	"fmt"
	"net/url"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// APITry is the form that sends a real API request.
type APITry struct {
	FlowID string
	Live   int64
	MayTry bool
	Fields []components.RunField
	// Open shows the form; otherwise there is a link to it.
	Open     bool
	Error    string
	Exchange *APIExchange
}

func (t APITry) path() templ.SafeURL { return components.FlowURL(t.FlowID, "/api/try") }

// APIExchange is a request and its response as sent over HTTP.
type APIExchange struct {
	Request, Response []components.CodePiece
	Status            int
	Reason            string
	Duration          time.Duration
	// Cut is set if the body is truncated.
	Cut bool
	// FlowID and Run identify the run that the request started; Run is "" without a run.
	FlowID, Run string
}

// tone returns the color of the HTTP status. A 4xx is an error that the user can fix, so only a
// 5xx is red.
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
