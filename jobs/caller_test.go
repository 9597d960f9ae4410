package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/caller"
	"sluice/jobs"
)

// roundTripper calls a function for each request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A run whose webhook starts another run over HTTP is in the chain of calls, too.
func TestCaller_marks_deliveries_with_their_run(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Send","nodes":[
		 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"s","kind":"send","config":{"url":%q}}],
		 "edges":[{"from":"a.value","to":"s.value"}]}`, url))
		senders := make(chan caller.Caller, 10)
		fx.newRunnerWith(fx.store, func(c *jobs.Config) {
			c.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if find := caller.Sender(r.Context()); find != nil {
					sender, err := find(r.Context())
					if err != nil {
						return nil, err
					}
					senders <- sender
				}
				return http.DefaultTransport.RoundTrip(r)
			})}
		})
		fx.start()
		ctx := caller.Received(context.Background(), caller.Caller{RootRunID: "run_above", Depth: 2})
		s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Given: &flow.Object{}}
		s.Given.Set("x", "hello")
		started, err := fx.runner.StartRun(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		fx.awaitEnd(started.Run)
		<-got
		if sender := <-senders; sender.RootRunID != string(started.Run.ID) || sender.Depth != 3 {
			t.Errorf("the delivery is from %+v", sender)
		}
	})
}
