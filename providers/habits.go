package providers

import (
	"sync"
	"time"

	"sluice/flow/cache"
)

// Limits of what is remembered about models.
const (
	habitsKept = 24 * time.Hour // a provider may support more tomorrow
	maxHabits  = 1024           // models
)

// habits remembers for a day which features models refuse, so that only the first of many
// requests is sent twice. It is safe for concurrent use.
type habits struct {
	now func() time.Time

	mu     sync.Mutex
	models cache.Cache[habitOf, habit]
}

// habitOf is a model at an endpoint.
type habitOf struct{ provider, base, model string }

// habit is what is remembered about a model.
type habit struct {
	off   feature
	until time.Time
}

// newHabits returns an empty memory.
func newHabits() *habits {
	return &habits{now: time.Now, models: cache.New[habitOf, habit](maxHabits)}
}

// find returns the features that a model refuses.
func (h *habits) find(model habitOf) feature {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.models.Get(model)
	if !ok || !h.now().Before(known.until) {
		return 0
	}
	return known.off
}

// add remembers features that a model refused, for a day from the first.
func (h *habits) add(model habitOf, off feature) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.models.Get(model)
	if !ok || !h.now().Before(known.until) {
		known = habit{until: h.now().Add(habitsKept)}
	}
	known.off |= off
	h.models.Add(model, known)
}

// recall returns the dialect of a model: the preset's without what the model refused before.
func (c *conversation) recall() dialect {
	s := c.session
	off := s.habits.find(c.habitOf())
	d := dialect{off: off, schema: s.preset.Schema, maxTokens: s.preset.MaxTokens, streamUsage: s.preset.StreamUsage && off&featUsage == 0,
		adaptive: off&featBudget != 0 || off&featAdaptive == 0 && c.ThinkingBudget == 0}
	if off&featLimit != 0 {
		d.maxTokens = otherName(d.maxTokens)
	}
	return d
}

// learn remembers what had to be left out of a request that then succeeded.
func (c *conversation) learn() {
	if off := c.dialect.off &^ c.first.off &^ c.dialect.doubtful &^ passing; off != 0 {
		c.session.habits.add(c.habitOf(), off)
	}
}

// habitOf returns the model of a conversation.
func (c *conversation) habitOf() habitOf {
	return habitOf{c.session.preset.Name, c.session.base.String(), c.Model}
}
