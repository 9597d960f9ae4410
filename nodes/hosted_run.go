package nodes

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sluice/flow"
	"sluice/nodes/pinned"
	"sluice/providers"
	"sluice/providers/hosted"
)

// timing holds the intervals and limits for following a prediction. Tests use
// shorter ones.
type timing struct {
	first, most time.Duration // pause between two polls, growing from first to most
	held        time.Duration // how long a step keeps its worker for one prediction
	spoken      time.Duration // the same while text is streamed, since the step began
	rest, rests time.Duration // suspension between two polls, growing from rest to rests
	give        time.Duration // a prediction that runs longer is canceled
	grace       time.Duration // how long an interrupted start may still take to return the ID
}

// defaultTiming polls often at first, because many models finish within a second.
// rest is longer than flow.HeldBackoff, because shorter suspensions keep the worker,
// and much shorter than the hour for which the platform keeps an output. spoken
// is half of the step's time limit, so that even endless text leaves time to suspend
// the step.
var defaultTiming = timing{
	first: 500 * time.Millisecond, most: 5 * time.Second, held: time.Minute, spoken: flow.ModelTimeout / 2,
	rest: flow.HeldBackoff + time.Second, rests: time.Minute,
	give: 24 * time.Hour, grace: time.Second,
}

// maxBadAnswers is the number of consecutive malformed responses, or responses that the
// prediction does not exist, after which polling fails. The platform may answer 404 for a
// moment after a prediction was created.
const maxBadAnswers = 5

// hostedStep is the state of a running step. state is what survives a crash;
// the rest is rebuilt from the node.
type hostedStep struct {
	host       hosted.Host
	pace       timing
	in         *flow.In
	m          *target
	pin        *pinned.Pin // nil: the node stores no schema
	began      time.Time
	maxFile    int64 // bytes
	state      predictionState
	uploaded   map[string]string // URLs by file ID
	badAnswers int               // consecutive malformed responses and 404s
	lost       bool              // a prediction may have been charged, at an unknown cost
}

// run starts a prediction, or continues the one whose ID an earlier attempt stored, and waits
// until it ends.
func (h *hostedModels) run(ctx context.Context, in *flow.In) (flow.Out, error) {
	if h.deps.Host == nil || h.deps.Models == nil {
		return flow.Out{}, errAbsent
	}
	s, err := h.open(ctx, in)
	if err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return flow.Out{}, err
	}
	var p *hosted.Prediction
	if state, known := readState(in.State); known {
		s.state = state
		p, err = s.poll(ctx)
	} else {
		p, err = s.begin(ctx, h.deps.Models)
	}
	if err != nil {
		return s.lostUsage(), err
	}
	return s.follow(ctx, p)
}

// lostUsage returns the usage of a step that failed: none, or an unknown one if a prediction may
// have been charged.
func (s *hostedStep) lostUsage() (out flow.Out) {
	if s.lost {
		s.m.charge(&out, providers.Usage{Incomplete: true}, 0)
	}
	return out
}

// open resolves the model and the credential.
func (h *hostedModels) open(ctx context.Context, in *flow.In) (*hostedStep, error) {
	ref, err := pinned.Ref(in.Config)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%v", err)
	}
	s := &hostedStep{host: h.deps.Host, pace: h.pace, in: in, began: time.Now(), maxFile: cmp.Or(h.deps.MaxFile, 512<<20), m: &target{ref: hostProvider + "/" + ref.Path(), model: ref.String()}}
	if err := s.m.open(ctx, in, hostProvider, taskHosted); err != nil {
		return nil, err
	}
	if host := hostOf(s.host.Address()); s.m.preset.Wire != providers.WireHost || !s.m.access.May(host) {
		return nil, flow.Errorf(flow.CodeProviderAuth, "The credential %q may not be sent to %s. Choose one for %s, or add the host to it.", s.m.access.Name, host, hostProvider)
	}
	return s, nil
}

// prepare reads the stored schema and the price before anything is charged.
func (s *hostedStep) prepare(ctx context.Context) (err error) {
	if schema := s.in.Config["schema"]; schema != nil {
		pin, why := pinned.Read(schema)
		if why != "" {
			return flow.Errorf(flow.CodeModelIncompatible, "The schema of the node cannot be used: %s.", why)
		}
		s.pin = pin
	}
	return s.m.findPrice(ctx, s.in)
}

// begin starts a prediction and returns once its ID is on disk. From then on a
// crash cannot make the step pay twice.
func (s *hostedStep) begin(ctx context.Context, models HostedModels) (*hosted.Prediction, error) {
	ref, official, form, err := s.describe(ctx, models)
	if err != nil {
		return nil, err
	}
	if form.Incompatible != "" {
		return nil, flow.Errorf(flow.CodeModelIncompatible, "%s Model: %s.", form.Incompatible, s.m.ref)
	}
	input, err := s.input(ctx, form)
	if err != nil {
		return nil, err
	}
	p, err := s.start(ctx, hosted.StartRequest{
		Ref: ref, Official: official, Input: input, Stream: form.Output.Type == hosted.OutputText,
		Wait:        time.Duration(s.in.Int("hold_s")) * time.Second,
		CancelAfter: s.pace.give, // a safety net if its ID is lost
	})
	if err != nil {
		s.lost = providers.Lost(err)
		return nil, s.m.failed(ctx, err)
	}
	s.state = predictionState{id: p.ID, stream: p.StreamURL, begun: s.in.Now(), kind: form.Output.Type, joined: form.Output.Joined}
	if err := s.in.Save(ctx, s.state.value()); err != nil {
		if errors.Is(err, flow.ErrNotSaved) { // otherwise another worker may continue it
			s.cancelLost(ctx)
		}
		return nil, err
	}
	return p, nil
}

// describe returns the version and the form, from the node's stored schema or
// else from the platform.
func (s *hostedStep) describe(ctx context.Context, models HostedModels) (hosted.Ref, bool, *hosted.Form, error) {
	ref, err := pinned.Ref(s.in.Config)
	if err != nil || s.pin != nil {
		return ref, s.pin != nil && s.pin.Official, s.pin.FormOrNil(), err
	}
	m, err := models.Resolve(ctx, s.m.access.Secret, ref.String())
	if err != nil {
		return ref, false, nil, s.m.failed(ctx, err)
	}
	return m.Ref, m.Official, hosted.NewForm(m), nil
}

// start creates the prediction. When ctx ends during the request, start waits
// another pace.grace for the ID: without the ID the prediction could not be
// canceled.
func (s *hostedStep) start(ctx context.Context, r hosted.StartRequest) (*hosted.Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	longer, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.pace.grace, stop) })()
	return s.host.Start(longer, s.m.access.Secret, r)
}

// cancelTimeout bounds the request that cancels a prediction whose ID could not
// be stored. During a shutdown only half a second is left; a prediction that
// survives it is canceled by the platform after pace.give.
const cancelTimeout = 5 * time.Second

// cancelLost cancels a prediction that no later attempt could find, because its ID could not be
// stored or the platform does not find it.
func (s *hostedStep) cancelLost(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer stop()
	_ = s.host.Cancel(ctx, s.m.access.Secret, s.state.id) // best effort: the step fails anyway
}

// follow waits for the prediction to end. It holds the worker for pace.held, or
// while text arrives, and then suspends the step.
func (s *hostedStep) follow(ctx context.Context, p *hosted.Prediction) (flow.Out, error) {
	live := s.listen(ctx)
	defer live.stop()
	since := time.Now()
	for pause := s.pace.first; ; pause = min(pause*3/2, s.pace.most) {
		if p != nil && p.State.Ended() {
			return s.finish(ctx, p)
		}
		quiet := time.Since(since) >= s.pace.held && !live.isActive(s.pace.most)
		if s.state.rests > 0 || quiet || time.Since(s.began) >= s.pace.spoken {
			return s.suspend()
		}
		if err := live.wait(ctx, pause); err != nil {
			return flow.Out{}, err
		}
		var err error
		if p, err = s.poll(ctx); err != nil {
			return s.lostUsage(), err
		}
	}
}

// poll reads the prediction. It returns nil, nil after a transient failure: the
// prediction is being paid for, so only the time limit may end the wait.
func (s *hostedStep) poll(ctx context.Context) (*hosted.Prediction, error) {
	p, err := s.host.Poll(ctx, s.m.access.Secret, s.state.id)
	e, ok := errors.AsType[*providers.Error](err)
	switch {
	case err == nil:
		s.badAnswers = 0
		return p, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case ok && (e.Class == providers.ClassBadAnswer || e.Class == providers.ClassNotFound) && s.badAnswers < maxBadAnswers:
		s.badAnswers++
		return nil, nil
	case ok && e.Retryable:
		return nil, nil
	case ok && e.Class == providers.ClassNotFound:
		s.lost = !s.state.counted
		s.cancelLost(ctx) // it may run anyway
		if err := s.in.Save(ctx, nil); err != nil {
			return nil, err
		}
		return nil, flow.Errorf(flow.CodeProviderRejected, "Replicate no longer has the prediction %s, or the credential may not read it. Model: %s.", s.state.id, s.m.ref)
	}
	return nil, s.m.failed(ctx, err)
}

// suspend suspends the step, which releases the worker. After pace.give it fails
// the step instead, and the engine cancels the prediction.
func (s *hostedStep) suspend() (flow.Out, error) {
	now := s.in.Now()
	if now.Sub(s.state.begun) >= s.pace.give {
		return flow.Out{}, flow.Errorf(flow.CodeStepTimeout, "The prediction was canceled because it took longer than %s. Model: %s.", s.pace.give, s.m.ref)
	}
	rest := min(s.pace.rest+time.Duration(s.state.rests)*time.Second, s.pace.rests)
	s.state.rests++
	return flow.Out{Suspend: &flow.Suspension{Until: now.Add(rest), State: s.state.value()}}, nil
}

// predictionState is stored with the step. It identifies the prediction and
// holds what is needed to convert its output without reading the model again.
type predictionState struct {
	id, stream string
	begun      time.Time
	rests      int // number of suspensions so far
	kind       hosted.OutputType
	joined     bool
	counted    bool // the usage was already recorded by a failed attempt
}

// value returns the state as it is stored with the step.
func (p predictionState) value() any {
	return map[string]any{"prediction": p.id, "stream": p.stream, "begun": flow.Number(p.begun.Unix()),
		"rests": flow.Number(p.rests), "kind": string(p.kind), "joined": p.joined, "counted": p.counted}
}

// readState reads a stored state; known is false for a step that has not begun a prediction.
func readState(value any) (p predictionState, known bool) {
	m, _ := flow.AsMap(value)
	begun, _ := flow.Float(m["begun"])
	rests, _ := flow.Float(m["rests"])
	p = predictionState{id: flow.Text(m["prediction"]), stream: flow.Text(m["stream"]), begun: time.Unix(int64(begun), 0),
		rests: int(rests), kind: hosted.OutputType(flow.Text(m["kind"])), joined: m["joined"] == true, counted: m["counted"] == true}
	return p, p.id != ""
}
