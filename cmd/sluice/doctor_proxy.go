package main

import (
	"context"
	"time"
)

// metadataAddress is where clouds answer with the credentials of the machine. No proxy should connect to it.
const metadataAddress = "169.254.169.254:80"

// proxyTimeout bounds the requests to the proxy.
const proxyTimeout = 10 * time.Second

// proxy reports whether the proxy can be reached, and whether it connects to private addresses. Names that do not resolve
// on this machine are checked only by the proxy.
func (f *findings) proxy(ctx context.Context, c *Config) {
	p, err := c.proxy()
	if p == nil || err != nil { // the configuration was checked before
		return
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	if err := p.Reachable(ctx); err != nil {
		f.add("proxy", verdictBad, "Check SLUICE_PROXY.", "%s cannot be reached: %v.", p.Address(), err)
		return
	}
	if err := p.Probe(ctx, metadataAddress); err == nil && !p.Strict {
		f.add("proxy", verdictBad, "Let the proxy refuse private and link-local addresses, or set SLUICE_PROXY_STRICT=on.", "%s connects to %s, from which flows could read the credentials of its machine.", p.Address(), metadataAddress)
		return
	}
	f.add("proxy", verdictOK, "", "Requests leave through %s.", p.Address())
}
