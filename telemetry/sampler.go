package telemetry

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sluice/flow/trace"
)

// Sampler decides which traces are written. All processes decide the same for a trace, because the decision follows from its
// ID or from the span above it.
type Sampler struct {
	parent bool   // a trace that came with a request is written if the caller writes it
	below  uint64 // others are written if the last 63 bits of the ID are below this
}

// everything is a bound that all IDs are below.
const everything = 1 << 63

// newSampler reads OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.
func newSampler(name, arg string) (Sampler, error) {
	if name == "" {
		name = "parentbased_always_on"
	}
	s := Sampler{}
	root, parent := strings.CutPrefix(name, "parentbased_")
	switch s.parent = parent; root {
	case "always_on":
		s.below = everything
	case "always_off":
	case "traceidratio":
		ratio := 1.0
		if arg != "" {
			var err error
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
				return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q; write a number from 0 to 1", arg)
			}
		}
		s.below = uint64(ratio * everything)
	default:
		return s, fmt.Errorf("OTEL_TRACES_SAMPLER is %q; write always_on, always_off or traceidratio, or one of these after parentbased_", name)
	}
	return s, nil
}

// writes reports whether a trace is written. remote is the span that it came with, if it came with one.
func (s Sampler) writes(id trace.ID, remote *trace.Parent) bool {
	if remote != nil && s.parent {
		return remote.Sampled
	}
	return binary.BigEndian.Uint64(id[8:])>>1 < s.below
}
