package builtin

import (
	"errors"
	"math"
	"testing"

	"sluice/e2e/need"
)

// ticketLabels and tickets are a small support inbox.
var ticketLabels = parseLabels(
	"billing: a question about an invoice, payment, charge or refund",
	"shipping: a question about delivery of a parcel, shipping or tracking an order",
	"technical: a technical problem: the app crashes, an error message, a bug or something does not work",
	"account: a question about login, password, account settings or profile",
	"praise: a compliment: the customer is happy and says thank you",
)

var tickets = map[string][]string{
	"billing": {"I was charged twice for my order last week", "Can you send me the invoice for March?", "I want my money back",
		"My credit card payment was declined", "Why is there a fee of 5 dollars on my bill?", "When will I get the refund?"},
	"shipping": {"Where is my package?", "The parcel still hasn't arrived", "Tracking says delivered but I have nothing",
		"Can you ship to Norway?", "How long does delivery take?", "The courier left it with a neighbour"},
	"technical": {"The app crashes when I open settings", "I get error 500 on checkout", "The export button does nothing",
		"Video playback freezes after ten seconds", "The website is not loading", "Bluetooth keeps disconnecting"},
	"account": {"I can't log in", "How do I change my email address?", "Please delete my profile", "I forgot my password",
		"Someone hacked my account", "How can I update my username?"},
	"praise": {"You guys are awesome, thanks!", "Best purchase I ever made", "Great support, very friendly",
		"I love this product", "Thank you so much for the quick help", "Five stars, works perfectly"},
}

func parseLabels(lines ...string) []Label {
	var labels []Label
	for _, line := range lines {
		labels = append(labels, ParseLabel(line))
	}
	return labels
}

func classify(t *testing.T, text string, labels []Label) []Score {
	t.Helper()
	scores, err := setup(t).Classify(t.Context(), "ws", text, labels)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

func TestClassifyRoutesTickets(t *testing.T) {
	t.Parallel()
	need.Time(t)
	right := 0
	for want, texts := range tickets {
		for _, text := range texts {
			if got := classify(t, text, ticketLabels)[0]; got.Label == want {
				right++
			} else {
				t.Logf("%q: %s %.2f, want %s", text, got.Label, got.Score, want)
			}
		}
	}
	if right < 27 {
		t.Errorf("%d of 30 tickets went to the right place", right)
	}
}

func TestClassifySentiment(t *testing.T) {
	t.Parallel()
	labels := parseLabels("positive: I am happy, this is great, I love it", "negative: I am angry, this is terrible, I hate it")
	for want, texts := range map[string][]string{
		"positive": {"The hotel was lovely and the staff were kind", "What a fantastic film", "Exceeded my expectations",
			"Delicious food and quick service", "Not bad at all, quite enjoyable", "My kids adore it"},
		"negative": {"The room was dirty and smelled awful", "Total waste of money", "I will never come back",
			"The battery died after two days", "Not worth the price", "It broke immediately"},
	} {
		for _, text := range texts {
			if got := classify(t, text, labels)[0]; got.Label != want {
				t.Errorf("%q is %s by %.2f", text, got.Label, got.Score)
			}
		}
	}
}

func TestClassifyIsConfidentOnlyWhenClear(t *testing.T) {
	t.Parallel()
	if got := classify(t, "I forgot my password", ticketLabels)[0]; got.Score < 0.9 {
		t.Errorf("a clear case scores %.2f", got.Score)
	}
	if got := classify(t, "blue", ticketLabels)[0]; got.Score > 0.5 {
		t.Errorf("nonsense scores %.2f", got.Score)
	}
}

func TestClassifyScoresAreShares(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Where is my package?", "", "\x00", "🙂"} {
		sum, last := 0.0, 1.0
		for _, s := range classify(t, text, ticketLabels) {
			if s.Score < 0 || s.Score > last {
				t.Errorf("%q: %s scores %g after %g", text, s.Label, s.Score, last)
			}
			sum, last = sum+s.Score, s.Score
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%q: scores add up to %g", text, sum)
		}
	}
}

func TestClassifyKeepsOrderOfTies(t *testing.T) {
	t.Parallel()
	labels := []Label{{Name: "b", Description: "same"}, {Name: "a", Description: "same"}, {Name: "c", Description: "same"}}
	for i, s := range classify(t, "", labels) {
		if s.Label != labels[i].Name {
			t.Errorf("place %d is %s, want %s", i, s.Label, labels[i].Name)
		}
	}
	if got := classify(t, "anything", labels[:1]); got[0].Score != 1 {
		t.Errorf("the only label scores %g", got[0].Score)
	}
}

func TestClassifyWithoutLabels(t *testing.T) {
	t.Parallel()
	if _, err := setup(t).Classify(t.Context(), "ws", "text", nil); !errors.Is(err, ErrCount) {
		t.Errorf("error %v, want ErrCount", err)
	}
}

func TestParseLabel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Label{
		"billing":              {Name: "billing"},
		" billing : invoices ": {Name: "billing", Description: "invoices"},
		"bug: error: a crash":  {Name: "bug", Description: "error: a crash"},
		"bug:":                 {Name: "bug"},
		": odd":                {Name: ": odd"},
		"":                     {},
	} {
		if got := ParseLabel(in); got != want {
			t.Errorf("%q is %+v, want %+v", in, got, want)
		}
	}
	if got := ParseLabel("book_a-call: a meeting").text(); got != "book a call: a meeting" {
		t.Errorf("text of a label: %q", got)
	}
}
