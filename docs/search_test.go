package docs

import (
	"slices"
	"strings"
	"testing"
)

// questions are what people ask, in their own words, with the pages that answer it. Several pages are separated by spaces; one with an
// anchor wants that section.
var questions = []struct{ ask, want string }{
	{"How do I reset my password?", "faq#i-forgot-my-password"},
	{"how to run a flow every morning", "triggers"},
	{"how can I call a flow from Python?", "quickstart api runs"},
	{"how do I verify the webhook signature", "webhooks#verify-the-signature"},
	{"where is my data stored", "configuration#the-data-directory"},
	{"how to back up the database", "backup"},
	{"can I use it with ollama", "models"},
	{"how do I upgrade to a new version", "upgrading"},
	{"how to put nginx in front of it", "deploy#a-reverse-proxy"},
	{"what does key_missing mean", "errors"},
	{"how do I limit what a key can spend", "keys#limits-and-budgets"},
	{"how long are runs kept", "runs#erase-and-how-long-runs-are-kept"},
	{"can I stream the answer token by token", "streaming chat"},
	{"how do I upload a file", "files"},
	{"how to go back to an old version of a flow", "publishing#go-back"},
	{"does it work with claude code", "mcp"},
	{"how can I keep flows in git", "flows#keep-flows-in-git"},
	{"why is my output missing?", "faq#an-output-is-missing"},
	{"run several servers on one database", "deploy#several-instances"},
	{"ask a person for approval before sending", "runs#approvals agents#asking-before-a-call"},
	{"import workflows from n8n", "coming-from#from-n8n"},
	{"what happens when the server crashes", "backup#what-a-crash-costs concepts#guarantees agents#after-a-crash"},
	{"is there a rate limit", "keys limits"},
	{"how do I embed the form in my website", "form#embed-it"},
	{"how do I make the model return JSON", "models#json-from-a-model"},
	{"avoid starting the same run twice", "runs#start-it-only-once"},
	{"how do I process a CSV with thousands of rows", "batches"},
}

// unseen are questions that the ranking has not been adjusted to.
var unseen = []struct{ ask, want string }{
	{"can I sign in with Google", "sign-in"},
	{"what does it cost to run a model", "models#what-it-costs"},
	{"how do I send emails from the server", "deploy#mail"},
	{"delete a run and everything in it", "runs#erase-and-how-long-runs-are-kept"},
	{"which metrics are there for prometheus", "configuration#health-and-metrics deploy#monitoring"},
	{"how do I rotate an API key", "keys#rotate"},
	{"my webhook never arrives", "faq#my-webhook-does-not-arrive"},
	{"what is the largest file I can upload", "limits#files files"},
	{"cancel a running run", "runs#cancel"},
	{"how do I deploy with docker", "deploy#docker"},
	{"does the agent stop after too many calls", "agents#limits"},
	{"how are secrets encrypted", "security#secrets models#what-happens-to-a-secret"},
	{"use a fallback when the provider is down", "models#fallback-models"},
	{"the server does not start, what now", "faq#the-server-does-not-start"},
	{"what happens to schedules when daylight saving starts", "triggers#when-the-clocks-change"},
	{"can users of different teams see each other's flows", "concepts security keys"},
	{"receive a webhook from Stripe", "triggers#incoming-webhooks"},
	{"how do I test a flow without paying", "faq#is-there-a-test-mode"},
	{"call from the browser with javascript", "not-possible#cors-calls-from-a-browser"},
	{"deploy flows in GitHub Actions", "ci"},
}

// TestSearch_answers_questions wants the right section on top for 24 of the 27 questions, and for 17 of the 20 others among the first three.
func TestSearch_answers_questions(t *testing.T) {
	t.Parallel()
	b := book(t)
	for _, set := range []struct {
		name     string
		list     []struct{ ask, want string }
		top, min int
	}{{"questions", questions, 1, 24}, {"unseen", unseen, 3, 17}} {
		right := 0
		for _, q := range set.list {
			hits := b.Find(q.ask, 5)
			if len(hits) == 0 {
				t.Errorf("%q finds nothing", q.ask)
				continue
			}
			if slices.ContainsFunc(hits[:min(set.top, len(hits))], func(hit Hit) bool { return answers(hit, q.want) }) {
				right++
				continue
			}
			got := ""
			for _, hit := range hits {
				got += " " + strings.TrimPrefix(hit.Path, "/docs/")
			}
			t.Logf("%q finds%s, not %s", q.ask, got, q.want)
		}
		if t.Logf("%s: %d of %d", set.name, right, len(set.list)); right < set.min {
			t.Errorf("%s: %d of %d find their section among the first %d, want %d", set.name, right, len(set.list), set.top, set.min)
		}
	}
}

func answers(hit Hit, want string) bool {
	for page := range strings.FieldsSeq(want) {
		path := "/docs/" + page
		if hit.Path == path || !strings.Contains(page, "#") && strings.HasPrefix(hit.Path, path+"#") {
			return true
		}
	}
	return false
}
