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
)

// copying takes a picture and gives a copy of it; extra may hold files too.
const copying = `{"schema":"sluice.flow/v1","name":"Copy","nodes":[
 {"id":"a","kind":"input","config":{"name":"x","type":"file","accept":["image/*",".md"]}},
 {"id":"b","kind":"input","config":{"name":"extra","type":"json","default":""}},
 {"id":"c","kind":"copy","config":{}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"a.value","to":"c.value"},{"from":"c.value","to":"o.value"}]}`

// defaulting copies the file that it has itself.
func defaulting(id string) string {
	return strings.Replace(copying, `"type":"file","accept":["image/*",".md"]`, `"type":"file","default":{"file":"`+id+`"}`, 1)
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func (w *world) upload(content string, change ...func(*flow.NewFile)) *flow.File {
	w.t.Helper()
	n := flow.NewFile{WorkspaceID: flow.DefaultWorkspace}
	for _, c := range change {
		c(&n)
	}
	f, err := w.store.SaveFile(context.Background(), n, strings.NewReader(content))
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func with(name string, v any) func(*flow.Start) {
	return func(s *flow.Start) { s.Given[name] = v }
}

func ref(id string) map[string]any { return map[string]any{"file": id} }

// refused starts a run and lists its problems as "pointer code".
func (w *world) refused(set ...func(*flow.Start)) string {
	w.t.Helper()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: w.flowID, Trigger: flow.TriggerAPI, Given: map[string]any{}}
	for _, f := range set {
		f(&s)
	}
	_, err := w.runner.StartRun(context.Background(), s)
	return problemsOf(w.t, err)
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

func (w *world) exists(id string) bool {
	w.t.Helper()
	_, err := w.store.FindFile(context.Background(), flow.DefaultWorkspace, id)
	if err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		w.t.Fatal(err)
	}
	return err == nil
}

// gone waits until tidying has erased a file.
func (w *world) gone(id string) {
	w.t.Helper()
	for late := time.Now().Add(20 * time.Second); w.exists(id); {
		if time.Now().After(late) {
			w.t.Fatalf("%s is still there", id)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestRunWithAFile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, copying).start()
		f := w.upload(png, func(n *flow.NewFile) { n.Name = "photo.png" })
		lied := map[string]any{"file": f.ID, "name": "../../etc/passwd", "mime": "text/html", "size": flow.Number(9), "url": "https://example.com"}
		run := w.ended(w.begin(with("x", lied), with("extra", map[string]any{"all": []any{ref(f.ID), "other"}})))
		if got := string(flow.EncodeJSON(run.Inputs["x"])); got != string(flow.EncodeJSON(f.Value())) {
			t.Errorf("the input is %s", got)
		}
		if got, want := string(flow.EncodeJSON(run.Inputs["extra"])), string(flow.EncodeJSON(map[string]any{"all": []any{f.Value(), "other"}})); got != want {
			t.Errorf("the other input is %s, want %s", got, want)
		}
		id, ok := flow.FileID(run.Outputs["y"])
		if run.State != flow.RunSucceeded || !ok || id == f.ID {
			t.Fatalf("got %s: %v %v", run.State, run.Outputs, run.Error)
		}
		copied, content, err := w.store.OpenFile(context.Background(), flow.DefaultWorkspace, id)
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		if data, err := io.ReadAll(content); err != nil || string(data) != png || copied.Name != "copy of photo.png" || copied.MIME != "image/png" {
			t.Errorf("copied %q as %+v: %v", data, copied, err)
		}
		if err := w.store.EraseRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID, flow.CodeResultNotSaved); err != nil {
			t.Fatal(err)
		}
		if w.exists(id) || w.exists(f.ID) {
			t.Error("the run is erased, its files are not")
		}
	})
}

func TestStartRefusesFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, copying)
		if err := w.store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", MaxQueued: 10}); err != nil {
			t.Fatal(err)
		}
		good, text := w.upload(png), w.upload("words")
		notes := w.upload("# words", func(n *flow.NewFile) { n.Name = "notes.md" })
		foreign := w.upload(png, func(n *flow.NewFile) { n.WorkspaceID = "ws_other" })
		erased := w.upload(png)
		if err := w.store.EraseFile(context.Background(), flow.DefaultWorkspace, erased.ID); err != nil {
			t.Fatal(err)
		}
		never := flow.NewIDs().New(flow.PrefixFile)
		many := make([]any, 1001)
		for i := range many {
			many[i] = ref(flow.NewIDs().New(flow.PrefixFile))
		}
		for name, c := range map[string]struct {
			x, extra any
			want     string
		}{
			"that never were":         {ref(never), "", "/x not_found"},
			"that are erased":         {ref(erased.ID), "", "/x not_found"},
			"of another workspace":    {ref(foreign.ID), "", "/x not_found"},
			"of another service":      {ref("report.pdf"), "", "/x not_found"},
			"that are not accepted":   {ref(text.ID), "", "/x not_allowed"},
			"inside other values":     {ref(good.ID), []any{"a", map[string]any{"b": ref(never)}}, "/extra not_found"},
			"all of them at once":     {ref(never), ref(erased.ID), "/x not_found, /extra not_found"},
			"and what else is wrong":  {"text", ref(never), "/x wrong_type, /extra not_found"},
			"that are too many":       {ref(good.ID), many, "/extra too_large"},
			"beside unknown, but not": {ref(notes.ID), ref("report.pdf"), ""},
		} {
			if c.want == "" {
				w.begin(with("x", c.x), with("extra", c.extra))
				continue
			}
			if got := w.refused(with("x", c.x), with("extra", c.extra)); got != c.want {
				t.Errorf("files %s: got %q, want %q", name, got, c.want)
			}
		}
	})
}

func TestStartWithFilesOfOthers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, copying).start()
		mine := w.upload(png, func(n *flow.NewFile) { n.KeyID = "key_a" })
		key := func(id string, scopes ...flow.Scope) func(*flow.Start) {
			return func(s *flow.Start) { s.Key = &flow.Key{ID: id, WorkspaceID: flow.DefaultWorkspace, Scopes: scopes} }
		}
		if got := w.refused(with("x", ref(mine.ID)), key("key_b", flow.ScopeRun)); got != "/x not_found" {
			t.Errorf("another key's upload: %s", got)
		}
		run := w.ended(w.begin(with("x", ref(mine.ID)), key("key_a", flow.ScopeRun)))
		made, _ := flow.FileID(run.Outputs["y"])
		if got := w.refused(with("x", ref(made)), key("key_b", flow.ScopeRun)); got != "/x not_found" {
			t.Errorf("a file of another key's run: %s", got)
		}
		w.begin(with("x", ref(made)), key("key_a", flow.ScopeRun))
		w.begin(with("x", ref(mine.ID)), key("key_b", flow.ScopeRun, flow.ScopeRead))
	})
}

// The flow's own file is for everybody who may start the flow, and stays.
func TestStartWithTheFileOfTheFlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, copying).start()
		f := w.upload(png, func(n *flow.NewFile) { n.Name = "own.png" })
		w.publish(defaulting(f.ID))
		anyone := func(s *flow.Start) {
			s.Key = &flow.Key{ID: "key_b", WorkspaceID: flow.DefaultWorkspace, Scopes: []flow.Scope{flow.ScopeRun}}
		}
		run := w.ended(w.begin(with("x", nil), anyone, func(s *flow.Start) { s.Options.Discard = true }))
		if run.State != flow.RunSucceeded {
			t.Fatalf("the run %s: %v", run.State, run.Error)
		}
		if id, _ := flow.FileID(run.Outputs["y"]); id != "" {
			w.gone(id)
		}
		if got := w.until(run, func(r *flow.Run) bool { return r.Erased != "" }); !w.exists(f.ID) {
			t.Errorf("the flow's file went with %s", got.ID)
		}
		if err := w.store.EraseFile(context.Background(), flow.DefaultWorkspace, f.ID); err != nil {
			t.Fatal(err)
		}
		if got := w.refused(anyone); got != "/x not_found" {
			t.Errorf("once it is erased: %s", got)
		}
	})
}

// A rerun needs what its parent gave, also when the parent is erased.
func TestRerunKeepsFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, copying).start()
		f := w.upload(png)
		parent := w.ended(w.begin(with("x", ref(f.ID))))
		again := flow.Rerun{Start: flow.Start{WorkspaceID: parent.WorkspaceID, FlowID: parent.FlowID}, ParentRunID: parent.ID}
		started, err := w.runner.Rerun(context.Background(), again)
		if err != nil {
			t.Fatal(err)
		}
		run := w.ended(started.Run)
		made, _ := flow.FileID(run.Outputs["y"])
		if was, _ := flow.FileID(parent.Outputs["y"]); was != made {
			t.Fatalf("the step was not reused: %s, then %s", was, made)
		}
		erase := func(r *flow.Run) {
			if err := w.store.EraseRun(context.Background(), r.WorkspaceID, r.FlowID, r.ID, flow.CodeResultNotSaved); err != nil {
				t.Fatal(err)
			}
		}
		erase(parent)
		if !w.exists(f.ID) || !w.exists(made) {
			t.Error("the rerun's files went with its parent")
		}
		again.ParentRunID, again.Given = run.ID, map[string]any{"x": ref(flow.NewIDs().New(flow.PrefixFile))}
		_, err = w.runner.Rerun(context.Background(), again)
		if got := problemsOf(t, err); got != "/inputs/x not_found" {
			t.Errorf("with a missing file: %s", got)
		}
		erase(run)
		if w.exists(f.ID) || w.exists(made) {
			t.Error("files of nobody are still there")
		}
	})
}

// Tidying erases what nobody used, with its content, and what crashes left.
func TestTidyFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, copying)
		loose, used := w.upload("loose"), w.upload(png)
		w.start()
		w.ended(w.begin(with("x", ref(used.ID))))
		w.clock.advance(29 * 24 * time.Hour)
		young := w.upload("young")
		w.ended(w.begin(with("x", ref(used.ID)))) // keeps it beyond its first run
		w.clock.advance(25 * time.Hour)
		w.gone(loose.ID)
		if !w.exists(used.ID) || !w.exists(young.ID) {
			t.Error("too much was erased")
		}
		w.contentFollows()
	})
}

// contentFollows waits until nothing erased is left to be removed.
func (w *world) contentFollows() {
	w.t.Helper()
	const count = "SELECT count(*) FROM files WHERE erased_at > 0"
	for late := time.Now().Add(20 * time.Second); ; <-time.After(20 * time.Millisecond) {
		var left int
		var err error
		if pool := w.store.Pool(); pool != nil {
			err = pool.QueryRow(context.Background(), count).Scan(&left)
		} else {
			err = w.store.SQLite().QueryRow(count).Scan(&left)
		}
		if err != nil || time.Now().After(late) {
			w.t.Fatalf("%d erased files are left: %v", left, err)
		}
		if left == 0 {
			return
		}
	}
}
