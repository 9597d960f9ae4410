package cases

import (
	"fmt"
	"regexp"
	"time"

	"sluice/flow"
)

// RecordingSchema is the schema of files with one recorded result.
const RecordingSchema = "sluice.recording/v1"

// MaxRecordings is how many recordings a request adds at most.
const MaxRecordings = 1_000

// RecordingObject returns the JSON of a recording, which names neither its flow nor the run that made it.
func RecordingObject(r *flow.Recording) *flow.Object {
	o, used := &flow.Object{}, &flow.Object{}
	o.Set("schema", RecordingSchema)
	o.Set("node", r.Node)
	o.Set("node_hash", r.NodeHash)
	o.Set("input_hash", r.InputHash)
	if r.Repeat > 0 {
		o.Set("repeat", flow.Number(r.Repeat))
	}
	if len(r.Input) > 0 {
		o.Set("input", r.Input)
	}
	outputs := r.Outputs
	if outputs == nil {
		outputs = map[string]any{}
	}
	o.Set("outputs", outputs)
	if r.Untrusted {
		o.Set("untrusted", true)
	}
	for _, m := range []struct {
		name string
		n    int64
	}{
		{"input_tokens", r.Usage.InputTokens}, {"output_tokens", r.Usage.OutputTokens}, {"cached_tokens", r.Usage.CachedTokens}, {"reasoning_tokens", r.Usage.ReasoningTokens},
		{"nano_usd", int64(r.Usage.CostNanoUSD)}, {"us", r.Duration.Microseconds()},
	} {
		if m.n != 0 {
			used.Set(m.name, flow.Number(m.n))
		}
	}
	if used.Len() > 0 {
		o.Set("used", used)
	}
	return o
}

var validHash = regexp.MustCompile(`^[0-9a-f]{16,128}$`)

// ParseRecording reads the JSON of a recording. Pointers of problems start at the recording.
func ParseRecording(v any) (*flow.Recording, []flow.Problem) {
	p := newParser(v, "a recording", nil)
	if p.o == nil {
		return nil, p.problems
	}
	r := &flow.Recording{Node: p.text("node"), NodeHash: p.text("node_hash"), InputHash: p.text("input_hash"), Untrusted: p.boolean("untrusted")}
	if schema := p.text("schema"); schema != RecordingSchema {
		p.fail("invalid", "must be "+RecordingSchema, "schema")
	}
	if r.Node == "" || len(r.Node) > maxText {
		p.fail("invalid", fmt.Sprintf("must have 1 to %d characters", maxText), "node")
	}
	for _, name := range []string{"node_hash", "input_hash"} {
		if !validHash.MatchString(p.text(name)) {
			p.fail("invalid", "must be a hash as in a recording that Sluice wrote", name)
		}
	}
	if n, has := p.number("repeat", 0, MaxRepeats-1); has {
		r.Repeat = int(n)
	}
	r.Input, r.Outputs = p.object("input").Map(), p.object("outputs").Map()
	used := newParser(p.object("used"), "what was used", nil)
	whole := func(name string) int64 {
		n, _ := used.number(name, 0, 1<<50)
		return int64(n)
	}
	r.Usage = flow.Usage{InputTokens: whole("input_tokens"), OutputTokens: whole("output_tokens"), CachedTokens: whole("cached_tokens"), ReasoningTokens: whole("reasoning_tokens"), CostNanoUSD: flow.NanoUSD(whole("nano_usd"))}
	r.Duration = time.Duration(whole("us")) * time.Microsecond
	return r, append(p.end(""), used.end("/used")...)
}
