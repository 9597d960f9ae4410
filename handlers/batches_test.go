package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// batchClient calls the API with a key.
type batchClient struct {
	*webtest.Env
	flow, secret string
}

// newBatchClient returns a client of a flow that greets, for a key with the scopes.
func newBatchClient(t *testing.T, change ...func(*flow.Key)) *batchClient {
	t.Helper()
	c := &batchClient{Env: webtest.Setup(t), secret: flow.NewKeyText()}
	c.flow = c.PublishedFlow(webtest.Greeting)
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "batch", Prefix: c.secret[:flow.KeyShown], Hash: flow.Hash([]byte(c.secret)), Scopes: []flow.Scope{flow.ScopeRun}}
	for _, f := range change {
		f(k)
	}
	if err := c.Store.CreateKey(context.Background(), k); err != nil {
		t.Fatal(err)
	}
	return c
}

// send sends a request to a path below the flow, and returns the status and the body.
func (c *batchClient) send(method, path, media string, body []byte) (int, string) {
	c.T.Helper()
	r, err := http.NewRequestWithContext(c.T.Context(), method, c.Http.URL+"/v1/flow/"+c.flow+path, bytes.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.secret)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.T.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		c.T.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// batchAnswer is what the tests read of a batch.
type batchAnswer struct {
	Run struct {
		RunID   flow.RunID `json:"run_id"`
		Status  flow.RunState
		Trigger string
		Outputs map[string]any

		WaitingFor string `json:"waiting_for"`
	}
	Budget *struct {
		Of, Unit string
		Limit    int
		ResetsAt time.Time `json:"resets_at"`
	}
	Paused      bool
	Concurrency int
	Rows        struct{ Total, Pending, Running, Succeeded, Failed, Reused int }
}

// start starts a batch and returns its run.
func (c *batchClient) start(media string, body []byte) *batchAnswer {
	c.T.Helper()
	status, text := c.send("POST", "/batches", media, body)
	if status != 202 {
		c.T.Fatalf("got %d %s", status, text)
	}
	return c.decode(text)
}

func (c *batchClient) decode(text string) *batchAnswer {
	c.T.Helper()
	b := &batchAnswer{}
	if err := json.Unmarshal([]byte(text), b); err != nil {
		c.T.Fatal(err, text)
	}
	return b
}

// show returns a batch.
func (c *batchClient) show(id flow.RunID) *batchAnswer {
	c.T.Helper()
	status, text := c.send("GET", "/batches/"+string(id), "", nil)
	if status != 200 {
		c.T.Fatalf("got %d %s", status, text)
	}
	return c.decode(text)
}

// upload returns a form with a file.
func upload(t *testing.T, name string, content []byte) (media string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func TestBatch_runs_every_row_of_a_file_and_returns_the_table_with_results(t *testing.T) {
	t.Parallel()
	c := newBatchClient(t)
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("WHO;Count;note\n张伟的朋友和他们的家人;2;=1+1\n\"这个产品的质量非常好\n我很满意\";;-5\n")
	if err != nil {
		t.Fatal(err)
	}
	b := c.start(upload(t, "people.csv", []byte(gbk)))
	if c.Ended(b.Run.RunID).State != flow.RunSucceeded || b.Run.Trigger != "batch" {
		t.Fatalf("the batch ended as %+v", c.Ended(b.Run.RunID).Error)
	}
	if b = c.show(b.Run.RunID); b.Rows.Total != 2 || b.Rows.Succeeded != 2 || fmt.Sprint(b.Run.Outputs) != "map[failed:0 succeeded:2 total:2]" {
		t.Errorf("got %+v", b)
	}
	_, results := c.send("GET", "/batches/"+string(b.Run.RunID)+"/results", "", nil)
	lines := strings.SplitN(results, "\n", 3)
	if lines[0] != "WHO,Count,note,text,_status,_code,_error,_run_id,_usd" ||
		!strings.HasPrefix(lines[1], "张伟的朋友和他们的家人,2,'=1+1,\"Hello 张伟的朋友和他们的家人, 2 times\",succeeded,,,run_") ||
		!strings.Contains(lines[2], "\n我很满意\",,-5,\"Hello 这个产品的质量非常好\n我很满意, 3 times\",succeeded,") {
		t.Errorf("got %q", lines)
	}
	_, results = c.send("GET", "/batches/"+string(b.Run.RunID)+"/results?format=jsonl&raw=true", "", nil)
	if !strings.HasPrefix(results, `{"WHO":"张伟的朋友和他们的家人","Count":"2","note":"=1+1","text":"Hello 张伟的朋友和他们的家人, 2 times","_status":"succeeded","_code":null,`) {
		t.Errorf("got %s", results)
	}
	_, results = c.send("GET", "/batches/"+string(b.Run.RunID)+"/results?format=xlsx", "", nil)
	media, body := upload(t, "again.xlsx", []byte(results)) // what it writes, it can read
	if again := c.start(media, body); c.Ended(again.Run.RunID).State != flow.RunSucceeded || c.show(again.Run.RunID).Rows.Succeeded != 2 {
		t.Error("a batch of the results as a workbook failed")
	}
}

func TestBatch_takes_rows_and_expressions(t *testing.T) {
	t.Parallel()
	c := newBatchClient(t)
	b := c.start("application/json", []byte(`{"rows": [{"first": "Ada", "last": "Byron", "n": 2}, {"first": "Bo", "last": "Li", "n": 4}, {"first": "C", "last": "D", "n": 1}], "columns": {"who": "row.first + ' ' + row.last", "count": "N"}, "sample": 2}`))
	c.Ended(b.Run.RunID)
	_, results := c.send("GET", "/batches/"+string(b.Run.RunID)+"/results?format=csv", "", nil)
	if !strings.Contains(results, "Ada,Byron,2,\"Hello Ada Byron, 2 times\"") || !strings.Contains(results, "Bo,Li,4,\"Hello Bo Li, 4 times\"") || strings.Contains(results, "C,D") {
		t.Errorf("got %s", results)
	}
}

func TestBatch_is_refused_with_every_invalid_row(t *testing.T) {
	t.Parallel()
	c := newBatchClient(t)
	for name, tt := range map[string]struct{ csv, want string }{
		"a missing column": {"name\nAda\n", `"pointer":"/columns/who"`},
		"an invalid row":   {"who,count\nAda,1\nBo,many\n", `Row 3: count: wanted number, got text.`},
		"an open quote":    {"who,count\n\"Ada,1\nBo,2\n", `Line 2: a quotation mark is not closed.`},
		"no rows":          {"who\n", "The file has no rows."},
		"no table":         {"\x01\x00", "not a table"},
	} {
		status, text := c.begin(upload(t, "a.csv", []byte(tt.csv)))
		if status != 422 || !strings.Contains(text, `"batch_invalid"`) || !strings.Contains(text, tt.want) {
			t.Errorf("%s: got %d %s", name, status, text)
		}
	}
	late := "who,count\n" + strings.Repeat("Ada,1\n", 1200) + "Bo,many\n"
	b := c.start(upload(t, "a.csv", []byte(late)))
	run := c.Ended(b.Run.RunID)
	if run.State != flow.RunFailed || run.Error.Code != flow.CodeBatchInvalid || !strings.Contains(run.Error.Message, "Row 1202: ") {
		t.Errorf("a late invalid row gave %+v", run.Error)
	}
	if rows := c.show(b.Run.RunID).Rows; rows.Running+rows.Succeeded > 0 {
		t.Errorf("rows of an invalid batch started: %+v", rows)
	}
}

// begin starts a batch that may be refused.
func (c *batchClient) begin(media string, body []byte) (int, string) {
	c.T.Helper()
	return c.send("POST", "/batches", media, body)
}

func TestBatch_is_no_run_of_production(t *testing.T) {
	t.Parallel()
	c := newBatchClient(t)
	b := c.start(upload(t, "a.csv", []byte("who\nAda\nBo\n")))
	c.Ended(b.Run.RunID)
	if _, text := c.send("GET", "/runs", "", nil); strings.Contains(text, "run_id") {
		t.Errorf("the list of runs has %s", text)
	}
	if status, text := c.send("GET", "/runs?work=batch", "", nil); status != 200 || !strings.Contains(text, string(b.Run.RunID)) || strings.Count(text, `"run_id"`) != 1 {
		t.Errorf("the list of work runs: %d %s", status, text)
	}
	if status, text := c.send("GET", "/runs?work=api", "", nil); status != 422 || !strings.Contains(text, "wanted batch") {
		t.Errorf("an unknown kind of work: %d %s", status, text)
	}
	if _, text := c.send("GET", "/batches", "", nil); !strings.Contains(text, string(b.Run.RunID)) {
		t.Errorf("the list of batches has %s", text)
	}
	status, text := c.send("POST", "/run/"+string(b.Run.RunID)+"/rerun", "application/json", []byte("{}"))
	var again struct {
		RunID   flow.RunID `json:"run_id"`
		Trigger string
	}
	if err := json.Unmarshal([]byte(text), &again); err != nil || status != 202 || again.Trigger != "batch" {
		t.Fatalf("a rerun gave %d %s", status, text)
	}
	if run := c.Ended(again.RunID); run.State != flow.RunSucceeded {
		t.Errorf("the rerun ended as %s, %v", run.State, run.Error)
	}
}

func TestBatch_pauses_and_continues(t *testing.T) {
	t.Parallel()
	c := newBatchClient(t)
	slow, gate := c.SlowFlow()
	c.Publish(slow)
	c.flow = slow
	b := c.start("application/json", []byte(`{"rows": [{}, {}, {}], "concurrency": 1}`))
	for c.show(b.Run.RunID).Rows.Running == 0 {
		t.Context()
	}
	status, text := c.send("PATCH", "/batches/"+string(b.Run.RunID), "application/json", []byte(`{"paused": true}`))
	if got := c.decode(text); status != 200 || !got.Paused || got.Concurrency != 1 {
		t.Fatalf("got %d %s", status, text)
	}
	gate <- 200
	for c.show(b.Run.RunID).Rows.Running > 0 {
		t.Context()
	}
	if got := c.show(b.Run.RunID); got.Rows.Pending != 2 || got.Run.Status.Ended() {
		t.Fatalf("a paused batch is %+v", got)
	}
	c.send("PATCH", "/batches/"+string(b.Run.RunID), "application/json", []byte(`{"paused": false, "concurrency": 2}`))
	gate <- 200
	gate <- 200
	if run := c.Ended(b.Run.RunID); run.State != flow.RunSucceeded {
		t.Errorf("the batch ended as %s, %v", run.State, run.Error)
	}
}

// TestBatch_waits_for_the_daily_limit_of_its_key: the rows that the limit allows run, and the others wait without failing. They
// run once the limit is raised and the batch continues.
func TestBatch_waits_for_the_daily_limit_of_its_key(t *testing.T) {
	t.Parallel()
	var key *flow.Key
	c := newBatchClient(t, func(k *flow.Key) { k.RunsPerDay, key = 2, k })
	b := c.start(upload(t, "a.csv", []byte("who\nAda\nBo\nCy\n")))
	for b.Rows.Succeeded < 2 || b.Run.Status != flow.RunWaiting {
		b = c.show(b.Run.RunID)
		t.Context()
	}
	if b.Rows.Pending != 1 || b.Rows.Running+b.Rows.Failed != 0 || b.Run.WaitingFor != "budget" || b.Budget == nil || b.Budget.Of != "key" || b.Budget.Unit != "runs" || b.Budget.Limit != 2 || b.Budget.ResetsAt.Before(time.Now()) {
		t.Errorf("got %+v, budget %+v", b, b.Budget)
	}
	if status, text := c.send("POST", "/run", "application/json", []byte(`{"who": "Di"}`)); status != 402 {
		t.Errorf("a run beyond the limit gave %d %s", status, text)
	}
	before := *key
	key.RunsPerDay = 3
	if err := c.Store.UpdateKey(t.Context(), &before, key); err != nil {
		t.Fatal(err)
	}
	c.send("PATCH", "/batches/"+string(b.Run.RunID), "application/json", []byte(`{"paused": false}`))
	if run := c.Ended(b.Run.RunID); run.State != flow.RunSucceeded {
		t.Errorf("the batch ended as %s, %v", run.State, run.Error)
	}
	if b = c.show(b.Run.RunID); b.Rows.Succeeded != 3 || b.Budget != nil {
		t.Errorf("at the end: %+v", b)
	}
}

func TestBatch_kinds_are_refused_from_outside(t *testing.T) {
	t.Parallel()
	c := newBatchClient(t)
	_, err := c.Library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(`{"schema":"sluice.flow/v1","name":"Sneaky","nodes":[{"id":"file","kind":"input","config":{"name":"file","type":"file"}},`+
		`{"id":"rows","kind":"batch","config":{"spec":{"flow":"`+c.flow+`"}}}],"edges":[{"from":"file.value","to":"rows.file"}]}`))
	if err == nil || !strings.Contains(err.Error(), `there is no kind "batch"`) {
		t.Errorf("an internal kind from outside gave %v", err)
	}
	for _, k := range webtest.Kinds().List() {
		if k.Internal {
			t.Errorf("the list of kinds has %s", k.Name)
		}
	}
}
