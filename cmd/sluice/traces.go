package main

import (
	"context"
	"net/netip"
	"os"

	"sluice/cmd/sluice/metrics"
	"sluice/flow"
	"sluice/handlers/web"
	"sluice/jobs"
	"sluice/outbound"
	"sluice/telemetry"
)

// traces returns where traces are sent, or nil if none are written. OpenTelemetry names the variables.
func (c *Config) traces() (*telemetry.Config, error) {
	t, err := telemetry.Load(os.Getenv)
	if t != nil {
		t.Content = c.OTelContent == "on"
	}
	return t, err
}

// everywhere are all addresses. Those that outbound never allows are excluded nevertheless.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// operatorClient returns a client for a URL that the operator has set: it uses the proxy, and may reach private networks.
func (c *Config) operatorClient() (*outbound.Client, error) {
	proxy, err := c.proxy()
	if err != nil {
		return nil, err
	}
	return outbound.New(outbound.Config{AllowPrivate: everywhere, Proxy: proxy, UserAgent: "Sluice/" + version()})
}

// startTracer starts the tracer if traces are written. An idle app executes no runs, so it has none.
func (a *app) startTracer() error {
	cfg, err := a.cfg.traces()
	if cfg == nil || err != nil || a.idle {
		return err
	}
	client, err := a.cfg.operatorClient()
	if err != nil {
		return err
	}
	a.tracer = telemetry.New(cfg, a.store, client.HTTPClient(outbound.ClientOptions{FirstByteTimeout: cfg.Timeout}), a.log, version(), a.instance)
	return nil
}

// observe connects metrics and the access log to the parts, if they are on. Without them, nothing is measured.
func (a *app) observe(kinds *flow.Registry) {
	var list []func(*web.Served)
	if a.cfg.MetricsAddr != "" && !a.idle {
		a.metrics.AddParts(&metrics.Parts{Store: a.store, Version: version(), Busy: a.runner.Busy, Workers: a.memory.Workers, DroppedSpans: a.tracer.Dropped})
		a.metrics.Prefill(kinds)
		list = append(list, a.metrics.AddRequests())
	}
	if a.cfg.AccessLog == "on" && !a.idle {
		list = append(list, func(s *web.Served) { s.Log(a.log) })
	}
	if len(list) > 0 {
		a.web.Observe = func(s *web.Served) {
			for _, f := range list {
				f(s)
			}
		}
	}
}

// jobsTracer returns the tracer, and nil without one.
func (a *app) jobsTracer() jobs.Tracer {
	if a.tracer == nil {
		return nil
	}
	return a.tracer
}

// traces reports whether the collector accepts traces.
func (f *findings) traces(ctx context.Context, c *Config) {
	cfg, err := c.traces()
	if cfg == nil || err != nil { // errors were found before
		return
	}
	client, err := c.operatorClient()
	if err != nil {
		return
	}
	defer client.Close()
	if err := telemetry.Try(ctx, client.HTTPClient(outbound.ClientOptions{FirstByteTimeout: cfg.Timeout}), cfg); err != nil {
		f.add("traces", verdictWarn, "Check OTEL_EXPORTER_OTLP_ENDPOINT and the headers. Runs work without the collector.", "Traces are not accepted: %v.", err)
		return
	}
	f.add("traces", verdictOK, "", "The collector accepts traces.")
}
