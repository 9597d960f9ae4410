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

// Limits on what other instances may use of this one. An HTTP/2 connection carries
// the text of many runs.
const (
	maxConnections       = 256
	maxRunsPerConnection = 1000 // runs on one connection
	maxRuns              = 8192 // runs on all connections
	headerTimeout        = 5 * time.Second
	idleTimeout          = time.Minute
	writeTimeout         = 10 * time.Second // for one frame
	maxHeaderBytes       = 8 << 10
)

// http2Config sends pings on idle connections, so that one whose other end is gone or
// frozen is noticed.
var http2Config = http.HTTP2Config{MaxConcurrentStreams: maxRunsPerConnection, SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second}

// StreamFunc sends the text of a run until this instance no longer has it. Its error
// is a flow.Error with CodeNotFound if the instance never had the run.
type StreamFunc func(ctx context.Context, runID flow.RunID, send func(flow.PeerText) error) error

// Serve answers other instances on l until Close. It returns immediately, and calls
// failed if it ends earlier. Call it at most once.
func (p *Peers) Serve(l net.Listener, stream StreamFunc, failed func(error)) {
	p.server = p.newServer(stream)
	go func() {
		if err := p.server.ServeTLS(netutil.LimitListener(l, maxConnections), "", ""); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("the server for other instances stopped: %w", err))
		}
	}()
}

func (p *Peers) newServer(stream StreamFunc) *http.Server {
	slots := make(chan struct{}, maxRuns)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+textPath, func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			p.streamText(w, r, stream)
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

// streamText answers a request with the text of its run.
func (p *Peers) streamText(w http.ResponseWriter, r *http.Request, stream StreamFunc) {
	if err := p.verify(r.Header); err != nil {
		p.cfg.Log.Warn("rejected a request for the text of a run", "from", r.RemoteAddr, "error", err)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	out := http.NewResponseController(w)
	err := stream(r.Context(), flow.RunID(r.Header.Get(headerRun)), func(t flow.PeerText) error {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if err := writeFrame(w, &t); err != nil {
			return err
		}
		return out.Flush()
	})
	if flow.IsNotFound(err) {
		w.WriteHeader(http.StatusNotFound)
	} else if err != nil {
		panic(http.ErrAbortHandler) // breaks the stream: a normal end would mean that the run has ended here
	}
}
