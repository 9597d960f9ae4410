package api

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
)

// progressReport tells one caller how far a run is.
type progressReport struct {
	*message
	session *mcp.ServerSession
	token   any
	run     *flow.Run
	told    int // steps that were done when it was last told; -1 before
}

// report tells of progress until it is stopped; stop returns when nothing more
// will be told.
func (m *message) report(ctx context.Context, session *mcp.ServerSession, token any, run *flow.Run) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	watch := m.s.Runner.WatchRun(run.ID)
	p := &progressReport{m, session, token, run, -1}
	var over sync.WaitGroup
	over.Go(func() { p.follow(ctx, newPacer(watch.Changes)) })
	return func() {
		cancel()
		over.Wait()
		watch.Stop()
	}
}

// follow looks at the run whenever it was written, but not more often than
// anybody can see.
func (p *progressReport) follow(ctx context.Context, looks *pacer) {
	defer looks.over.Stop()
	for {
		p.look(ctx)
		looks.pause(p.s.pace)
		select {
		case <-ctx.Done():
			return
		case <-looks.over.C:
			looks.resume()
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.open:
		}
	}
}

// look tells of steps that were done since the last time, with what is being
// done now. The number must grow from one notification to the next, so a step
// that only begins is told with the end of the one before. What cannot be read
// or sent is no loss: the answer still comes.
func (p *progressReport) look(ctx context.Context) {
	run, err := p.s.Store.FindRun(ctx, p.run.WorkspaceID, p.run.FlowID, p.run.ID)
	if err != nil || run.State.Ended() || run.Progress.Done <= p.told {
		return
	}
	steps, err := p.s.Store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return
	}
	out, err := p.s.outlines.find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return
	}
	if text := out.atWork(steps); text != "" {
		p.told = run.Progress.Done
		_ = p.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: p.token, Progress: float64(run.Progress.Done), Total: float64(run.Progress.Total), Message: text,
		})
	}
}

// atWork names the nodes that do something, in the words of who drew them.
func (o *outline) atWork(steps []flow.Step) string {
	var labels []string
	for i := range steps {
		switch steps[i].State {
		case flow.StepRunning, flow.StepRetrying, flow.StepWaiting:
			if label := o.labels[topNode(steps[i].Path)]; !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	return strings.Join(labels, ", ")
}
