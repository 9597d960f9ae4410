// Package metrics has what Prometheus and operators read about a process. It observes the queues, the requests and the database, and
// knows nothing about how they are put together.
package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/db"
	"sluice/db/core"
	"sluice/flow"
	"sluice/jobs"
)

// Metrics are the Prometheus metrics of the process. Labels have few values (states
// and error codes), never IDs: each combination costs memory here and in Prometheus.
type Metrics struct {
	registry   *prometheus.Registry
	runs       *prometheus.CounterVec
	children   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	deliveries *prometheus.CounterVec
	refused    *prometheus.CounterVec
	turns      *prometheus.CounterVec
	calls      *prometheus.CounterVec
	unknown    prometheus.Counter
	steps      *prometheus.CounterVec
	models     *modelMetrics
	flows      *labelSet // slugs; nil without that label
	server     *http.Server
}

// New registers the metrics. Open runs are counted by a query at every scrape, so the
// number is correct after a restart and the same at every instance. All other metrics
// cover this process.
//
// byFlow adds the slug of the flow to the metrics of runs. Every series with few labels exists from the start, at 0: an alert on its
// increase would miss the first event otherwise.
func New(store *db.Store, byFlow bool) *Metrics {
	of := func(labels ...string) []string { return labels }
	if byFlow {
		of = func(labels ...string) []string { return append(labels, "flow") }
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_runs_ended_total", Help: "Runs that ended, by state and error code."}, of("state", "code")),
		children: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_child_runs_ended_total", Help: "Runs that ended and were started by a step of another run, by state and error code."}, of("state", "code")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_run_duration_seconds", Help: "Time from accepting a run to its end.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}, of()),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_steps_ended_total", Help: "Steps that ended, by kind of node, state and error code."}, []string{"kind", "state", "code"}),
		models: newModelMetrics(),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_delivery_attempts_total", Help: "Webhook attempts, by the resulting state of the delivery."}, []string{"state"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_starts_refused_total", Help: "Starts and reruns that did not become a run, by error code."}, []string{"code"}),
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_agent_turns_ended_total", Help: "Turns and summaries of agents that ended, by state and error code."}, []string{"state", "code"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_agent_calls_ended_total", Help: "Calls of tools that ended, by state and error code."}, []string{"state", "code"}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_agent_unknown_outcomes_total", Help: "Calls of tools that may have taken effect, because a crash or a lost answer hid their outcome."}),
	}
	read := func(count func(context.Context) (int64, error)) func() float64 {
		return func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			n, err := count(ctx)
			if err != nil {
				return 0
			}
			return float64(n)
		}
	}
	if byFlow {
		m.flows = newLabelSet(maxFlowLabels)
	}
	m.models.register(m.registry)
	m.registry.MustRegister(m.steps, m.runs, m.children, m.duration, m.deliveries, m.refused, m.turns, m.calls, m.unknown, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, state := range []flow.RunState{flow.RunQueued, flow.RunRunning, flow.RunWaiting} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_open_runs", Help: "Runs that have not ended, by state.", ConstLabels: prometheus.Labels{"state": string(state)}},
			read(func(ctx context.Context) (int64, error) { return store.CountOpenRuns(ctx, state) })))
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_damaged_rows", Help: "Stored rows that background work passes over, because they cannot be read or processed, and indexes that were damaged in the last day."}, read(store.CountDamaged)))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_expired_runs", Help: "Runs that are past their retention and not erased yet, at most 100,000."},
		read(func(ctx context.Context) (int64, error) { b, err := store.Backlog(ctx); return b.Runs, err })))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_retention_delay_seconds", Help: "How long the oldest run that is past its retention has been so."},
		read(func(ctx context.Context) (int64, error) {
			b, err := store.Backlog(ctx)
			return int64(b.Delay.Seconds()), err
		})))
	m.replica(store, read)
	return m
}

// replica registers the metrics of the replica for lists, if there is one.
func (m *Metrics) replica(store *db.Store, read func(func(context.Context) (int64, error)) func() float64) {
	if store.Config.ReadDatabaseURL == "" {
		return
	}
	reads := func(from string, of func(core.ReplicaState) int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_list_reads_total", Help: "Lists and reports that were read while a replica is configured, by the database that answered.", ConstLabels: prometheus.Labels{"from": from}},
			read(func(ctx context.Context) (int64, error) { s, _ := core.ReplicaOf(ctx, store.DB); return of(s), nil })))
	}
	reads("replica", func(s core.ReplicaState) int64 { return s.Used })
	reads("primary", func(s core.ReplicaState) int64 { return s.Skipped })
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_replica_delay_seconds", Help: "How far the replica for lists is behind; 0 if it has everything."},
		read(func(ctx context.Context) (int64, error) {
			s, err := core.ReplicaOf(ctx, store.DB)
			return int64(s.Behind.Seconds()), err
		})))
}

// Observe counts an event of package jobs. It is called for every run and must be fast, so
// it only increments counters in memory.
func (m *Metrics) Observe(o jobs.Observation) {
	switch {
	case o.Rejected != "":
		m.refused.WithLabelValues(string(o.Rejected)).Inc()
		return
	case o.Step != nil:
		m.observeStep(o.Step)
		return
	case o.Run == nil:
		m.deliveries.WithLabelValues(string(o.Delivery)).Inc()
		return
	}
	code := ""
	if o.Run.Error != nil {
		code = string(o.Run.Error.Code)
	}
	labels := []string{string(o.Run.State), code}
	if m.flows != nil {
		labels = append(labels, m.flows.of(cmp.Or(o.Run.FlowSlug, string(o.Run.FlowID))))
	}
	if o.Run.Caller != nil {
		m.children.WithLabelValues(labels...).Inc()
		return
	}
	m.runs.WithLabelValues(labels...).Inc()
	m.duration.WithLabelValues(labels[2:]...).Observe(o.Latency.Seconds())
}

// observeStep counts an ended step and, in an agent, a turn or call. Questions to people are neither.
func (m *Metrics) observeStep(s *flow.Step) {
	code := flow.Code("")
	if s.Error != nil && s.State == flow.StepFailed {
		code = s.Error.Code
	}
	m.steps.WithLabelValues(s.Kind, string(s.State), string(code)).Inc()
	if s.State == flow.StepReused {
		return
	}
	m.models.observe(s)
	switch strings.Count(s.Path, flow.SubSeparator) {
	case 1:
		m.turns.WithLabelValues(string(s.State), string(code)).Inc()
	case 2:
		m.calls.WithLabelValues(string(s.State), string(code)).Inc()
		if code == flow.CodeOutcomeUnknown {
			m.unknown.Inc()
		}
	}
}

// Serve serves /metrics and Go's profiles on a separate listener, which only
// operators should reach: it has no authentication, and profiles reveal internals. An
// empty address disables it.
func (m *Metrics) Serve(addr string, failed chan<- error) error {
	if addr == "" {
		return nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("SLUICE_METRICS_ADDR: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := m.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("the metrics server stopped: %w", err)
		}
	}()
	return nil
}

// Close stops serving metrics, if it was started.
func (m *Metrics) Close() {
	if m.server != nil {
		_ = m.server.Close() // nothing is lost with it
	}
}
