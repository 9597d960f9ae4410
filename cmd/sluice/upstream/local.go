package upstream

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"sluice/providers"
)

// LocalServers finds the model servers on this machine in the background, such as
// Ollama, so that flows can use them without any configuration. Servers that were
// found become allowed endpoints.
type LocalServers struct {
	finder *providers.Finder
	stop   context.CancelFunc
	off    bool
}

// firstSearchTimeout bounds how long a step waits for the first search, which takes
// up to 300 ms.
const firstSearchTimeout = time.Second

// FindLocal starts the search, unless it is switched off.
func FindLocal(u *Clients, bound net.Addr, off bool) *LocalServers {
	ctx, stop := context.WithCancel(context.Background())
	l := &LocalServers{stop: stop, off: off, finder: providers.NewFinder(providers.FinderConfig{
		Doer: providers.Guarded(u.HTTP), OllamaHost: os.Getenv("OLLAMA_HOST"),
		Self: []netip.AddrPort{netip.MustParseAddrPort(bound.String())}, Allow: u.reach.setFound,
	})}
	if !off {
		go l.finder.Run(ctx)
	}
	return l
}

// Found returns the servers that were found. The first call waits for the first search,
// so that a flow that runs right after the start does not fail without reason.
func (l *LocalServers) Found() []providers.LocalServer {
	if l.off {
		return nil
	}
	select {
	case <-l.finder.Looked():
	case <-time.After(firstSearchTimeout):
	}
	return l.finder.Found()
}

// Stop ends the search.
func (l *LocalServers) Stop() { l.stop() }
