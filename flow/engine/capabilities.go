package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/redaction"
	"sluice/flow/sorting"
)

// cleanupTimeout bounds how long the kinds of abandoned steps may take to clean up in
// external services.
const cleanupTimeout = 10 * time.Second

// bindCapabilities sets the functions by which a step reaches secrets, files, approvals and
// subscribers. It returns a redactor that knows every secret that the run has used and the texts
// that the step used as secrets, and a function that flushes streamed text that was held back as
// the possible start of a secret.
func (c *execution) bindCapabilities(ctx context.Context, a Action) (secrets *redaction.Redactor, flushText func()) {
	in, n := a.In, a.def
	secrets = redaction.Within(c.secrets)
	in.Secret = func(ctx context.Context, value any, host string) (string, error) {
		if name, isInput := flow.SecretInput(value); isInput {
			secret, err := c.secretInput(ctx, in, n, name, host)
			c.secrets.Add(secret)
			return secret, err
		}
		name, isRef := flow.SecretRef(value)
		if !isRef { // the secret itself arrived through an edge, so other steps have it as data
			secrets.Add(flow.Text(value))
			return flow.Text(value), nil
		}
		if err := n.checkCredential(name); err != nil {
			return "", err
		}
		secret, err := c.Secrets.Secret(ctx, in.WorkspaceID, name, host)
		c.secrets.Add(secret)
		return secret, err
	}
	in.Access = func(ctx context.Context, provider string, ref any) (flow.Access, error) {
		if name, isRef := flow.SecretRef(ref); isRef {
			if err := n.checkCredential(name); err != nil {
				return flow.Access{}, err
			}
		}
		access, err := c.Secrets.Access(ctx, in.WorkspaceID, provider, ref)
		c.secrets.Add(access.Secret)
		return access, err
	}
	v := &emitter{secrets: secrets, emit: func(text string) {
		if c.Emit != nil && ctx.Err() == nil {
			c.Emit(in.RunID, in.Path, in.Attempt, text)
		}
	}}
	in.Emit = v.write
	in.Price = c.attemptPrices(in.WorkspaceID)
	in.Clock, in.Sessions = c.Now, &c.sessions
	in.Save = func(ctx context.Context, state any) error { return c.save(ctx, a, state) }
	in.OpenFile = func(ctx context.Context, value any) (*flow.File, io.ReadSeekCloser, error) {
		id, ok := flow.FileID(value)
		if !ok {
			return nil, nil, flow.Errorf(flow.CodeInputInvalid, "Wanted a file such as {\"file\": \"file_…\"}, got %s.", flow.TypeOf(value))
		}
		f, content, err := c.Files.OpenFile(ctx, in.WorkspaceID, id)
		if flow.IsNotFound(err) {
			err = flow.Errorf(flow.CodeInputInvalid, "The file %s does not exist any more. Upload it again.", id)
		}
		return f, content, err
	}
	in.SaveFile = func(ctx context.Context, name, mime string, content io.Reader) (map[string]any, error) {
		f, err := c.Files.SaveFile(ctx, flow.NewFile{WorkspaceID: in.WorkspaceID, RunID: in.RunID, Name: name, MIME: mime}, content)
		if err != nil {
			return nil, err
		}
		return f.Value(), nil
	}
	in.AskApproval = func(ctx context.Context, q flow.Question, expires time.Time) (link string, err error) {
		return c.Approvals.AskApproval(ctx, &flow.Approval{
			WorkspaceID: in.WorkspaceID, FlowID: in.FlowID, RunID: in.RunID, Path: in.Path, Node: in.Node, Question: q, ExpiresAt: expires,
		})
	}
	in.TakeDecision = func(ctx context.Context) (*flow.Decision, error) {
		return c.Approvals.TakeDecision(ctx, in.WorkspaceID, in.RunID, in.Path, c.Now())
	}
	if c.Children != nil {
		in.Children = c.Children(&c.plan.run, in)
	}
	in.Origin = func(ctx context.Context) (flow.Origin, error) { return c.Origin(ctx, &c.plan.run, in.Path) }
	in.Boundary = func(ctx context.Context) (string, error) {
		if c.Boundary == nil {
			return "", errors.New("the engine has no boundary for content from outside")
		}
		return c.Boundary(ctx, &c.plan.run, in.Node)
	}
	in.Widened = func(ctx context.Context) (map[string][]string, error) {
		if c.Widened == nil {
			return nil, nil
		}
		return c.Widened(ctx, &c.plan.run)
	}
	in.FetchFile = func(ctx context.Context, place string, f flow.RemoteFile, accepts func(*flow.File) error) (map[string]any, error) {
		return c.fetchFile(ctx, in, place, f, accepts)
	}
	return secrets, v.flush
}

// attemptPrices returns the function by which an attempt finds prices. It reads the price of a model once, so that the reservation and the
// cost of an attempt follow from the same price. A kind may call it from several goroutines.
func (c *execution) attemptPrices(ws flow.WorkspaceID) func(ctx context.Context, model string) (flow.Price, bool, error) {
	type found struct {
		price flow.Price
		known bool
	}
	var mu sync.Mutex
	prices := map[string]found{}
	return func(ctx context.Context, model string) (flow.Price, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if p, is := prices[model]; is {
			return p.price, p.known, nil
		}
		price, known, err := c.Prices.FindPrice(ctx, ws, model)
		if err == nil {
			prices[model] = found{price, known}
		}
		return price, known, err
	}
}

// priceFunc is the price store of one attempt, whose workspace is known.
type priceFunc func(ctx context.Context, model string) (flow.Price, bool, error)

// FindPrice implements flow.PriceStore.
func (f priceFunc) FindPrice(ctx context.Context, _ flow.WorkspaceID, model string) (flow.Price, bool, error) {
	return f(ctx, model)
}

// endCallTimeout is how long the end of a call with a limited credential may take to be
// recorded; after that, the call counts until its lease ends.
const endCallTimeout = 5 * time.Second

// limitCalls sets the function by which a step begins calls with limited credentials. The
// returned function ends all calls of the attempt.
func (c *execution) limitCalls(ctx context.Context, a Action) (end func()) {
	var calls []string
	a.In.TakeCall = func(ctx context.Context, access flow.Access) error {
		if access.Limits == (flow.CallLimits{}) || c.Limiter == nil {
			return nil
		}
		id, wait, err := c.Limiter.TakeCall(ctx, a.In.WorkspaceID, access.Name, a.In.RunID, a.In.Path, a.def.timeLimit()+endCallTimeout)
		switch {
		case err != nil:
			return fmt.Errorf("begin a rate-limited call of %s: %w", a.In.Key, err)
		case wait > 0:
			return &flow.DelayError{Wait: wait}
		}
		calls = append(calls, id)
		return nil
	}
	return func() {
		for _, id := range calls {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endCallTimeout)
			if err := c.Limiter.EndCall(ctx, id); err != nil {
				c.Report(fmt.Errorf("end a call of %s: %w", a.In.Key, err))
			}
			cancel()
		}
	}
}

// secretInput returns the value of a secret input for a node that is connected to the input
// node. A reference from any other source is untrusted data and must not select which secret
// is sent where.
func (c *execution) secretInput(ctx context.Context, in *flow.In, n *graphNode, name, host string) (string, error) {
	connected := slices.ContainsFunc(n.in, func(e graphEdge) bool {
		source := c.plan.g.nodes[e.from].input
		return source != nil && source.Secret && source.Name == name
	})
	if connected && c.setting != nil {
		if credential := c.setting.Secrets[name]; credential != "" {
			return c.Secrets.Secret(ctx, in.WorkspaceID, credential, host)
		}
		return "", flow.Errorf(flow.CodeNotRecorded, "The case names no credential for the secret input %q. Give one as its value, such as {\"credential\": \"name\"}, or stub the nodes that use it.", name)
	}
	if !connected || c.RunSecrets == nil {
		return "", flow.Errorf(flow.CodeInputInvalid, "The reference to the secret input %q came as data. Connect the input node instead.", name)
	}
	texts, err := c.RunSecrets(ctx, in.WorkspaceID, in.RunID)
	if err != nil {
		return "", fmt.Errorf("open the secret inputs of %s: %w", in.RunID, err)
	}
	text, known := texts[name]
	if !known {
		return "", flow.Errorf(flow.CodeInputInvalid, "The secret input %q has no value in this run.", name)
	}
	return text, nil
}

// fetchFile downloads a file and stores it with the run. It is idempotent: the ID is derived
// from the step and the place, so a file that an earlier attempt stored is reused, even if
// that attempt crashed before its result was recorded.
func (c *execution) fetchFile(ctx context.Context, in *flow.In, place string, f flow.RemoteFile, accepts func(*flow.File) error) (map[string]any, error) {
	if c.Fetcher == nil {
		return nil, errors.New("the engine has no fetcher for remote files")
	}
	id := flow.FetchedFileID(in.Key, place)
	if stored, err := c.storedFile(ctx, in.WorkspaceID, id); stored != nil || err != nil {
		return stored, err
	}
	var value map[string]any
	err := c.Fetcher.FetchFile(ctx, f, accepts, func(name, mime string, content io.Reader) error {
		stored, err := c.Files.SaveFile(ctx, flow.NewFile{ID: id, WorkspaceID: in.WorkspaceID, RunID: in.RunID, Name: name, MIME: mime, Refusable: true}, content)
		if err == nil {
			value = stored.Value()
		}
		return err
	})
	if err != nil && flow.AsError(err).Code == flow.CodeInternal { // the previous attempt may have stored it in the meantime
		if stored, again := c.storedFile(ctx, in.WorkspaceID, id); stored != nil && again == nil {
			return stored, nil
		}
	}
	return value, err
}

// storedFile returns the value of a file, or nil if it does not exist.
func (c *execution) storedFile(ctx context.Context, ws flow.WorkspaceID, id string) (map[string]any, error) {
	f, content, err := c.Files.OpenFile(ctx, ws, id)
	if flow.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the fetched file %s: %w", id, err)
	}
	_ = content.Close() // opened only to check that the file exists
	return f.Value(), nil
}

// fetchArrived downloads remote files that arrived at ports of type file and replaces them by
// stored files, before the node runs.
func (c *execution) fetchArrived(ctx context.Context, n *graphNode, in *flow.In) error {
	for _, port := range sorting.Keys(in.Ports) {
		if n.port(port).Type != flow.TypeFile {
			continue
		}
		f, isRemote := flow.RemoteFileOf(in.Ports[port])
		if !isRemote {
			continue
		}
		value, err := in.FetchFile(ctx, port, f, nil)
		if err != nil {
			return flow.InField(err, n.ID+"."+port)
		}
		in.Ports[port] = value
		if field := n.kind.Field(port); field != nil && !field.Typed {
			in.Config[port] = value
		}
	}
	return nil
}

// estimate is what a step is expected to cost. It is zero for a step that costs nothing.
type estimate struct {
	model  costKey
	amount flow.NanoUSD // 0 if the cost cannot be estimated
}

// checkBudget reserves the estimated cost of a step that may cost money, and returns it, or an
// error if a budget of the run is used up. A step with a saved state is not checked: it resumes
// external work that has been paid for.
func (c *execution) checkBudget(ctx context.Context, n *graphNode, in *flow.In) (e estimate, err error) {
	var charge flow.Charge
	paid := false
	switch {
	case c.Budgets == nil:
	case n.kind.ChargeFor != nil:
		charge, paid, err = n.kind.ChargeFor(ctx, in)
	case n.kind.Charge != nil:
		charge, paid = n.kind.Charge(in.Config)
	}
	if !paid || err != nil {
		return estimate{}, err
	}
	r := flow.Reservation{
		WorkspaceID: in.WorkspaceID, FlowID: in.FlowID, KeyID: c.plan.run.KeyID, FlowsAbove: c.plan.run.FlowsAbove,
		RunID: in.RunID, Path: in.Path, Attempt: c.plan.run.Attempt, RunBudgets: c.plan.run.Budgets, StepBudget: in.Budget,
	}
	var prices flow.PriceStore
	if c.Prices != nil {
		prices = priceFunc(in.Price)
	}
	price, known, err := charge.Price(ctx, prices, in.WorkspaceID)
	if err != nil {
		return estimate{}, fmt.Errorf("find the price of %s: %w", charge.Model, err)
	}
	switch {
	case known:
		r.Amount = price.Cost(charge.Use, charge.Seconds)
	case charge.Free:
		return estimate{}, nil
	case !charge.Reported:
		r.Unpriced = cmp.Or(charge.Model, "the model")
	}
	e = estimate{costKey{in.WorkspaceID, charge.Model}, r.Amount}
	if in.State != nil {
		return e, nil
	}
	if r.Unpriced == "" && (e.amount > 0 || charge.Use == (flow.TokenUse{}) && charge.Seconds == 0) {
		r.Amount = c.Costs.reservation(e.model, e.amount)
	}
	return e, c.reserve(ctx, r)
}

// bookLost counts the estimate of a step whose bill is not fully known, as far as it exceeds the
// known cost: budgets must not grow by calls that are lost.
func bookLost(out *flow.Out, estimate flow.NanoUSD) {
	if out.Usage.UnpricedSteps > 0 {
		out.Usage.LostNanoUSD = max(0, estimate-out.Usage.CostNanoUSD)
	}
}

// Running steps usually cost less than they reserve. So if reservations exhaust a budget, a
// step waits for running steps to end before it fails.
const (
	reservePause   = 200 * time.Millisecond
	reserveTimeout = 10 * time.Second
)

// reserve makes a reservation. While reservations of other steps exhaust the budget, it
// polls every reservePause. It gives up after reserveTimeout, except for other steps of the same run and those
// above and below it: without these, the step could have run.
func (c *execution) reserve(ctx context.Context, r flow.Reservation) error {
	for waited := time.Duration(0); ; waited += reservePause {
		err := c.Budgets.ReserveSpending(ctx, r)
		switch {
		case errors.Is(err, flow.ErrRunBudgetReserved):
		case errors.Is(err, flow.ErrBudgetReserved) && waited >= reserveTimeout:
			return flow.Errorf(flow.CodeBudgetExceeded, "Running steps have reserved the rest of today's budget. Start the run again after they have ended, or raise the budget.")
		case errors.Is(err, flow.ErrBudgetReserved):
		case err != nil && flow.AsError(err).Code == flow.CodeInternal:
			return fmt.Errorf("check the budgets: %w", err)
		default:
			return err
		}
		select {
		case <-time.After(reservePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkCredential returns an error for a credential that the config of the node does not
// name. Values that arrive through edges come from callers, models and external services, so
// they must not select which secret of the workspace is sent where.
func (n *graphNode) checkCredential(credential string) error {
	if slices.Contains(n.secrets, credential) {
		return nil
	}
	return flow.Errorf(flow.CodeInputInvalid, "The credential %q came as data, by an edge or an input. A credential is chosen in the node itself; only the text of a secret may come as data.", credential)
}

// checkDeliveryCredentials is checkCredential for the signing secrets of deliveries.
func (n *graphNode) checkDeliveryCredentials(list []flow.NewDelivery) error {
	for i := range list {
		for _, value := range []any{list[i].Secret, list[i].Signature} {
			if name, isRef := flow.SecretRef(value); isRef {
				if err := n.checkCredential(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cleanup cleans up after abandoned steps in parallel. Errors are only reported: they must
// not keep the run from ending.
func (c *execution) cleanup(ctx context.Context, a Action) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, step := range a.Abandoned {
		all.Go(func() {
			if err := c.cleanupStep(ctx, step); err != nil {
				c.Report(fmt.Errorf("clean up step %s: %w", step.In.Key, err))
			}
		})
	}
	all.Wait()
}

// cleanupStep calls Cleanup of a kind, for example to cancel a prediction that is billed by
// the second. A panic becomes an error.
func (c *execution) cleanupStep(ctx context.Context, a Action) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	secrets, _ := c.bindCapabilities(ctx, a)
	return redactError(a.def.kind.Cleanup(ctx, a.In), secrets)
}
