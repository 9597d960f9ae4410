package upstream

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"sluice/providers"
)

// LocalServers finds model servers on this machine, such as Ollama, in the background, and
// adds them to the allowed endpoints, so that flows can use them without configuration.
type LocalServers struct {
	finder *providers.Finder
	start  func()
	stop   context.CancelFunc
	off    bool
}

// firstSearchTimeout bounds how long Found waits for the first search, which usually takes up
// to 300 ms.
const firstSearchTimeout = time.Second

// FindLocal returns the model servers on this machine, or none if off is set. The search begins
// with Start or the first call of Found.
func FindLocal(u *Clients, bound net.Addr, off bool) *LocalServers {
	ctx, stop := context.WithCancel(context.Background())
	l := &LocalServers{stop: stop, off: off, finder: providers.NewFinder(providers.FinderConfig{
		Doer: providers.Guarded(u.HTTP), OllamaHost: os.Getenv("OLLAMA_HOST"),
		Self: []netip.AddrPort{netip.MustParseAddrPort(bound.String())}, Allow: u.reach.setFound,
	})}
	l.start = sync.OnceFunc(func() { go l.finder.Run(ctx) })
	return l
}

// Start starts the search.
func (l *LocalServers) Start() {
	if !l.off {
		l.start()
	}
}

// Found returns the servers found so far. It waits for the first search, so that flows that
// run right after the start of the server can use them.
func (l *LocalServers) Found() []providers.LocalServer {
	if l.off {
		return nil
	}
	l.start()
	select {
	case <-l.finder.Ready():
	case <-time.After(firstSearchTimeout):
	}
	return l.finder.Found()
}

// Stop ends the search.
func (l *LocalServers) Stop() { l.stop() }
