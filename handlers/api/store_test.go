package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/flow/knowledge"
	"sluice/flow/library"
)

// acts are the rules of the store that no test of this package reaches.
type acts struct {
	library.DeliveryStore
	library.RunStore
	library.WebhookSecretStore
}

// memory is a Store in maps.
type memory struct {
	acts
	mu         sync.Mutex
	keys       map[string]*flow.Key // by hash
	asked      []string             // hashes that were looked up
	uses       []flow.KeyUse
	flows      map[string]*flow.Flow
	versions   map[string][]flow.Version // by flow
	documents  map[string][]byte
	runs       map[flow.RunID]*flow.Run
	steps      map[flow.RunID]map[string]flow.Step // by run, path
	deliveries []flow.DeliveryRecord
	broken     error // returned by methods about runs
	others     func(topic, text string)
	rate       *fairness.Rate // of all instances
	rated      []string       // names that were counted
}

func newMemory() *memory {
	return &memory{
		keys: map[string]*flow.Key{}, flows: map[string]*flow.Flow{}, versions: map[string][]flow.Version{},
		documents: map[string][]byte{}, runs: map[flow.RunID]*flow.Run{}, steps: map[flow.RunID]map[string]flow.Step{},
	}
}

// Ping returns the error that the test has set.
func (m *memory) Ping(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

// Broadcast passes the message to the server of the test.
func (m *memory) Broadcast(_ context.Context, topic, text string) error {
	if m.others != nil {
		m.others(topic, text)
	}
	return nil
}

// TakeRate returns the rate that the test has set.
func (m *memory) TakeRate(_ context.Context, name string, _ int64) (*fairness.Rate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rated = append(m.rated, name)
	return m.rate, nil
}

// WebhookSecret returns a secret with the name of its owner.
func (m *memory) WebhookSecret(_ context.Context, o flow.WebhookOwner) (flow.WebhookSecret, error) {
	return flow.WebhookSecret{ID: "whs", Secrets: []flow.SigningSecret{{Secret: "whsec_" + o.Node + "@" + o.Host}}}, nil
}

func (m *memory) KeyWebhookSecret(_ context.Context, ws flow.WorkspaceID, keyID string) (string, error) {
	return string("whsec_"+ws+"/") + keyID, nil
}

// askedOf returns the question of a run in memory, which a step called ask waits for.
func askedOf(ws flow.WorkspaceID, runID flow.RunID) flow.Approval {
	return flow.Approval{WorkspaceID: ws, RunID: runID, Path: "ask", Node: "ask", Question: flow.Question{Title: "Send?", Audience: flow.AudienceLink,
		Values: []flow.ApprovalValue{{Name: "n", Value: 1.0, Editable: true}}}}
}

func (m *memory) ListApprovals(_ context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Approval, error) {
	return []flow.Approval{askedOf(ws, runID)}, nil
}

// FindSlug never reports a former slug: this store does not keep them.
func (m *memory) FindSlug(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, bool, error) {
	id, err := m.FindFlowID(ctx, ws, slug)
	return id, false, err
}

func (m *memory) AddAliasUses(context.Context, []flow.AliasUse) error { return nil }

func (m *memory) FindFlowID(_ context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, f := range m.flows {
		if f.WorkspaceID == ws && f.Slug == slug {
			return flow.FlowID(id), nil
		}
	}
	return "", missing("flow")
}

// memoryLibrary is the LibraryStore of the memory, as far as the authorization matrix gets:
// flows are found and archived, nothing is written. Package api_test has tests on a
// database.
type memoryLibrary struct {
	library.LibraryStore
	*memory
}

func (s memoryLibrary) FindFlow(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error) {
	return s.memory.FindFlow(ctx, ws, id)
}

func (s memoryLibrary) FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error) {
	return s.memory.FindFlowID(ctx, ws, slug)
}

func (s memoryLibrary) FindVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64) (*flow.Version, error) {
	return s.memory.FindVersion(ctx, ws, flowID, n)
}

func (s memoryLibrary) FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error) {
	return s.memory.FindDocument(ctx, ws, hash)
}

func (s memoryLibrary) ListVersions(context.Context, flow.WorkspaceID, flow.FlowID) ([]flow.Version, error) {
	return nil, nil
}

func (s memoryLibrary) PublishFlow(_ context.Context, _ flow.WorkspaceID, flowID flow.FlowID, _ []byte, _, _ string) (flow.Version, bool, error) {
	return flow.Version{FlowID: flowID, Number: 1}, false, nil
}

func (m *memory) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

func (m *memory) AddAudit(context.Context, flow.AuditEntry) error { return nil }

func (m *memory) RequestCancel(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	return m.FindRun(ctx, ws, flowID, runID)
}

func (m *memory) RequestStop(context.Context, flow.WorkspaceID, flow.FlowID, flow.RunID) error {
	return nil
}

func (s memoryLibrary) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

func (m *memory) ListContinued(context.Context, flow.WorkspaceID, flow.RunID) ([]flow.Run, error) {
	return nil, nil
}

func (s memoryLibrary) ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error) {
	return s.memory.ListFlowHeads(ctx, ws)
}

func (s memoryLibrary) ArchiveFlow(context.Context, flow.WorkspaceID, flow.FlowID) error { return nil }
func (s memoryLibrary) AddAudit(context.Context, flow.AuditEntry) error                  { return nil }

func missing(what string) error { return flow.Errorf(flow.CodeNotFound, "There is no such %s.", what) }

func (m *memory) FindKeyByHash(_ context.Context, hash string) (*flow.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, hash)
	k, ok := m.keys[hash]
	if !ok {
		return nil, missing("key")
	}
	found := *k
	found.Presented = hash
	return &found, nil
}

func (m *memory) RecentKey(ctx context.Context, hash string) (*flow.Key, error) {
	return m.FindKeyByHash(ctx, hash)
}

func (m *memory) TouchKeys(_ context.Context, uses []flow.KeyUse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses = append(m.uses, uses...)
	return nil
}

func (m *memory) FindFlow(_ context.Context, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.flows[string(id)]
	if !ok || f.WorkspaceID != ws {
		return nil, missing("flow")
	}
	found := *f
	return &found, nil
}

func (m *memory) ListFlows(_ context.Context, ws flow.WorkspaceID, after flow.FlowID, limit int) ([]flow.Flow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []flow.Flow
	for _, f := range m.flows {
		if f.WorkspaceID == ws && f.ID > after && f.ArchivedAt.IsZero() {
			list = append(list, *f)
		}
	}
	slices.SortFunc(list, func(a, b flow.Flow) int { return cmp.Compare(a.ID, b.ID) })
	return list[:min(limit, len(list))], nil
}

func (m *memory) ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error) {
	list, err := m.ListFlows(ctx, ws, "", 1<<20)
	for i := range list {
		list[i].Draft = nil
	}
	return list, err
}

func (m *memory) FindVersion(_ context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64) (*flow.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.versions[string(flowID)]
	if f, ok := m.flows[string(flowID)]; !ok || f.WorkspaceID != ws || n < 1 || n > int64(len(list)) {
		return nil, missing("version")
	}
	return &list[n-1], nil
}

func (m *memory) FindDocument(_ context.Context, _ flow.WorkspaceID, hash string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.documents[hash]
	if !ok {
		return nil, missing("document")
	}
	return d, nil
}

func (m *memory) ListBases(context.Context, flow.WorkspaceID) ([]knowledge.Base, error) {
	return nil, nil
}

func (m *memory) FindStepOutputs(context.Context, flow.WorkspaceID, flow.RunID, string) (map[string]any, error) {
	return nil, nil
}

func (m *memory) FindRunHead(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, bool, error) {
	run, err := m.FindRun(ctx, ws, flowID, runID)
	return run, true, err
}

func (m *memory) FindRun(_ context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, m.broken
	}
	r, ok := m.runs[runID]
	if !ok || r.WorkspaceID != ws || flowID != "" && r.FlowID != flowID {
		return nil, missing("run")
	}
	found := *r
	return &found, nil
}

func (m *memory) FindSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	return m.FindChangedSteps(ctx, ws, runID, -1)
}

func (m *memory) FindChangedSteps(_ context.Context, _ flow.WorkspaceID, runID flow.RunID, after int64) ([]flow.Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []flow.Step
	for _, s := range m.steps[runID] {
		if s.Seq > after || s.OutputSeq > after || s.State == flow.StepRunning || s.State == flow.StepWaiting {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b flow.Step) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

func (m *memory) FindNodeSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error) {
	list, err := m.FindSteps(ctx, ws, runID)
	return slices.DeleteFunc(list, func(s flow.Step) bool { return flow.IsSubStep(s.Path) }), err
}

func (m *memory) FindStepHeads(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, prefix string) ([]flow.Step, error) {
	list, err := m.FindSteps(ctx, ws, runID)
	list = slices.DeleteFunc(list, func(s flow.Step) bool { return !strings.HasPrefix(s.Path, prefix) })
	for i := range list {
		list[i].Input, list[i].Outputs, list[i].Attempts = nil, nil, nil
	}
	slices.SortFunc(list, func(a, b flow.Step) int { return flow.CompareSubSteps(a.Path, b.Path) })
	return list, err
}

func (m *memory) FindStep(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (*flow.Step, error) {
	list, err := m.FindSteps(ctx, ws, runID)
	for i := range list {
		if list[i].Path == path {
			return &list[i], err
		}
	}
	return nil, err
}

func (m *memory) UsedUpBudget(context.Context, *flow.Run) (*flow.Budget, error) { return nil, nil }

func (m *memory) WaitingKinds(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (map[string]bool, error) {
	kinds := map[string]bool{}
	steps, err := m.FindSteps(ctx, ws, runID)
	for i := range steps {
		if steps[i].State == flow.StepWaiting {
			kinds[steps[i].Kind] = kinds[steps[i].Kind] || steps[i].Saved != nil
		}
	}
	return kinds, err
}

func (m *memory) ListRuns(_ context.Context, f flow.RunFilter) ([]flow.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []flow.Run
	for _, r := range m.runs {
		switch {
		case r.WorkspaceID != f.WorkspaceID, f.FlowID != "" && r.FlowID != f.FlowID, f.KeyID != "" && r.KeyID != f.KeyID:
		case len(f.States) > 0 && !slices.Contains(f.States, r.State), f.BeforeID != "" && string(r.ID) >= f.BeforeID:
		case !f.CreatedAfter.IsZero() && !r.CreatedAt.After(f.CreatedAfter):
		case !f.CreatedBefore.IsZero() && !r.CreatedAt.Before(f.CreatedBefore):
		default:
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b flow.Run) int { return cmp.Compare(b.ID, a.ID) })
	return list[:min(f.Limit, len(list))], nil
}

func (m *memory) EraseRun(_ context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, code flow.Code) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[runID]
	r.Inputs, r.Outputs, r.Metadata, r.Erased = nil, nil, nil, code
	if r.Error != nil {
		r.Error = &flow.Error{Code: r.Error.Code}
	}
	delete(m.steps, runID)
	return nil
}

func (m *memory) ListDeliveries(_ context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before string, limit int) ([]flow.DeliveryRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []flow.DeliveryRecord
	for _, d := range slices.Backward(m.deliveries) {
		if d.WorkspaceID == ws && d.FlowID == flowID && (before == "" || d.ID < before) {
			d.Position = d.ID
			list = append(list, d)
		}
	}
	return list[:min(limit, len(list))], nil
}

func (m *memory) delivery(ws flow.WorkspaceID, id string) (*flow.DeliveryRecord, error) {
	for i := range m.deliveries {
		if d := &m.deliveries[i]; d.ID == id && d.WorkspaceID == ws {
			return d, nil
		}
	}
	return nil, missing("delivery")
}

func (m *memory) DeliveryFlow(_ context.Context, ws flow.WorkspaceID, id string) (flow.FlowID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.delivery(ws, id)
	if err != nil {
		return "", err
	}
	return d.FlowID, nil
}

func (m *memory) Redeliver(_ context.Context, ws flow.WorkspaceID, id string) (*flow.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.delivery(ws, id)
	if err != nil {
		return nil, err
	}
	d.State = flow.DeliveryPending
	again := d.Delivery
	return &again, nil
}

// write stores a run and its steps.
func (m *memory) write(w flow.RunWrite) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run := *w.Run
	m.runs[run.ID] = &run
	if m.steps[run.ID] == nil {
		m.steps[run.ID] = map[string]flow.Step{}
	}
	for _, s := range w.Steps {
		m.steps[run.ID][s.Path] = s
	}
}

func (m *memory) SetConcurrency(context.Context, flow.CallingStep, int, bool) (*flow.Children, error) {
	return nil, nil
}

func (m *memory) FindChildren(context.Context, flow.CallingStep) (*flow.Children, error) {
	return nil, nil
}

func (m *memory) ListChildren(context.Context, flow.WorkspaceID, flow.RunID) ([]flow.Children, error) {
	return nil, nil
}

func (m *memory) ReadChildren(context.Context, flow.WorkspaceID, flow.CallingStep, int, int) ([]flow.ChildResult, error) {
	return nil, nil
}
