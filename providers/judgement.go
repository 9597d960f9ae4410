package providers

import (
	"encoding/json"
	"net/http"

	"sluice/providers/fault"
)

// An answer of a provider is judged in one place, whatever its wire format: by its status if
// that is an error (session.refused), and by its body if the status is 200 (session.errorIn).
// Both end in session.classify, which chooses the class and the message.

// errorIn returns the error that a body or an event with the status 200 contains, or nil. name
// is the name of the event; data need not be JSON.
func (s *session) errorIn(name string, data []byte) error {
	status, text, failed := fault.Find(data)
	switch {
	case failed:
	case name == "error" && json.Valid(data):
		status, text = fault.Status(data), data
	case name == "error":
		status, text = http.StatusInternalServerError, data
	default:
		return nil
	}
	return s.classify(status, parseRefusal(text))
}
