package api

import "net/http"

// live tells that the process answers.
func (s *Server) live(c *Call) error {
	return c.WriteJSON(http.StatusOK, map[string]string{"status": "ok"})
}

// ready tells that this instance wants requests, which it cannot answer without
// the database.
func (s *Server) ready(c *Call) error {
	if s.leaving.Load() || s.Runner.Draining() {
		return ErrDraining()
	}
	if err := s.Store.Ping(c.Request().Context()); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, map[string]string{"status": "ok"})
}
