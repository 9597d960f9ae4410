package main

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"sluice/providers"
)

// localServers are the model servers on this machine, looked for in the
// background for as long as Sluice runs.
type localServers struct {
	finder *providers.Finder
	stop   context.CancelFunc
	off    bool
}

// firstLook is how long a step waits for the search to have looked around once;
// nobody takes longer than 300 ms to be asked.
const firstLook = time.Second

// findLocal begins the search. With the search switched off nothing is asked.
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

// Found returns what there is.
func (l *localServers) Found() []providers.LocalServer {
	if l.off {
		return nil
	}
	select {
	case <-l.finder.Looked():
	case <-time.After(firstLook):
	}
	return l.finder.Found()
}
