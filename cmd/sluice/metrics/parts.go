package metrics

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/db"
	"sluice/flow"
	"sluice/handlers/web"
	"sluice/outbound"
)

// requestBuckets are seconds.
var requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}

// Parts are what a server's metrics read.
type Parts struct {
	Store        *db.Store
	Version      string       // of the program
	Busy         func() int   // runs that are worked on
	Workers      int          // how many can be at once
	DroppedSpans func() int64 // of traces
}

// AddParts registers the metrics of the parts of a server.
func (m *Metrics) AddParts(p *Parts) {
	gauge := func(name, help string, labels prometheus.Labels, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
	}
	counter := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
	}
	gauge("sluice_build_info", "Always 1; the labels say which program runs.", prometheus.Labels{"version": p.Version, "go": runtime.Version()}, func() float64 { return 1 })
	const workers = "Runs that this process can work on at the same time, by state."
	busy := func() float64 { return float64(min(p.Busy(), p.Workers)) }
	gauge("sluice_workers", workers, prometheus.Labels{"state": "busy"}, busy)
	gauge("sluice_workers", workers, prometheus.Labels{"state": "idle"}, func() float64 { return float64(p.Workers) - busy() })
	gauge("sluice_queue_oldest_seconds", "How long the oldest queued run has waited.", nil, age(p.Store.OldestQueued))
	gauge("sluice_delivery_oldest_seconds", "Age of the oldest webhook delivery that has not ended, those that wait for a retry included.", nil, age(p.Store.OldestDelivery))
	counter("sluice_outbound_refused_total", "Requests that were refused because their address is private or reserved.", func() float64 { return float64(outbound.Refused()) })
	counter("sluice_spans_dropped_total", "Spans of traces that were lost, because the queue was full or the collector did not take them.", func() float64 { return float64(p.DroppedSpans()) })
	m.addDatabase(p.Store, gauge)
}

// addDatabase registers the metrics of the database.
func (m *Metrics) addDatabase(store *db.Store, gauge func(name, help string, labels prometheus.Labels, read func() float64)) {
	const pool = "Connections of this process to the database, by state."
	for state, of := range map[string]func(db.PoolState) int64{
		"used": func(p db.PoolState) int64 { return p.Used }, "idle": func(p db.PoolState) int64 { return p.Idle }, "max": func(p db.PoolState) int64 { return p.Max },
	} {
		gauge("sluice_db_pool", pool, prometheus.Labels{"state": state}, func() float64 { return float64(of(store.PoolState())) })
	}
	const storage = "Bytes that are stored: by the database with its log, and by the content of all workspaces as quotas count it."
	space := cached(store.Space)
	gauge("sluice_storage_bytes", storage, prometheus.Labels{"what": "database"}, func() float64 { return float64(space().Database) })
	gauge("sluice_storage_bytes", storage, prometheus.Labels{"what": "content"}, func() float64 { return float64(space().Content) })
	commits := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "sluice_db_commit_seconds", Help: "Time of a commit of a group of writes.", Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}})
	m.registry.MustRegister(commits)
	observe := func(d time.Duration) { commits.Observe(d.Seconds()) }
	store.Committed.Store(&observe)
}

// AddRequests registers the metric of requests and returns what observes them.
func (m *Metrics) AddRequests() func(*web.Served) {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sluice_http_request_duration_seconds", Help: "Time until a request was answered; for waits and streams until their end.", Buckets: requestBuckets}, []string{"route", "method", "code"})
	m.registry.MustRegister(requests)
	for _, code := range []string{"200", "202", "429", "500", "503"} {
		requests.WithLabelValues("/v1/flow/:flow_id/run", "POST", code)
	}
	return func(s *web.Served) {
		if s.Route == "" { // nothing a stranger chooses is a label
			requests.WithLabelValues("", "", strconv.Itoa(s.Status)).Observe(s.Duration.Seconds())
			return
		}
		requests.WithLabelValues(s.Route, s.Method, strconv.Itoa(s.Status)).Observe(s.Duration.Seconds())
	}
}

// Prefill makes the series exist at 0 whose labels are known.
func (m *Metrics) Prefill(kinds *flow.Registry) {
	for _, state := range []flow.RunState{flow.RunSucceeded, flow.RunFailed, flow.RunCanceled} {
		if m.flows == nil {
			m.runs.WithLabelValues(string(state), "")
			m.children.WithLabelValues(string(state), "")
		}
	}
	if m.flows == nil {
		m.duration.WithLabelValues()
	}
	for _, state := range []flow.StepState{flow.StepSucceeded, flow.StepFailed} {
		m.turns.WithLabelValues(string(state), "")
		m.calls.WithLabelValues(string(state), "")
		for _, k := range kinds.List() {
			m.steps.WithLabelValues(k.Name, string(state), "")
		}
	}
	for _, state := range []flow.DeliveryState{flow.DeliveryDelivered, flow.DeliveryPending, flow.DeliveryFailed} {
		m.deliveries.WithLabelValues(string(state))
	}
	for _, code := range []flow.Code{flow.CodeOverloaded, flow.CodeQueueFull, flow.CodeRateLimited, flow.CodeBudgetExceeded, flow.CodeInputInvalid} {
		m.refused.WithLabelValues(string(code))
	}
}

// scrapeTime bounds a query for a scrape.
const scrapeTime = 2 * time.Second

// age reads a duration at each scrape; 0 if it cannot be read.
func age(read func(context.Context) (time.Duration, error)) func() float64 {
	return func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
		defer cancel()
		d, err := read(ctx)
		if err != nil {
			return 0
		}
		return d.Seconds()
	}
}

// cached reads a value that several series of a scrape share.
func cached[T any](read func(context.Context) (T, error)) func() T {
	var mu sync.Mutex
	var last T
	var at time.Time
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) < scrapeTime {
			return last
		}
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
		defer cancel()
		if v, err := read(ctx); err == nil {
			last, at = v, time.Now()
		}
		return last
	}
}
