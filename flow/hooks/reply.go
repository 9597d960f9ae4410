package hooks

import (
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
)

// Needs lists the outputs that a response waits for; nil means all outputs, at the end of the run.
func (c *Config) Needs() []string {
	r := c.Response
	if r == nil || r.Body == "" {
		return nil
	}
	if r.Status == "" {
		return []string{r.Body}
	}
	return []string{r.Body, r.Status}
}

// Respond returns the response that outputs make. A text is sent as it is, another value as JSON.
func (c *Config) Respond(outputs *flow.Object) (status int, kind string, body []byte, err error) {
	r := c.Response
	if r == nil {
		r = &Response{}
	}
	status, kind = http.StatusOK, r.Type
	if r.Status != "" {
		if status, err = strconv.Atoi(flow.Text(outputs.Get(r.Status))); err != nil || status < 200 || status > 599 {
			return 0, "", nil, flow.Errorf(flow.CodeInputInvalid, "The output %s, which is the status of the response, is not a number between 200 and 599.", r.Status)
		}
	}
	var v any = outputs
	if r.Body != "" {
		v = outputs.Get(r.Body)
	}
	text, isText := v.(string)
	if body = []byte(text); !isText {
		body = flow.EncodeJSON(v)
	}
	if kind == "" {
		kind = "application/json"
		if isText {
			kind = "text/plain"
		}
	}
	if !strings.Contains(kind, ";") && strings.HasPrefix(kind, "text/") {
		kind += "; charset=utf-8"
	}
	return status, kind, body, nil
}
