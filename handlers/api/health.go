package api

import "net/http"

// live is GET livez: the process responds.
func (s *Server) live(c *Call) error {
	return c.WriteJSON(http.StatusOK, map[string]string{"status": "ok"})
}

// ready is GET readyz: this instance accepts requests. It reads the database, which all
// requests need.
func (s *Server) ready(c *Call) error {
	if s.leaving.Load() || s.Runner.Draining() {
		return ErrDraining()
	}
	if err := s.Store.Ping(c.Request().Context()); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, map[string]string{"status": "ok"})
}
