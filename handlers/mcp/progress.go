package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/handlers/api"
	"sluice/handlers/web"
)

// progressReport sends progress notifications about one run to one client.
type progressReport struct {
	*message
	session *sdk.ServerSession
	token   any
	run     *flow.Run
	sent    int // completed steps in the last notification; -1 before the first
}

// reportProgress starts to send progress notifications. stop ends that and returns after
// the last one was sent.
func (m *message) reportProgress(ctx context.Context, session *sdk.ServerSession, token any, run *flow.Run) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	watch := m.s.api.Runner.WatchRun(run.ID)
	p := &progressReport{m, session, token, run, -1}
	var done sync.WaitGroup
	f := web.Follower{Watch: watch, ReadInterval: m.s.api.ReadInterval, Read: func() error {
		p.notify(ctx)
		return nil
	}}
	done.Go(func() { _ = f.Follow(ctx) })
	return func() {
		cancel()
		done.Wait()
		watch.Stop()
	}
}

// notify sends a notification with the labels of the active nodes if more steps have
// completed since the last one. The protocol requires the number to increase, so the
// start of a step is only reported with the end of another. Errors are ignored, because
// progress is optional and the result follows.
func (p *progressReport) notify(ctx context.Context) {
	defer inflight.LeaseOf(ctx).Close() // until the next report
	run, err := p.s.api.Store.FindRun(ctx, p.run.WorkspaceID, p.run.FlowID, p.run.ID)
	if err != nil || run.State.Ended() || run.Progress.Done <= p.sent {
		return
	}
	steps, err := p.s.api.Store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return
	}
	o, err := p.s.api.Outlines.Find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return
	}
	if text := activeLabels(o, steps); text != "" {
		p.sent = run.Progress.Done
		_ = p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: p.token, Progress: float64(run.Progress.Done), Total: float64(run.Progress.Total), Message: text,
		})
	}
}

// activeLabels returns the distinct labels of the nodes with a step that runs or waits.
func activeLabels(o *api.Outline, steps []flow.Step) string {
	var labels []string
	for i := range steps {
		switch steps[i].State {
		case flow.StepRunning, flow.StepRetrying, flow.StepWaiting:
			if label := o.Labels[api.TopNode(steps[i].Path)]; !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	return strings.Join(labels, ", ")
}
