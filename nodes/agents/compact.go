package agents

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers"
)

// A conversation that grows too long for the model is compacted between two turns: results of old turns become
// marks, or a summary replaces these turns. Only what is sent changes, never what is recorded. Each
// compaction changes the beginning of all later requests, for which providers then have no cache. So it removes
// enough that the next one is far away.

const (
	// keptTurns is the number of newest turns that are never compacted.
	keptTurns = 3
	// markedBytes is the size of results that are not worth a mark.
	markedBytes = 512
)

// part is a settled turn within agent.items.
type part struct {
	from  int // index of its first item
	calls []keptCall
}

// keptCall is a result within agent.items.
type keptCall struct {
	item       int // index
	name, tool string
}

// summary is the sub-step that summarizes old turns.
type summary struct {
	name string // of the sub-step
	old  int    // number of parts that it replaces
}

// summarize is the request for a summary.
const summarize = "The conversation has become too long. Summarize it, so that you can continue the task without it: what was asked, what you did and found out with exact names, numbers and identifiers, " +
	"what failed, and what is left to do. Do not claim anything that is not in the conversation. Answer with the summary only."

// compactAt returns the number of tokens from which on the conversation is compacted.
func (a *agent) compactAt() int64 {
	typed, _ := flow.Float(a.in.Config["compact_at"])
	return cmp.Or(int64(typed), a.Room(a.in.Text("model")))
}

// compact makes room if the conversation is too long. It either replaces old results by marks, or sets
// a.summary, or does nothing, which is all that it does when little could be removed.
func (a *agent) compact() {
	most := a.compactAt()
	if old := len(a.parts) - keptTurns; old > 0 && a.base+a.tokens > most {
		before := a.parts[old].from
		freed := a.markable(before) / bytesPerToken
		switch total := a.base + a.tokens; {
		case total-freed <= most*3/4:
			a.mark(before)
		case a.ending == "" && sizeOf(a.items[:before])/bytesPerToken >= most/4:
			a.summary = &summary{name: strconv.Itoa(a.turn-1) + "s", old: old}
		case freed >= most/8:
			a.mark(before)
		}
	}
}

// sizeOf returns the bytes of items.
func sizeOf(items []providers.Item) (n int64) {
	for i := range items {
		n += int64(len(flow.EncodeJSON(items[i])))
	}
	return n
}

// oldCalls yields the calls before an item whose results are worth a mark.
func (a *agent) oldCalls(before int) func(yield func(c keptCall) bool) {
	return func(yield func(c keptCall) bool) {
		for i := range a.parts {
			for _, c := range a.parts[i].calls {
				if c.item < before && len(a.items[c.item].Result.Text) > markedBytes && !yield(c) {
					return
				}
			}
		}
	}
}

// markable returns the bytes of the results before an item that marks would free.
func (a *agent) markable(before int) (n int64) {
	for c := range a.oldCalls(before) {
		n += int64(len(a.items[c.item].Result.Text) - len(a.markOf(c)))
	}
	return n
}

// markOf returns what stands for a result.
func (a *agent) markOf(c keptCall) string {
	return fmt.Sprintf("[result of %s, %s: %s]", a.in.Path+"."+c.name, flow.Size(int64(len(a.fullResult(c).Text))), readResultTool.Name)
}

// fullResult returns a result, also of one that was cut.
func (a *agent) fullResult(c keptCall) *providers.ToolResult {
	return cmp.Or(a.results[c.name], a.items[c.item].Result)
}

// mark replaces the results before an item by marks. Items are shared with the steps of earlier turns, so it
// changes copies.
func (a *agent) mark(before int) {
	a.items, a.results = slices.Clone(a.items), maps.Clone(a.results)
	for c := range a.oldCalls(before) {
		text := a.markOf(c)
		a.results[c.name] = a.fullResult(c)
		result := *a.items[c.item].Result
		result.Text, result.Untrusted = text, false
		a.items[c.item].Result = &result
	}
	a.tokens = sizeOf(a.items) / bytesPerToken
	a.hash = value.Hash([]any{a.hash, "marks", before})
}

// summaryStep returns the sub-step that summarizes old turns. Its request begins with that of an earlier turn.
func (a *agent) summaryStep() flow.SubStep {
	items := a.items[:a.parts[a.summary.old].from]
	sub := a.modelStep(a.summary.name, append(slices.Clip(items), providers.Item{Type: providers.ItemText, Role: "user", Text: summarize}), providers.ChoiceNone)
	delete(sub.Config, "schema")
	return sub
}

// useSummary replaces old turns by their summary and the list of their results.
func (a *agent) useSummary(r *flow.SubResult) error {
	text := strings.TrimSpace(flow.Text(r.Outputs["text"]))
	if text == "" {
		return flow.Errorf(flow.CodeOutputInvalid, "The model gave no summary of the conversation, which has become too long. Raise compact_at, or give the agent less to read.")
	}
	old := a.parts[a.summary.old]
	a.results = maps.Clone(a.results)
	var left []string
	for i := range a.parts[:a.summary.old] {
		for _, c := range a.parts[i].calls {
			full := a.fullResult(c)
			a.results[c.name] = full
			left = append(left, fmt.Sprintf("- %s of %s, %s", a.in.Path+"."+c.name, c.tool, flow.Size(int64(len(full.Text)))))
		}
	}
	a.left = append(slices.Clip(a.left), left...)
	item := providers.Item{Type: providers.ItemText, Role: "user", Text: "Summary of the conversation so far, written by you:\n\n", Untrusted: a.untrusted}
	if a.untrusted {
		item.Text += flow.Enclose(text)
	} else {
		item.Text += text
	}
	if len(a.left) > 0 {
		item.Text += fmt.Sprintf("\n\nResults of calls that are left out; read them with %s instead of calling again:\n%s", readResultTool.Name, strings.Join(a.left, "\n"))
	}
	a.items = append([]providers.Item{item}, a.items[old.from:]...)
	parts := slices.Clone(a.parts[a.summary.old:])
	for i := range parts {
		parts[i] = parts[i].move(1 - old.from)
	}
	a.parts, a.summary = parts, nil
	a.tokens = sizeOf(a.items) / bytesPerToken
	a.hash = value.Hash([]any{a.hash, "summary", text})
	a.usage = a.usage.Add(r.Usage)
	return nil
}

// move returns a part whose items moved by n.
func (p part) move(n int) part {
	p.from, p.calls = p.from+n, slices.Clone(p.calls)
	for i := range p.calls {
		p.calls[i].item += n
	}
	return p
}
