package jobs_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/value"
)

// copyFlow copies an image; its input extra may contain files too.
const copyFlow = `{"schema":"sluice.flow/v1","name":"Copy","nodes":[
 {"id":"a","kind":"input","config":{"name":"x","type":"file","accept":["image/*",".md"]}},
 {"id":"b","kind":"input","config":{"name":"extra","type":"json","default":""}},
 {"id":"c","kind":"copy","config":{}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"a.value","to":"c.value"},{"from":"c.value","to":"o.value"}]}`

// copyFlowWithDefault copies a file that the flow itself holds as a default.
func copyFlowWithDefault(id string) string {
	return strings.Replace(copyFlow, `"type":"file","accept":["image/*",".md"]`, `"type":"file","default":{"file":"`+id+`"}`, 1)
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func (fx *fixture) upload(content string, change ...func(*flow.NewFile)) *flow.File {
	fx.t.Helper()
	n := flow.NewFile{WorkspaceID: flow.DefaultWorkspace}
	for _, c := range change {
		c(&n)
	}
	f, err := fx.store.SaveFile(context.Background(), n, strings.NewReader(content))
	if err != nil {
		fx.t.Fatal(err)
	}
	return f
}

func input(name string, v any) func(*flow.Start) {
	return func(s *flow.Start) { s.Given.Set(name, v) }
}

func fileRef(id string) map[string]any { return map[string]any{"file": id} }

// startProblems starts a run that must be rejected and lists its problems as "pointer
// code".
func (fx *fixture) startProblems(set ...func(*flow.Start)) string {
	fx.t.Helper()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{})}
	for _, f := range set {
		f(&s)
	}
	_, err := fx.runner.StartRun(context.Background(), s)
	return problemsOf(fx.t, err)
}

func problemsOf(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code != flow.CodeInputInvalid {
		t.Fatalf("got %v", err)
	}
	var list []string
	for _, p := range e.Fields {
		list = append(list, p.Pointer+" "+p.Code)
	}
	return strings.Join(list, ", ")
}

func (fx *fixture) exists(id string) bool {
	fx.t.Helper()
	_, err := fx.store.FindFile(context.Background(), flow.DefaultWorkspace, id)
	if err != nil && !flow.IsNotFound(err) {
		fx.t.Fatal(err)
	}
	return err == nil
}

// awaitErased waits until the clean-up has erased a file.
func (fx *fixture) awaitErased(id string) {
	fx.t.Helper()
	fx.waitUntil(id+" is erased", func() bool { return !fx.exists(id) })
}

func TestStartRun_with_file(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, copyFlow).start()
		f := fx.upload(png, func(n *flow.NewFile) { n.Name = "photo.png" })
		claimed := map[string]any{"file": f.ID, "name": "../../etc/passwd", "mime": "text/html", "size": flow.Number(9), "url": "https://example.com"}
		run := fx.awaitEnd(fx.startRun(input("x", claimed), input("extra", map[string]any{"all": []any{fileRef(f.ID), "other"}})))
		if got := string(flow.EncodeJSON(run.Inputs.Get("x"))); got != string(flow.EncodeJSON(f.Value())) {
			t.Errorf("the input is %s", got)
		}
		if got, want := string(flow.EncodeJSON(run.Inputs.Get("extra"))), string(flow.EncodeJSON(map[string]any{"all": []any{f.Value(), "other"}})); got != want {
			t.Errorf("the other input is %s, want %s", got, want)
		}
		id, ok := flow.FileID(run.Outputs.Get("y"))
		if run.State != flow.RunSucceeded || !ok || id == f.ID {
			t.Fatalf("got %s: %v %v", run.State, run.Outputs, run.Error)
		}
		copied, content, err := fx.store.OpenFile(context.Background(), flow.DefaultWorkspace, id)
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		if data, err := io.ReadAll(content); err != nil || string(data) != png || copied.Name != "copy of photo.png" || copied.MIME != "image/png" {
			t.Errorf("copied %q as %+v: %v", data, copied, err)
		}
		if err := fx.store.EraseRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID, flow.CodeResultNotSaved); err != nil {
			t.Fatal(err)
		}
		if fx.exists(id) || fx.exists(f.ID) {
			t.Error("the files of an erased run still exist")
		}
	})
}

func TestStartRun_rejects_files(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, copyFlow)
		if err := fx.store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", MaxQueued: 10}); err != nil {
			t.Fatal(err)
		}
		good, text := fx.upload(png), fx.upload("words")
		notes := fx.upload("# words", func(n *flow.NewFile) { n.Name = "notes.md" })
		foreign := fx.upload(png, func(n *flow.NewFile) { n.WorkspaceID = "ws_other" })
		erased := fx.upload(png)
		if err := fx.store.EraseFile(context.Background(), flow.DefaultWorkspace, erased.ID); err != nil {
			t.Fatal(err)
		}
		never := flow.NewIDs().New(flow.PrefixFile)
		many := make([]any, 1001)
		for i := range many {
			many[i] = fileRef(flow.NewIDs().New(flow.PrefixFile))
		}
		for name, c := range map[string]struct {
			x, extra any
			want     string
		}{
			"unknown":               {fileRef(never), "", "/x not_found"},
			"erased":                {fileRef(erased.ID), "", "/x not_found"},
			"of another workspace":  {fileRef(foreign.ID), "", "/x not_found"},
			"ID of another service": {fileRef("report.pdf"), "", "/x not_found"},
			"type not accepted":     {fileRef(text.ID), "", "/x not_allowed"},
			"inside other values":   {fileRef(good.ID), []any{"a", map[string]any{"b": fileRef(never)}}, "/extra not_found"},
			"several problems":      {fileRef(never), fileRef(erased.ID), "/x not_found, /extra not_found"},
			"other problems too":    {"text", fileRef(never), "/x wrong_type, /extra not_found"},
			"too many":              {fileRef(good.ID), many, "/extra too_large"},
			"accepted by extension": {fileRef(notes.ID), fileRef("report.pdf"), ""},
		} {
			if c.want == "" {
				fx.startRun(input("x", c.x), input("extra", c.extra))
				continue
			}
			if got := fx.startProblems(input("x", c.x), input("extra", c.extra)); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
	})
}

func TestStartRun_rejects_files_of_other_keys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, copyFlow).start()
		mine := fx.upload(png, func(n *flow.NewFile) { n.KeyID = "key_a" })
		key := func(id string, scopes ...flow.Scope) func(*flow.Start) {
			return func(s *flow.Start) { s.Key = &flow.Key{ID: id, WorkspaceID: flow.DefaultWorkspace, Scopes: scopes} }
		}
		if got := fx.startProblems(input("x", fileRef(mine.ID)), key("key_b", flow.ScopeRun)); got != "/x not_found" {
			t.Errorf("with another key's upload: %s", got)
		}
		run := fx.awaitEnd(fx.startRun(input("x", fileRef(mine.ID)), key("key_a", flow.ScopeRun)))
		made, _ := flow.FileID(run.Outputs.Get("y"))
		if got := fx.startProblems(input("x", fileRef(made)), key("key_b", flow.ScopeRun)); got != "/x not_found" {
			t.Errorf("with a file of another key's run: %s", got)
		}
		fx.startRun(input("x", fileRef(made)), key("key_a", flow.ScopeRun))
		fx.startRun(input("x", fileRef(mine.ID)), key("key_b", flow.ScopeRun, flow.ScopeRead))
	})
}

// Everybody who may start the flow may use its own file, which outlives the run.
func TestStartRun_with_default_file_of_flow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, copyFlow).start()
		f := fx.upload(png, func(n *flow.NewFile) { n.Name = "own.png" })
		fx.publish(copyFlowWithDefault(f.ID))
		anyone := func(s *flow.Start) {
			s.Key = &flow.Key{ID: "key_b", WorkspaceID: flow.DefaultWorkspace, Scopes: []flow.Scope{flow.ScopeRun}}
		}
		run := fx.awaitEnd(fx.startRun(input("x", nil), anyone, func(s *flow.Start) { s.Options.Discard = true }))
		if run.State != flow.RunSucceeded {
			t.Fatalf("the run is %s: %v", run.State, run.Error)
		}
		if id, _ := flow.FileID(run.Outputs.Get("y")); id != "" {
			fx.awaitErased(id)
		}
		if got := fx.awaitRun(run, func(r *flow.Run) bool { return r.Erased != "" }); !fx.exists(f.ID) {
			t.Errorf("the flow's file was erased with %s", got.ID)
		}
		if err := fx.store.EraseFile(context.Background(), flow.DefaultWorkspace, f.ID); err != nil {
			t.Fatal(err)
		}
		if got := fx.startProblems(anyone); got != "/x not_found" {
			t.Errorf("with an erased file: %s", got)
		}
	})
}

// A rerun needs its parent's input files, even when the parent is erased.
func TestRerun_keeps_files_of_erased_parent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, copyFlow).start()
		f := fx.upload(png)
		parent := fx.awaitEnd(fx.startRun(input("x", fileRef(f.ID))))
		again := flow.Rerun{Start: flow.Start{WorkspaceID: parent.WorkspaceID, FlowID: parent.FlowID}, ParentRunID: parent.ID}
		started, err := fx.runner.Rerun(context.Background(), again)
		if err != nil {
			t.Fatal(err)
		}
		run := fx.awaitEnd(started.Run)
		made, _ := flow.FileID(run.Outputs.Get("y"))
		if was, _ := flow.FileID(parent.Outputs.Get("y")); was != made {
			t.Fatalf("the step was not reused: %s, then %s", was, made)
		}
		erase := func(r *flow.Run) {
			if err := fx.store.EraseRun(context.Background(), r.WorkspaceID, r.FlowID, r.ID, flow.CodeResultNotSaved); err != nil {
				t.Fatal(err)
			}
		}
		erase(parent)
		if !fx.exists(f.ID) || !fx.exists(made) {
			t.Error("the rerun's files were erased with its parent")
		}
		again.ParentRunID, again.Given = run.ID, value.FromMap(map[string]any{"x": fileRef(flow.NewIDs().New(flow.PrefixFile))})
		_, err = fx.runner.Rerun(context.Background(), again)
		if got := problemsOf(t, err); got != "/inputs/x not_found" {
			t.Errorf("with a missing file: %s", got)
		}
		erase(run)
		if fx.exists(f.ID) || fx.exists(made) {
			t.Error("unreferenced files still exist")
		}
	})
}

// The clean-up erases unused files with their content.
func TestCleanUp_erases_unused_files(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, copyFlow)
		loose, used := fx.upload("loose"), fx.upload(png)
		fx.start()
		fx.awaitEnd(fx.startRun(input("x", fileRef(used.ID))))
		fx.clock.advance(29 * 24 * time.Hour)
		young := fx.upload("young")
		fx.awaitEnd(fx.startRun(input("x", fileRef(used.ID)))) // keeps it beyond its first run
		fx.clock.advance(25 * time.Hour)
		fx.awaitErased(loose.ID)
		if !fx.exists(used.ID) || !fx.exists(young.ID) {
			t.Error("files in use were erased")
		}
		fx.awaitContentRemoved()
	})
}

// awaitContentRemoved waits until the content of all erased files is removed.
func (fx *fixture) awaitContentRemoved() {
	fx.t.Helper()
	fx.waitUntil("the content of erased files is removed", func() bool {
		return fx.queryInt("SELECT count(*) FROM files WHERE erased_at > 0") == 0
	})
}
