package handlers

import "net/http"

// live tells that the process answers.
func (s *Server) live(c *call) error {
	return c.writeJSON(http.StatusOK, map[string]string{"status": "ok"})
}

// ready tells that this instance wants requests.
func (s *Server) ready(c *call) error {
	if s.Runner.Draining() {
		return draining()
	}
	return c.writeJSON(http.StatusOK, map[string]string{"status": "ok"})
}

// welcome says to a person what this is and what to type next.
func (s *Server) welcome(c *call) error {
	c.Response().Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := c.Response().Write([]byte(`This is Sluice. Draw a flow of AI models. Call it as an API.

  sluice flow import flow.json --publish      publish a flow, prints its ID
  sluice key create --name me                 make a key, shown once
  curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
       -H "Prefer: wait=30" -d '{"name": "value"}' \
       ` + s.PublicURL + `/v1/flow/FLOW_ID/run

The API: ` + s.PublicURL + `/v1/openapi.json
`))
	return err
}
