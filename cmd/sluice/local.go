package main

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"sluice/providers"
)

// localServers finds the model servers on this machine in the background, such as
// Ollama, so that flows can use them without any configuration. Servers that were
// found become allowed endpoints.
type localServers struct {
	finder *providers.Finder
	stop   context.CancelFunc
	off    bool
}

// firstSearchTimeout bounds how long a step waits for the first search, which takes
// up to 300 ms.
const firstSearchTimeout = time.Second

// findLocal starts the search, unless it is switched off.
func findLocal(u *upstreams, bound net.Addr, off bool) *localServers {
	ctx, stop := context.WithCancel(context.Background())
	l := &localServers{stop: stop, off: off, finder: providers.NewFinder(providers.FinderConfig{
		Doer: providers.Guarded(u.client), OllamaHost: os.Getenv("OLLAMA_HOST"),
		Self: []netip.AddrPort{netip.MustParseAddrPort(bound.String())}, Allow: u.reach.setFound,
	})}
	if !off {
		go l.finder.Run(ctx)
	}
	return l
}

// Found returns the servers that were found. The first call waits for the first search,
// so that a flow that runs right after the start does not fail without reason.
func (l *localServers) Found() []providers.LocalServer {
	if l.off {
		return nil
	}
	select {
	case <-l.finder.Looked():
	case <-time.After(firstSearchTimeout):
	}
	return l.finder.Found()
}
