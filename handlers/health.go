package handlers

import "net/http"

// live tells that the process answers.
func (s *Server) live(c *call) error {
	return c.writeJSON(http.StatusOK, map[string]string{"status": "ok"})
}

// ready tells that this instance wants requests.
func (s *Server) ready(c *call) error {
	if s.leaving.Load() || s.Runner.Draining() {
		return draining()
	}
	return c.writeJSON(http.StatusOK, map[string]string{"status": "ok"})
}
