package providers

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Interval of the search for local servers, and the time limit of a response.
const (
	findEvery   = 30 * time.Second
	findTimeout = 300 * time.Millisecond
	// lookupTimeout is the time limit for resolving the name in OLLAMA_HOST.
	lookupTimeout = 2 * time.Second
)

// FinderConfig configures a Finder. Only Doer is required.
type FinderConfig struct {
	Doer Doer
	// OllamaHost is the value of OLLAMA_HOST. It may be another machine, because the
	// operator set it.
	OllamaHost string
	// Self are the addresses that Sluice itself listens on. They are never probed.
	Self []netip.AddrPort
	// Allow is called with all addresses before they are probed, and whenever they
	// change, so that a guard that blocks loopback can allow them. They stay the same
	// while nothing is found.
	Allow func([]netip.AddrPort)

	every  time.Duration     // tests: shorter
	within time.Duration     // tests: longer, so that a busy machine passes
	ports  map[string]uint16 // tests: other ports
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Finder discovers model servers on this machine: it probes their default ports and
// recognizes them by their responses. It sends only GET requests without a secret, and
// only while Run runs.
type Finder struct {
	cfg        FinderConfig
	candidates []candidate

	ready chan struct{} // closed after the first look

	mu    sync.Mutex
	found []LocalServer
}

// NewFinder returns a Finder that has not found anything yet.
func NewFinder(cfg FinderConfig) *Finder {
	if cfg.every == 0 {
		cfg.every = findEvery
	}
	if cfg.within == 0 {
		cfg.within = findTimeout
	}
	if cfg.lookup == nil {
		cfg.lookup = net.DefaultResolver.LookupNetIP
	}
	return &Finder{cfg: cfg, candidates: candidates(cfg), ready: make(chan struct{})}
}

// Ready returns a channel that is closed after the first search. Before that, an empty Found
// does not mean that there are no servers.
func (f *Finder) Ready() <-chan struct{} { return f.ready }

// Run searches immediately and then every 30 s, until the context ends. It must be called
// only once.
func (f *Finder) Run(ctx context.Context) {
	f.allow(f.Candidates())
	tick := time.NewTicker(f.cfg.every)
	defer tick.Stop()
	for first := true; ; first = false {
		f.look(ctx)
		if first {
			close(f.ready)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Found returns the servers of the last search in the order of the presets.
func (f *Finder) Found() []LocalServer {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.found)
	for i := range out {
		out[i].Models = slices.Clone(out[i].Models)
	}
	return out
}

// Candidates returns the addresses that Run probes, as far as they are resolved.
func (f *Finder) Candidates() []netip.AddrPort {
	f.mu.Lock()
	defer f.mu.Unlock()
	var addrs []netip.AddrPort
	for _, c := range f.candidates {
		if c.addr.IsValid() && !slices.Contains(addrs, c.addr) {
			addrs = append(addrs, c.addr)
		}
	}
	return addrs
}

// allow passes addresses to FinderConfig.Allow. Requests to other private addresses are
// blocked.
func (f *Finder) allow(addrs []netip.AddrPort) {
	if f.cfg.Allow != nil {
		f.cfg.Allow(addrs)
	}
}

// places returns the candidates with their names resolved again.
func (f *Finder) places(ctx context.Context) []candidate {
	before := f.Candidates()
	f.mu.Lock()
	list := slices.Clone(f.candidates)
	f.mu.Unlock()
	for i, c := range list {
		if c.name != "" {
			list[i].addr = f.address(ctx, c)
		}
	}
	f.mu.Lock()
	f.candidates = list
	f.mu.Unlock()
	if now := f.Candidates(); !slices.Equal(before, now) {
		f.allow(now)
	}
	return list
}

// address resolves the name of a candidate. It returns an invalid address, which is not
// probed, if the name has no address other than Sluice's own.
func (f *Finder) address(ctx context.Context, c candidate) netip.AddrPort {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := f.cfg.lookup(ctx, "ip", c.name)
	if err != nil || len(addrs) == 0 {
		return netip.AddrPort{}
	}
	addr := netip.AddrPortFrom(addrs[0].Unmap(), c.port)
	if isSelf(addr, f.cfg.Self) {
		return netip.AddrPort{}
	}
	return addr
}

// look probes all candidates concurrently.
func (f *Finder) look(ctx context.Context) {
	places := f.places(ctx)
	answers := make([]*LocalServer, len(places))
	var all sync.WaitGroup
	for i, c := range places {
		if c.addr.IsValid() {
			all.Go(func() { answers[i] = f.ask(ctx, c) })
		}
	}
	all.Wait()
	if ctx.Err() != nil {
		return // canceled: a missing response means nothing
	}
	var found []LocalServer
	for _, a := range answers {
		if a != nil {
			found = append(found, *a)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found = found
}

// ask probes a candidate. It returns nil if no server of its preset responds.
func (f *Finder) ask(ctx context.Context, c candidate) *LocalServer {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.within)
	defer cancel()
	client := *f.cfg.Doer.HTTPClient(true)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer client.CloseIdleConnections()
	p := prober{client: &client, origin: c.origin}
	if !signs[c.preset](ctx, &p) {
		return nil
	}
	preset, _ := FindPreset(c.preset)
	return &LocalServer{Preset: preset, BaseURL: c.origin + "/v1", Addr: c.addr, Models: p.models}
}
