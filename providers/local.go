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

// How often local servers are looked for, and how long one may take to answer.
const (
	findEvery   = 30 * time.Second
	findTimeout = 300 * time.Millisecond
	// lookupTimeout is for the name in OLLAMA_HOST, which is not on this machine.
	lookupTimeout = 2 * time.Second
)

// FinderConfig says where to look. Only Doer is required.
type FinderConfig struct {
	Doer Doer
	// OllamaHost is the value of OLLAMA_HOST. An address that is not on loopback is
	// looked at too, because the operator wrote it.
	OllamaHost string
	// Self are the addresses Sluice itself listens at. They are never asked.
	Self []netip.AddrPort
	// Allow is told every address that is about to be asked, before it is, and
	// again whenever they change: a guard that lets nothing onto loopback opens to
	// them. They stay the same while nothing is found.
	Allow func([]netip.AddrPort)

	every  time.Duration     // tests: shorter
	within time.Duration     // tests: longer, so that a busy machine passes
	ports  map[string]uint16 // tests: other ports
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Finder looks for model servers on this machine: at the ports that they take
// by default, by the form of their answers. It sends nothing but GET requests
// without a secret. Whether to look at all is the caller's to decide, by
// running it or not.
type Finder struct {
	cfg        FinderConfig
	candidates []candidate

	looked chan struct{} // closed after the first look

	mu    sync.Mutex
	found []LocalServer
}

// NewFinder makes a finder that has found nothing yet.
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
	return &Finder{cfg: cfg, candidates: candidates(cfg), looked: make(chan struct{})}
}

// Looked is closed once the first look is over: what Found returns before is
// not yet worth a message that there is nothing.
func (f *Finder) Looked() <-chan struct{} { return f.looked }

// Run looks at once and then every 30 s, until the context ends. It is called
// once.
func (f *Finder) Run(ctx context.Context) {
	f.allow(f.Candidates())
	tick := time.NewTicker(f.cfg.every)
	defer tick.Stop()
	for first := true; ; first = false {
		f.look(ctx)
		if first {
			close(f.looked)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Found returns what the last look found, in the order of the presets.
func (f *Finder) Found() []LocalServer {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.found)
	for i := range out {
		out[i].Models = slices.Clone(out[i].Models)
	}
	return out
}

// Candidates are the addresses that Run asks, as far as they are known yet.
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

// allow passes on the addresses of the servers that were found. Requests to private
// addresses are blocked unless they are permitted this way.
func (f *Finder) allow(addrs []netip.AddrPort) {
	if f.cfg.Allow != nil {
		f.cfg.Allow(addrs)
	}
}

// places returns the candidates, those with a name looked up again.
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

// address looks a name up; without one that is not Sluice's own it is not valid
// and is not asked.
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

// look asks all candidates at the same time.
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
		return // what did not answer was not asked to the end
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

// ask returns the server at a candidate, nil if no server of its kind responds.
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
