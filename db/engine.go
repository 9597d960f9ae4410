package db

// EngineInfo lets the command line find the running server.
type EngineInfo struct {
	PID   int    `json:"pid"`
	Addr  string `json:"addr"`
	Token string `json:"token"`
}

// LockEngine makes this process the one engine on the data directory until
// the store closes. It returns ErrEngineRunning when there is another.
func (s *Store) LockEngine(info EngineInfo) error { panic("unfinished") }

// ReadEngine tells how to reach the engine of a data directory and whether it
// is running.
func ReadEngine(dataDir string) (info EngineInfo, running bool, err error) { panic("unfinished") }
