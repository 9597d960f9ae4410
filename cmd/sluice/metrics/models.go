package metrics

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/flow"
	"sluice/telemetry"
)

// Bounds of labels whose values people choose.
const (
	maxFlowLabels  = 200
	maxModelLabels = 200
	otherLabel     = "other" // takes the place of all further values
)

// labelSet bounds the values of a label. It is safe for concurrent use.
type labelSet struct {
	mu    sync.RWMutex
	known map[string]bool
	most  int
}

func newLabelSet(most int) *labelSet { return &labelSet{known: map[string]bool{}, most: most} }

// of returns a value, or otherLabel if there are too many already.
func (s *labelSet) of(value string) string {
	s.mu.RLock()
	known, full := s.known[value], len(s.known) >= s.most
	s.mu.RUnlock()
	if known {
		return value
	}
	if full {
		return otherLabel
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[value] && len(s.known) >= s.most {
		return otherLabel
	}
	s.known[strings.Clone(value)] = true
	return value
}

// modelMetrics are the metrics of calls of models, by provider and model.
type modelMetrics struct {
	known      *labelSet
	duration   *prometheus.HistogramVec
	firstChunk *prometheus.HistogramVec
	tokens     *prometheus.CounterVec
	cost       *prometheus.CounterVec
}

// modelBuckets are seconds: an answer takes from a blink to minutes.
var modelBuckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320}

func newModelMetrics() *modelMetrics {
	labels := []string{"provider", "model"}
	return &modelMetrics{
		known: newLabelSet(maxModelLabels),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_model_call_duration_seconds", Help: "Time of an attempt to call a model, pauses for rate limits excluded.", Buckets: modelBuckets}, labels),
		firstChunk: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_model_first_chunk_seconds", Help: "Time from the request to the first part of a model's answer.", Buckets: modelBuckets}, labels),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_model_tokens_total", Help: "Tokens by type: input and output; cached is a part of input, reasoning of output."}, append(labels, "type")),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_model_cost_usd_total", Help: "Known cost of calls in US dollars."}, labels),
	}
}

// register adds the metrics and makes them exist at 0.
func (m *modelMetrics) register(r *prometheus.Registry) {
	r.MustRegister(m.duration, m.firstChunk, m.tokens, m.cost)
	m.at("", "")
}

// at makes the series of a model exist.
func (m *modelMetrics) at(provider, model string) {
	m.duration.WithLabelValues(provider, model)
	m.firstChunk.WithLabelValues(provider, model)
	m.cost.WithLabelValues(provider, model)
	for _, typ := range []string{"input", "output", "cached", "reasoning"} {
		m.tokens.WithLabelValues(provider, model, typ)
	}
}

// Observe counts the attempts of an ended step that called a model.
func (m *modelMetrics) observe(s *flow.Step) {
	if !telemetry.CallsModel(s.Kind) {
		return
	}
	for _, a := range s.Tries() {
		if a.Model == "" {
			continue
		}
		provider, model := otherLabel, otherLabel
		if m.known.of(a.Model) == a.Model {
			provider, model, _ = strings.Cut(a.Model, "/")
		}
		m.at(provider, model)
		if !a.EndedAt.IsZero() {
			m.duration.WithLabelValues(provider, model).Observe(a.EndedAt.Sub(a.StartedAt).Seconds())
		}
		if a.Answer != nil && a.Answer.FirstChunkMicros > 0 {
			m.firstChunk.WithLabelValues(provider, model).Observe((time.Duration(a.Answer.FirstChunkMicros) * time.Microsecond).Seconds())
		}
		for typ, n := range map[string]int64{"input": a.InputTokens, "output": a.OutputTokens, "cached": a.CachedTokens, "reasoning": a.ReasoningTokens} {
			m.tokens.WithLabelValues(provider, model, typ).Add(float64(max(0, n)))
		}
		m.cost.WithLabelValues(provider, model).Add(max(0, a.CostNanoUSD.Dollars()))
	}
}
