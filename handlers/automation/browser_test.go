package automation_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// TestNewcomer_schedules_weekdays_at_9 sets up a schedule with the mouse: two clicks and one sentence.
func TestNewcomer_schedules_weekdays_at_9(t *testing.T) {
	e := setup(t, time.Time{})
	e.optional()
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path(""))
	p.Click(".head .btn.primary")
	p.Until(`document.querySelector("#schedule:modal") !== null`)
	p.Has("#schedule-next", "Next 5 times")
	p.Type("#schedule-words", "weekdays at 9, Berlin")
	p.Has("#schedule-next", "Berlin")
	p.Has("#schedule-next", "9:00 AM")
	p.Until(`document.querySelector("#timezone").value === "Europe/Berlin" && [...document.querySelectorAll("[name=day_of_week]:checked")].map((d) => d.value).join() === "1,2,3,4,5"`)
	p.Click(`.days input[value="6"]`)
	p.Until(`document.querySelector("#schedule-words").value === "Mondays, Tuesdays, Wednesdays, Thursdays, Fridays and Saturdays at 9:00 AM, Berlin"`)
	p.Click(`.days input[value="6"]`)
	p.Until(`document.querySelector("#schedule-words").value === "Weekdays at 9:00 AM, Berlin"`)
	p.Shot("schedule-dialog")
	p.Click("#schedule footer .primary")
	p.Has("table", "Weekdays at 9:00 AM, Berlin")
	underMinute(t, p.Acts()) // with two clicks that change a day and take that back
	p.Shot("triggers")
	p.Phone()
	p.Shot("triggers-phone")
	p.Click("a.row")
	p.Until(`document.querySelector("#schedule:modal") !== null`)
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Until(`document.getAnimations().length === 0`)
	p.Shot("schedule-phone")
	if s := e.only(); s.Config.Cron != "0 9 * * 1-5" || s.Config.Timezone != "Europe/Berlin" {
		t.Errorf("stored %+v", s.Config)
	}
}

// underMinute fails the test if a person needs a minute or more for what was done.
func underMinute(t *testing.T, acts chrome.Acts) {
	t.Helper()
	if t.Logf("%d clicks and %d keys take %s", acts.Clicks, acts.Keys, acts.Takes()); acts.Takes() >= time.Minute || acts.Clicks == 0 || acts.Keys == 0 {
		t.Errorf("%d clicks and %d keys take %s, a minute or more", acts.Clicks, acts.Keys, acts.Takes())
	}
}

// TestNewcomer_schedules_with_the_keyboard does the same without a mouse.
func TestNewcomer_schedules_with_the_keyboard(t *testing.T) {
	e := setup(t, time.Time{})
	e.optional()
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path("/schedule"))
	p.Until(`document.activeElement.id === "schedule-words"`)
	p.Keys("every day at 7:30")
	p.Has("#schedule-next", "7:30 AM")
	p.Keys(kb.Enter)
	p.Has("table", "Every day at 7:30 AM")
	p.Go(e.Http.URL + e.path("/"+e.only().ID))
	p.Until(`document.querySelector("#schedule:modal") !== null`)
	p.Press('\u001b')
	p.Until(`location.pathname === "` + e.path("") + `"`)
}

// TestNewcomer_starts_a_flow_when_GitHub_sends_an_issue sets up a webhook, and sees a rejected request and one that starts.
func TestNewcomer_starts_a_flow_when_GitHub_sends_an_issue(t *testing.T) {
	e := setup(t, time.Time{})
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path(""))
	p.Click(".head .actions .btn:first-child")
	p.Has("h1", "New webhook")
	p.Shot("hook-new")
	p.Type("#field-when", `headers["x-github-event"] == "issues" && body.action == "opened"`)
	p.Eval(`document.querySelector('[name="source.who"]').focus()`) // as a click does; its list is outside the page
	p.Keys("Ex")                                                    // chooses Expression
	p.Until(`document.querySelector('[name="source.who"]').value === "cel"`)
	p.Type(`[name="text.who"]`, "body.issue.title")
	p.Click("#hook-form .primary")
	p.Has("#url", "Enter this secret at the service")
	acts := p.Acts()
	acts.Clicks += 3 // on the list, and two that copy the URL and the secret
	underMinute(t, acts)
	page := chrome.Value[string](p, `document.documentElement.outerHTML`)
	to, secret := found(t, shownURL, page), found(t, regexp.MustCompile(`aria-label="Secret of the webhook"[^>]*><code>([^<]+)</code>`), page)
	p.Go(e.Http.URL + e.path("/"+e.only().ID))
	p.Click("#capture .title .btn")
	p.Has("#capture", "Listening")
	e.deliver(to, "wrong", "0f2c", issue)
	p.Has("#capture", "Rejected")
	e.deliver(to, secret, "0f2d", issue)
	p.Has("#capture", "Started")
	p.Click("#request-0f2d summary")
	p.Has("#request-0f2d", "Use in draft")
	p.Shot("hook")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("hook-phone")
	p.Size(1440, 900)
	p.Click("#request-0f2d .request .bar .btn")
	p.Has("main", "Run draft")
	p.Until(`[...document.querySelectorAll("textarea, input")].some((f) => f.value === "It is broken")`)
	if !strings.HasPrefix(to, e.Http.URL+"/h/") {
		t.Errorf("the URL is %s", to)
	}
}

// TestNewcomer_creates_a_webhook_with_the_keyboard does the same without a mouse: every field can be reached with the tab key, and Enter creates the webhook.
func TestNewcomer_creates_a_webhook_with_the_keyboard(t *testing.T) {
	e := setup(t, time.Time{})
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path("/webhook"))
	p.Has("h1", "New webhook")
	tabTo := func(selector string) {
		t.Helper()
		for range 80 {
			if chrome.Value[bool](p, `document.activeElement.matches('`+selector+`')`) {
				return
			}
			p.Keys(kb.Tab)
		}
		t.Fatalf("the tab key does not reach %s", selector)
	}
	tabTo("#field-when")
	p.Keys(`body.action == "opened"`)
	tabTo(`[name="source.who"]`)
	p.Keys("Ex") // chooses Expression
	p.Until(`document.querySelector('[name="source.who"]').value === "cel"`)
	tabTo(`[name="text.who"]`)
	p.Keys("body.issue.title")
	p.Keys(kb.Enter)
	p.Has("#url", "Enter this secret at the service")
	if h := e.only(); h.Hook.When != `body.action == "opened"` || h.Hook.Verify.Scheme != "github" {
		t.Errorf("stored %+v", h.Hook)
	}
}

// TestBatch_page_follows_a_batch opens the page of a batch, which shows its end without being loaded again.
func TestBatch_page_follows_a_batch(t *testing.T) {
	e := setup(t, time.Time{})
	list := "/flows/" + e.flow + "/batches"
	mapping := e.upload("people.csv", people)
	p := e.Open(chrome.Start(t), flow.MemberEditor, list)
	p.Go(e.Http.URL + mapping)
	p.Until(`document.querySelector('[name="column.count"]') !== null`)
	p.Eval(`document.querySelector('[name="column.who"]').value = "Name"; document.querySelector('[name="column.count"]').value = "times"`)
	p.Shot("batch-new")
	p.Click(`#batch-form [value="start"]`)
	p.Has("#batch", "6 of 6 rows")
	p.Until(`document.querySelector("#batch [data-hx-get]") === null`)
	p.Has("#batch", "Hello Kim, 6 times")
	p.Shot("batch")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("batch-phone")
	p.Theme("dark")
	p.Size(1440, 900)
	p.Go(e.Http.URL + list)
	p.Has("table", "people.csv")
	p.Shot("batches-dark")
	p.Go(e.Http.URL + e.path("/schedule"))
	p.Has("#schedule-next", "Next 5 times")
	p.Shot("schedule-dark")
}
