package docs

func (s *Server) Book() (*book, error)         { return s.book() }
func (s *Server) Generated() map[string]string { return s.generatedPages() }
