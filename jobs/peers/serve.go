package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"sluice/flow"
)

// Bounds of what others may take of this instance. A connection of HTTP/2
// carries the text of many runs.
const (
	maxConnections       = 256
	maxRunsPerConnection = 1000 // runs on one connection
	maxRuns              = 8192 // runs on all connections
	headerTimeout        = 5 * time.Second
	idleTimeout          = time.Minute
	writeTimeout         = 10 * time.Second // for one piece of text
	maxHeaderBytes       = 8 << 10
)

// pings are sent on a connection where nothing comes, so that one whose other
// end is gone or frozen is noticed.
var http2Config = http.HTTP2Config{MaxConcurrentStreams: maxRunsPerConnection, SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second}

// Pass passes the text of a run on until this instance has it no more. Its error
// is a flow.Error with CodeNotFound if the instance never had it.
type StreamFunc func(ctx context.Context, runID string, send func(flow.PeerText) error) error

// Serve answers other instances on l until Close. failed is called if it ends
// before. Call Serve once.
func (p *Peers) Serve(l net.Listener, pass StreamFunc, failed func(error)) {
	p.server = p.newServer(pass)
	go func() {
		if err := p.server.ServeTLS(netutil.LimitListener(l, maxConnections), "", ""); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("the server for other instances stopped: %w", err))
		}
	}()
}

func (p *Peers) newServer(pass StreamFunc) *http.Server {
	slots := make(chan struct{}, maxRuns)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+textPath, func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			p.streamText(w, r, pass)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	http2 := http2Config
	return &http.Server{
		Handler: mux, TLSConfig: p.tls.Clone(), Protocols: protocols, HTTP2: &http2,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(p.cfg.Log.Handler(), slog.LevelDebug),
	}
}

// passText answers one request with the text of its run.
func (p *Peers) streamText(w http.ResponseWriter, r *http.Request, pass StreamFunc) {
	if err := p.verify(r.Header); err != nil {
		p.cfg.Log.Warn("a request of another instance was refused", "from", r.RemoteAddr, "error", err)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	out := http.NewResponseController(w)
	err := pass(r.Context(), r.Header.Get(headerRun), func(t flow.PeerText) error {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if err := writeFrame(w, &t); err != nil {
			return err
		}
		return out.Flush()
	})
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		w.WriteHeader(http.StatusNotFound)
	} else if err != nil {
		panic(http.ErrAbortHandler) // the other end must not take this for the end of the run here
	}
}
