package console_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/handlers/webtest"
)

// itemServer answers items of a list. Item 7 fails once the four items after it have begun, and these
// wait until they are canceled, or until the server is repaired.
type itemServer struct {
	mu       sync.Mutex
	begun    int
	full     chan struct{}
	repaired bool
	asked    map[int]int
}

func newItemServer(t *testing.T) (*itemServer, string) {
	s := &itemServer{full: make(chan struct{}), asked: map[int]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func (s *itemServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.FormValue("n"))
	s.mu.Lock()
	s.asked[n]++
	repaired := s.repaired
	if n > 7 && !repaired {
		if s.begun++; s.begun == 4 {
			close(s.full)
		}
	}
	s.mu.Unlock()
	switch {
	case n == 7 && !repaired:
		select {
		case <-s.full:
		case <-r.Context().Done():
		}
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	case n > 7 && !repaired:
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, "tag "+strconv.Itoa(n))
}

// repair makes all items succeed from now on.
func (s *itemServer) repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repaired, s.asked = true, map[int]int{}
}

// sent returns how often the items were asked for since the server was repaired.
func (s *itemServer) sent() map[int]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// mapFlows publishes a flow that runs another one, which asks the server, for each item of a list.
func mapFlows(h *webtest.Env, server string) (id string) {
	child := h.Flow(`{"schema":"sluice.flow/v1","name":"Tag a review","nodes":[
	{"id":"n","kind":"input","config":{"name":"n","type":"number"}},
	{"id":"call","kind":"http_request","label":"Ask the server","config":{"url":"` + server + `/?n={{n}}"}},
	{"id":"out","kind":"output","config":{"name":"tag"}}],
	"edges":[{"from":"n.value","to":"call.n"},{"from":"call.body","to":"out.value"}]}`)
	h.Publish(child)
	id = h.Flow(`{"schema":"sluice.flow/v1","name":"Tag product reviews","nodes":[
	{"id":"list","kind":"input","position":{"x":0,"y":0},"config":{"name":"reviews","type":"list"}},
	{"id":"each","kind":"map","label":"Tag each review","position":{"x":320,"y":0},"config":{"flow":"` + child + `","over":["n"],"concurrency":5}},
	{"id":"out","kind":"output","position":{"x":640,"y":0},"config":{"name":"tags"}}],
	"edges":[{"from":"list.value","to":"each.input.n"},{"from":"each.tag","to":"out.value"}]}`)
	h.Publish(id)
	return id
}

// start starts a published flow, without waiting for its end.
func start(h *webtest.Env, id string, inputs map[string]any) flow.RunID {
	h.T.Helper()
	out, err := h.Runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Trigger: flow.TriggerAPI, Given: value.FromMap(inputs)})
	if err != nil {
		h.T.Fatal(err)
	}
	return out.Run.ID
}

// countTo returns the numbers from 0 to n-1.
func countTo(n int) (list []any) {
	for i := range n {
		list = append(list, flow.Number(float64(i)))
	}
	return list
}

// shots takes pictures of a page, wide and narrow, in both themes.
func shots(p *chrome.Tab, name string, height int64) {
	for _, theme := range []string{"dark", "light"} {
		p.Theme(theme)
		p.Size(375, 2*height)
		p.Shot(name + "-375-" + theme)
		p.Size(1440, height)
		p.Shot(name + "-" + theme)
	}
}

// noOverflow waits until the page does not scroll sideways.
const noOverflow = `document.documentElement.scrollWidth <= document.documentElement.clientWidth`

func TestRunPageInBrowser_map(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	s, url := newItemServer(t)
	run := h.Ended(start(h, mapFlows(h, url), map[string]any{"reviews": countTo(40)}))
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/runs/"+string(run.ID))
	p.Has(".run-error", "Item 7 of Tag each review failed:")
	p.Has("#step-name", "Item 7")
	p.Until(`[...document.querySelectorAll(".child-picks .pill")].map((a) => a.innerText.replace(/\s+/g, " ").trim()).join(" · ") === "All 40 · Done 7 · Failed 1 · Canceled 4 · Not started 28"`)
	p.Until(`document.querySelectorAll(".strip .f").length === 1 && document.querySelectorAll(".strip .c").length === 4 && document.querySelectorAll(".strip .d").length === 7`)
	p.Has(".waterfall", "4 canceled items")
	p.Has(".waterfall header", "1 done · 1 failed · 1 not started")
	p.Has(".run-outputs", "No outputs: stopped at Tag each review. 7 finished items can be reused.")
	p.Until(`document.body.innerText.match(/Item 7/g).length < 6 && document.querySelectorAll(".child-items").length === 1`)
	shots(p, "run-map", 1500)
	p.Until(noOverflow)
	p.Click(`.step-list [id$=":canceled"] .row`)
	p.Until(`document.querySelectorAll(".child-items tbody tr").length === 4 && document.querySelectorAll(".child-items .canceled").length === 4`)
	p.Click(`.strip i:nth-child(3)`)
	p.Has("#step-name", "Item 2")
	p.Click(`.step-card .tabbar a[href*="tab=input"]`)
	p.Has(".step-card .values", "2")

	s.repair()
	p.Go(h.Http.URL + "/runs/" + string(run.ID))
	p.Click(`.run-error-acts button[value=failed]`) // Continue with 39
	p.Has(".lineage", string(run.ID))
	p.Until(`document.querySelector(".head .tag").dataset.state === "succeeded"`)
	p.Has("#run-io ~ .result-strip", "tags")
	if sent := s.sent(); sent[7] != 0 || sent[0] != 0 || len(sent) != 32 {
		t.Errorf("continuing asked for %v", sent)
	}
	p.Until(`document.querySelector('.child-picks [href*="items=failed"] .count').innerText === "1" && document.querySelector('.child-picks [href*="items=done"] .count').innerText === "39"`)
	p.Shot("run-map-continued")
	p.Go(h.Http.URL + "/runs/" + string(run.ID))
	s.repair()
	p.Click(`.run-error-acts .btn.primary`) // Retry 1 failed
	p.Has(".lineage", string(run.ID))
	p.Until(`document.querySelector(".head .tag").dataset.state === "succeeded" && !document.querySelector('.child-picks [href*="items=failed"]')`)
	if sent := s.sent(); sent[7] != 1 || len(sent) != 33 {
		t.Errorf("the retry asked for %v", sent)
	}
}

// waitingFlow asks whether a draft may be sent, after a step and before another one.
const waitingFlow = `{"schema":"sluice.flow/v1","name":"Ask first","nodes":[
 {"id":"text","kind":"input","position":{"x":0,"y":0},"config":{"name":"text"}},
 {"id":"words","kind":"template","label":"Write a reply","position":{"x":300,"y":0},"config":{"template":"Dear Sam,\n\n**thank you**: {{text}}"}},
 {"id":"ask","kind":"approval","position":{"x":600,"y":0},"config":{"title":"Send this reply?","values":["draft"],"editable":["draft"]}},
 {"id":"sent","kind":"output","position":{"x":900,"y":0},"config":{"name":"sent"}}],
 "edges":[{"from":"text.value","to":"words.text"},{"from":"words.text","to":"ask.draft"},{"from":"ask.draft","to":"sent.value"}]}`

func TestRunPageInBrowser_answers_questions_in_place(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(waitingFlow)
	h.Publish(id)
	run := start(h, id, map[string]any{"text": "hello"})
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/runs/"+string(run))
	p.Has(".question .approval-card h2", "Send this reply?")
	p.There(`.question [value=approved]`)
	p.Until(`document.querySelector(".head .tag").dataset.state === "waiting"`)
	p.Has("#step-name", "ask")
	p.Until(`document.querySelector("[data-elapsed]").innerText !== "<1 ms"`)
	p.Eval(`document.body.dataset.first = document.querySelector("[data-elapsed]").innerText`)
	p.Until(`document.querySelector("[data-elapsed]").innerText !== document.body.dataset.first`) // the time counts up
	shots(p, "run-waiting", 1300)
	p.Until(noOverflow)
	p.Eval(`document.querySelector(".question textarea[name=comment]").focus()`)
	p.Keys("Fine by me")
	p.Eval(`document.querySelector(".live-none, #run > [hidden]").dispatchEvent(new Event("online", { bubbles: true }))`)
	p.Until(`document.querySelector(".question textarea[name=comment]").value === "Fine by me" && document.activeElement.name === "comment"`)
	p.Click(".question [value=approved]")
	p.Until(`document.querySelector(".head .tag").dataset.state === "succeeded" && document.querySelector(".result-strip")?.innerText.includes("thank you")`)
	p.Until(`location.pathname === "/runs/` + string(run) + `"`)
	shots(p, "run-done", 1300)
	p.Until(noOverflow)
}

// longFlow has many steps, with names that are long, from right to left, or pictures.
func longFlow(steps int) string {
	names := []string{strings.Repeat("Unbroken", 14), "مرحبا بالعالم", "👩‍👩‍👧‍👦 Family of emoji 🎉", "A name with words, long enough that it has to be cut where the times begin"}
	var nodes, edges strings.Builder
	for i := range steps {
		fmt.Fprintf(&nodes, `,{"id":"step%d","kind":"template","label":%q,"position":{"x":%d,"y":%d},"config":{"template":"{{text}}."}}`, i, names[i%len(names)], 300*(i%12+1), 160*(i/12))
		from := "text.value"
		if i > 0 {
			from = fmt.Sprintf("step%d.text", i-1)
		}
		fmt.Fprintf(&edges, `{"from":%q,"to":"step%d.text"},`, from, i)
	}
	return `{"schema":"sluice.flow/v1","name":"` + strings.Repeat("Unbroken", 14)[:110] + `","nodes":[{"id":"text","kind":"input","position":{"x":0,"y":0},"config":{"name":"text"}},{"id":"out","kind":"output","position":{"x":0,"y":200},"config":{"name":"out"}}` +
		nodes.String() + `],"edges":[` + edges.String() + fmt.Sprintf(`{"from":"step%d.text","to":"out.value"}]}`, steps-1)
}

func TestRunPageInBrowser_many_steps_and_long_names(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(longFlow(300))
	h.Publish(id)
	run := h.Ended(start(h, id, map[string]any{"text": "hello"}))
	b := chrome.Start(t)
	p := h.Open(b, flow.MemberViewer, "/runs/"+string(run.ID))
	p.Until(`document.querySelectorAll(".step-list > .step").length === 302`)
	for _, width := range []int64{1440, 900, 375} {
		p.Size(width, 900)
		p.Until(noOverflow)
	}
	shots(p, "run-long", 1000)
	p.Size(1440, 900)
	p.Eval(`document.querySelector("#row-step150 .row").focus()`)
	p.Press('j')
	p.Until(`document.querySelector("#row-step151 .row").ariaCurrent === "true"`)
	p.Until(`document.activeElement.ariaCurrent === "true" && window.scrollY > 1000`)
	p.Eval(`document.body.dataset.top = String(window.scrollY)`)
	p.Press('k')
	p.Until(`document.activeElement.ariaCurrent === "true" && document.activeElement.closest(".step").id === "row-step150"`)
	p.Until(`Math.abs(window.scrollY - Number(document.body.dataset.top)) < 200`)
}

func TestRunPageInBrowser_step_is_a_sheet_on_phones(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(longFlow(4))
	h.Publish(id)
	run := h.Ended(start(h, id, map[string]any{"text": "hello"}))
	p := h.Open(chrome.Start(t), flow.MemberViewer, "/runs/"+string(run.ID))
	p.Until(`getComputedStyle(document.querySelector("#step")).position === "sticky" && !document.querySelector("#step [data-sheet-close]").checkVisibility()`)
	p.Phone()
	const closed = `!document.querySelector("#step").checkVisibility({visibilityProperty: true}) && !document.querySelector("[inert], .step-scrim")`
	const open = `document.querySelector("#step").checkVisibility({visibilityProperty: true}) && document.querySelector("#step").role === "dialog" && document.querySelector("header.top").inert && document.querySelector(".waterfall").inert`
	const inPlace = `Math.round(document.querySelector("#step").getBoundingClientRect().top) === 96`
	p.Until(closed)
	p.Tap("#row-step1 .row")
	p.Until(open + " && " + inPlace)
	p.Has("#step-name", "مرحبا")
	p.Until(`document.activeElement.matches("#step [data-sheet-close]") && document.querySelector("#step [data-sheet-close]").offsetHeight >= 44`)
	p.Shot("run-sheet-375")
	p.Tap(`#step .tabbar a[href*="tab=input"]`) // an update of the page leaves it open
	p.Has("#step .values", "hello")
	p.Until(open)
	p.Tap(`#step [aria-label="Next step"]`)
	p.Has("#step-name", "Family")
	p.Until(open)
	p.Keys("\x1b")
	p.Until(closed + ` && document.activeElement.closest(".step")?.id === "row-step2"`)
	p.Tap("#row-step0 .row")
	p.Until(open + " && " + inPlace)
	p.Tap("#step [data-sheet-close]")
	p.Until(closed)
	p.Tap("#row-step0 .row")
	p.Until(open + " && " + inPlace)
	swipe := p.Middle("#step-name")
	p.Swipe(swipe, chrome.Point{X: swipe.X, Y: swipe.Y + 200})
	p.Until(closed)
	p.Go(h.Http.URL + "/runs/" + string(run.ID) + "?step=step1") // a link to a step opens it
	p.Until(open)
	p.Size(1440, 900) // a tablet that is turned
	p.Until(`!document.querySelector("[inert], .step-scrim") && document.querySelector("#step").checkVisibility({visibilityProperty: true})`)
}
