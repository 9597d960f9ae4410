package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/db"
	"sluice/flow"
	"sluice/handlers/api"
)

// databaseNeed is what a command needs if no server is configured or running.
type databaseNeed int

const (
	needExisting databaseNeed = iota // a missing database is an error
	needCreated                      // a missing database is created
	needNothing                      // an empty temporary one will do
	needRuns                         // the command waits for a run, so it executes runs if no server does
)

// connect returns the API for a command: that of the configured server, else that of the server
// running on the local database, else that of this process on the local database. The latter two
// act for the operator. Nothing is opened before the first request. Call end when the command
// has finished.
func (c *Config) connect(s *streams, need databaseNeed) (_ *client.Client, end func() error, err error) {
	if !c.usesServer() {
		l := &localAPI{cfg: *c, streams: s, need: need}
		return &client.Client{Open: l.open}, l.close, nil
	}
	if c.Workspace != "" && c.Workspace != string(flow.DefaultWorkspace) {
		return nil, nil, usageError("over HTTP, the key determines the workspace; use a key of that workspace, and leave out --workspace")
	}
	remote, err := remote.Connect(c.Server, c.Key, s.Err)
	return remote, func() error { return nil }, err
}

// localAPI is the API on this machine: of a running server, or of this process.
type localAPI struct {
	cfg     Config
	streams *streams
	need    databaseNeed
	onClose []func() error // in the order of creation; executed in reverse
}

// close closes what open has opened.
func (l *localAPI) close() (err error) {
	for i := range l.onClose {
		err = errors.Join(err, l.onClose[len(l.onClose)-1-i]())
	}
	return err
}

// open is client.Client.Open.
func (l *localAPI) open(ctx context.Context, to *client.Client) error {
	if err := l.cfg.check(); err != nil {
		return err
	}
	found, err := l.cfg.runningServer(ctx)
	if err == nil && found == nil {
		found, err = l.serve(ctx)
	}
	if err != nil {
		return err
	}
	to.Base, to.Token, to.HTTP, to.Idle = found.Base, found.Token, found.HTTP, found.Idle
	if l.cfg.Workspace == "" {
		return nil
	}
	id, err := findWorkspaceID(ctx, found, l.cfg.Workspace)
	to.Header = http.Header{api.WorkspaceHeader: {string(id)}}
	return err
}

// serve serves the API in this process.
func (l *localAPI) serve(ctx context.Context) (*client.Client, error) {
	if missing := l.cfg.needDatabase(); l.need == needRuns && missing == nil && l.cfg.DatabaseURL == "" {
		a, err := startQuietly(ctx, l.cfg, appOptions{})
		if err != nil {
			return nil, err
		}
		l.onClose = append(l.onClose, a.stop)
		return &client.Client{Base: a.local, Token: a.token}, nil
	}
	mustExist, log := l.need != needCreated, l.cfg.logger(l.streams.Err)
	if l.need == needNothing && l.cfg.needDatabase() != nil {
		mustExist, log = false, slog.New(slog.DiscardHandler)
		remove, err := l.cfg.useTemporaryDir()
		if err != nil {
			return nil, err
		}
		l.onClose = append(l.onClose, remove)
	}
	store, err := l.cfg.openStore(ctx, log, storeOptions{mustExist: mustExist})
	if err != nil {
		return nil, err
	}
	a, dial, err := openApp(ctx, &l.cfg, log, store)
	if err != nil {
		return nil, err
	}
	l.onClose = append(l.onClose, func() error { return errors.Join(a.server.Close(), a.close()) })
	return &client.Client{Base: a.local, Token: a.token, HTTP: client.NewHTTP(dial), Idle: !store.IsPostgres()}, nil
}

// useTemporaryDir replaces the database in the settings with one in a new directory, until the
// returned function removes it.
func (c *Config) useTemporaryDir() (remove func() error, err error) {
	dir, err := os.MkdirTemp("", "sluice-")
	c.DataDir, c.DatabaseURL, c.MasterKeyFile = dir, "", ""
	return func() error { return os.RemoveAll(dir) }, err
}

// instanceInfo is the JSON by which a command recognizes a server as one that it can use instead
// of the database: one of its own version and on the database of its own settings.
type instanceInfo struct {
	Version  string `json:"version"`
	Database string `json:"database"` // hash of DATABASE_URL; "" for SQLite
}

func (c *Config) instanceInfo() instanceInfo {
	info := instanceInfo{Version: version()}
	if c.DatabaseURL != "" {
		info.Database = flow.Hash([]byte(c.DatabaseURL))
	}
	return info
}

// greetingTimeout bounds the wait for the first response of a server on this machine.
const greetingTimeout = 2 * time.Second

// runningServer returns the API of the server that runs on the local database, or nil. It is nil
// too if the server cannot be reached, for example from another container, or does not match:
// a command may always use the database beside it.
func (c *Config) runningServer(ctx context.Context) (*client.Client, error) {
	info, running, err := db.ReadEngine(c.DataDir)
	if err != nil || !running || info.Token == "" {
		return nil, nil //nolint:nilerr // the database will tell what is wrong with the directory
	}
	found := &client.Client{Base: info.Addr, Token: info.Token}
	probe, cancel := context.WithTimeout(ctx, greetingTimeout)
	defer cancel()
	raw, err := found.Call(probe, "GET", "/v1/local", nil)
	var is instanceInfo
	if err != nil || json.Unmarshal(raw, &is) != nil || is != c.instanceInfo() {
		return nil, ctx.Err()
	}
	return found, nil
}

// pipeListener accepts connections of this process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{make(chan net.Conn), make(chan struct{})}
}

// dial returns a new connection to the listener.
func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next call of dial.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It is called once.
func (l *pipeListener) Close() error { close(l.closed); return nil }

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "in-process"} }
