package automation_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// upload sends a table and returns the path of the page that maps its columns.
func (e *env) upload(name, text string) string {
	e.T.Helper()
	a := e.b.SendForm("/flows/"+e.flow+"/batches/file", nil, map[string]webtest.FormFile{"file": {Name: name, MIME: "text/csv", Content: []byte(text)}})
	if a.Status != http.StatusSeeOther {
		e.T.Fatalf("upload: %d %s", a.Status, a.Body)
	}
	return a.Header.Get("Location")
}

// ended waits for the end of the batch with a page.
func (e *env) ended(path string) *flow.Run {
	e.T.Helper()
	return e.Ended(flow.RunID(path[strings.LastIndexByte(path, '/')+1:]))
}

const people = "Name,times\nAda,1\nGrace,2\nLin,3\nMei,4\nJo,5\nKim,6\n"

func TestBatches_try_rows_estimate_all_and_start_them(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	list := "/flows/" + e.flow + "/batches"
	e.b.Get(list).Is(http.StatusOK).Has("Run every row of a table", "No batches yet.")
	mapping := e.upload("people.csv", people)
	e.b.Get(mapping).Is(http.StatusOK).Has("people.csv", "Grace", "Try 5 rows")
	file := mapping[strings.Index(mapping, "file=")+5:]
	form := url.Values{"file": {file}, "column.who": {"Name"}, "column.count": {"+cel"}, "text.count": {"int(row.times) * 2"}, "concurrency": {"2"}, "on_error": {"keep"}, "on_invalid": {"fail"}, "act": {"sample"}}
	sample := e.b.Post(list, form).Is(http.StatusSeeOther).Header.Get("Location")
	if run := e.ended(sample); run.State != flow.RunSucceeded || run.UserID == "" {
		t.Fatalf("sample %+v", run)
	}
	e.b.Get(sample).Is(http.StatusOK).Has("people.csv", "Sample of 5 rows", "5 of 5 rows", "6 rows", "Hello Ada, 2 times", "Start all rows").Lacks("data-hx-get")
	all := e.b.Post(sample+"/all", nil).Is(http.StatusSeeOther).Header.Get("Location")
	e.ended(all)
	e.b.Get(all).Has("6 of 6 rows", "Hello Kim, 12 times", "Download", "editor-").Lacks("Start all rows", "A former member")
	e.b.Get(all+"/results?format=csv").Is(http.StatusOK).Has("Name,times,text,_status", "Kim,6,\"Hello Kim, 12 times\",succeeded")
	e.b.Get(list).Has("people.csv", "6 of 6 rows", "Sample")
	e.As(flow.MemberViewer).Get(all).Is(http.StatusOK).Lacks("Retry", "Pause")
}

func TestBatches_say_what_does_not_fit_and_start_nothing(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	list := "/flows/" + e.flow + "/batches"
	mapping := e.upload("people.csv", "Name,times\nAda,1\nGrace,many\n")
	file := mapping[strings.Index(mapping, "file=")+5:]
	form := url.Values{"file": {file}, "column.who": {"Name"}, "column.count": {"times"}, "concurrency": {"2"}, "on_error": {"keep"}, "on_invalid": {"fail"}, "act": {"start"}}
	e.b.Post(list, form).Is(http.StatusUnprocessableEntity).Has("Row 3:")
	form.Set("column.who", "+cel")
	form.Set("text.who", "row.")
	e.b.Post(list, form).Is(http.StatusUnprocessableEntity).Has("not an expression over row")
	form.Set("concurrency", "many")
	form.Set("max_usd", "much")
	e.b.Post(list, form).Is(http.StatusUnprocessableEntity).Has("Enter a whole number.", "Enter an amount such as 25")
	empty := e.upload("empty.csv", "Name\n")
	e.b.Get(empty).Is(http.StatusUnprocessableEntity).Has("The file has no rows.")
	e.b.SendForm(list+"/file", nil, nil).Is(http.StatusUnprocessableEntity).Has("Choose a file.")
	e.b.Get(list).Has("No batches yet.")
	e.As(flow.MemberViewer).Post(list, form).Is(http.StatusForbidden)
}

func TestBatches_retry_rows_that_failed(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	list := "/flows/" + e.flow + "/batches"
	mapping := e.upload("people.csv", "Name,times\nAda,1\nGrace,many\n")
	form := url.Values{"file": {mapping[strings.Index(mapping, "file=")+5:]}, "column.who": {"Name"}, "column.count": {"times"}, "concurrency": {"2"}, "on_error": {"keep"}, "on_invalid": {"skip"}, "act": {"start"}}
	one := e.b.Post(list, form).Is(http.StatusSeeOther).Header.Get("Location")
	e.ended(one)
	e.b.Get(one).Is(http.StatusOK).Has("Retry 1 failed", "Failures", "input_invalid")
	e.b.Get(one+"?state=failed").Has("Show all", "Grace").Lacks("Hello Ada")
	e.b.Get(one+"?code=input_invalid").Has("Show all", "Grace", "Show 1").Lacks("Hello Ada")
	e.b.Get(one + "?q=hello+ada").Has("Hello Ada").Lacks("Grace")
	e.b.Get(one + "?q=nothing&state=done&show=many").Has("No rows match.")
	e.b.Get(one + "/results?format=csv&only=failed").Is(http.StatusOK).Has("Grace").Lacks("Ada")
	again := e.b.Post(one+"/retry", nil).Is(http.StatusSeeOther).Header.Get("Location")
	if again == one {
		t.Error("the same batch")
	}
	e.ended(again)
	e.b.Get(again).Is(http.StatusOK).Has("2 of 2 rows")
}

func TestBatches_pause_change_and_cancel(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	slow, release := e.SlowFlow()
	defer close(release)
	e.Publish(slow)
	e.flow = slow
	list := "/flows/" + slow + "/batches"
	mapping := e.upload("words.csv", "word\na\nb\nc\n")
	form := url.Values{"file": {mapping[strings.Index(mapping, "file=")+5:]}, "concurrency": {"1"}, "on_error": {"keep"}, "on_invalid": {"fail"}, "act": {"start"}}
	one := e.b.Post(list, form).Is(http.StatusSeeOther).Header.Get("Location")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(e.b.Get(one).Is(http.StatusOK).Body, "0 of 3 rows"); {
		if time.Now().After(deadline) {
			t.Fatal("the rows were not read")
		}
	}
	e.b.Get(one+"?part=body").Is(http.StatusOK).Has("Pause", "Cancel", "data-hx-get").Lacks("<html")
	e.b.Post(one+"/pause", nil).RedirectsTo(one)
	e.b.Get(one).Has("Paused", "Resume")
	e.b.Post(one+"/concurrency", url.Values{"concurrency": {"2"}}).RedirectsTo(one)
	e.b.Get(one).Has(`name="concurrency" value="2"`)
	e.b.Post(one+"/concurrency", url.Values{"concurrency": {"many"}}).RedirectsTo(one)
	e.b.Get(one).Has(`name="concurrency" value="2"`)
	e.b.Post(one+"/resume", nil).RedirectsTo(one)
	v := e.As(flow.MemberViewer)
	v.Post(one+"/cancel", nil).Is(http.StatusForbidden)
	e.b.Post(one+"/cancel", nil).RedirectsTo(one)
	if run := e.ended(one); run.State != flow.RunCanceled {
		t.Errorf("canceled: %s", run.State)
	}
	e.b.Get("/flows/" + slow + "/batches/run_none").Is(http.StatusNotFound)
}
