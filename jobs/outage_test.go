package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/jobs"
)

// readFlow has a step that reads a credential and a file after its gate.
const readFlow = `{"schema":"sluice.flow/v1","name":"Read","nodes":[
 {"id":"a","kind":"input","config":{"name":"x","type":"file"}},
 {"id":"r","kind":"read","config":{"secret":{"credential":"c"}}},
 {"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"a.value","to":"r.value"},{"from":"r.value","to":"o.value"}]}`

// readKind is a kind that reads and writes everything that the store offers to steps.
func readKind(g *gate, reads chan<- struct{}) flow.Kind {
	return flow.Kind{
		Name: "read", Title: "read", Group: "test", Summary: "For tests.", Class: flow.Outside,
		Inputs: []flow.Port{{Name: "value", Type: flow.TypeAny, Required: true}}, Outputs: []flow.Port{{Name: "value", Type: flow.TypeAny}},
		Fields: []flow.Field{{Name: "secret", Type: flow.FieldSecret}},
		Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
			out, err := g.run(ctx, in)
			if err != nil {
				return out, err
			}
			reads <- struct{}{}
			secret, err := in.Secret(ctx, in.Config["secret"], "")
			if err != nil {
				return out, err
			}
			if _, err = in.Access(ctx, "somebody", in.Config["secret"]); err != nil {
				return out, err
			}
			f, content, err := in.OpenFile(ctx, in.Ports["value"])
			if err != nil {
				return out, err
			}
			defer content.Close()
			copied, err := in.SaveFile(ctx, "copy of "+f.Name, f.MIME, content)
			if err == nil && secret != "secret" {
				err = flow.Errorf(flow.CodeInternal, "The secret is wrong.")
			}
			return flow.Out{Outputs: map[string]any{"value": copied}}, err
		},
	}
}

// TestOutage_fails_no_run stops the database during a step, in each way that a server
// ends, and starts it again. The step and those who wait for its run must not notice.
func TestOutage_fails_no_run(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("outage")
	cfg.Instance = "test-outage"
	reads := make(chan struct{}, 10)
	fx := newFixture(t, cfg, passThroughFlow)
	all := []flow.Kind{readKind(fx.gate, reads)}
	for _, k := range fx.kinds.List() {
		all = append(all, *k)
	}
	fx.kinds = flow.NewRegistry(all...)
	fx.poll = 250 * time.Millisecond // a notification may be lost with its connection
	fx.newRunner()
	fx.publish(readFlow)
	fx.start()
	file := fx.upload(strings.Repeat("content", 300_000)) // of more than one chunk
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		run := fx.startRun(input("x", file.Value()))
		<-fx.gate.started
		// A durable write also syncs the writes of the run's start, which a killed
		// server would lose.
		if err := fx.store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "c"}, "secret"); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() {
			run, err := fx.runner.AwaitRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID, time.Minute)
			if err == nil && run.State != flow.RunSucceeded {
				err = fmt.Errorf("the run is %s: %v", run.State, run.Error)
			}
			waited <- err
		}()
		server.Stop(signal)
		fx.gate.release <- nil
		<-reads
		server.Start()
		if err := <-waited; err != nil {
			t.Errorf("%s: %v", signal, err)
		}
		if run := fx.awaitEnd(run); run.State != flow.RunSucceeded {
			t.Errorf("%s: the run is %s: %v", signal, run.State, run.Error)
		}
	}
}

// TestDrain_during_an_outage shuts down while the database is away, with a run in progress.
// That is no failure: the run continues when the database is back.
func TestDrain_during_an_outage(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("drain")
	cfg.Instance = "test-drain"
	fx := newFixture(t, cfg, gatedFlow).start()
	run := fx.startRun()
	<-fx.gate.started
	// A durable write also syncs the writes of the run's start.
	if err := fx.store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "c"}, "secret"); err != nil {
		t.Fatal(err)
	}
	server.Stop(syscall.SIGKILL)
	if err := drain(fx.runner, 50*time.Millisecond); err != nil {
		t.Errorf("the shutdown failed: %v", err)
	}
	server.Start()
	found, err := fx.store.FindRun(t.Context(), run.WorkspaceID, run.FlowID, run.ID)
	if err != nil || found.State.Ended() {
		t.Errorf("the run is %+v, %v", found, err)
	}
}

// TestStart_waits_for_database_connection starts while others use all connections that
// the server allows: the Runner must wait for its own instead of ending the process.
func TestStart_waits_for_database_connection(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, dbtest.PostgresConfig(t), passThroughFlow)
	fx.newRunnerWith(fx.store, func(cfg *jobs.Config) {
		cfg.Queue.FailStarts(&pgconn.PgError{Severity: "FATAL", Code: "53300", Message: "remaining connection slots are reserved"})
	})
	fx.start()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"x": "hello"})}
	for {
		started, err := fx.runner.StartRun(t.Context(), s)
		if err == nil {
			fx.awaitEnd(started.Run)
			return
		}
		if !flow.IsUnavailable(err) {
			t.Fatalf("the start was rejected with %v, wanted %s", err, flow.CodeUnavailable)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
