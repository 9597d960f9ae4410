package console

import (
	"net/url"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// UsagePage is the usage in a range of days, compared with the range before it.
type UsagePage struct {
	Filter              UsageFilter
	Flows, Keys, Models []components.Option
	// Days are all days of the range, oldest first.
	Days []UsageDay
	// Hours are the last 24 hours, oldest first, on the first day of a workspace: a single bar in a
	// month says nothing. They have no tokens. Empty on other days.
	Hours                        []UsageDay
	Total, Previous              UsageSum
	TopFlows, TopKeys, TopModels []UsagePart
	Budgets                      []UsageBudget
	MoreBudgets                  int // that are not listed
	Quotas                       []UsageQuota
	hourly                       bool // Days has hours
}

// UsageFilter holds the query parameters of the page.
type UsageFilter struct {
	// Range is "7", "30", "90" days, or "custom" with the days in From and Until.
	Range, From, Until string
	Flow, Key, Model   string
	Errors             components.Errors
}

// UsageDay is the usage of one UTC day, or of the hour that begins at Day.
type UsageDay struct {
	Day time.Time
	UsageSum
}

// UsageSum adds up usage. Percentiles are within 9 %.
type UsageSum struct {
	Runs, Succeeded, Failed, Canceled int64
	Median, P95                       time.Duration
	InputTokens, OutputTokens         int64
	Micros                            int64 // millionths of a US dollar
	Unpriced                          int64 // steps of unknown cost, which Micros doesn't include: unpriced or with a lost call
}

// costValue formats the cost, and adds the number of steps whose cost is unknown: their model has no price, or the
// bill of a call is lost.
func costValue(s UsageSum) string {
	if s.Unpriced > 0 {
		return components.Money(s.Micros) + " · " + components.Quantity(int(s.Unpriced), "step") + " without a price or lost"
	}
	return components.Money(s.Micros)
}

// UsagePart is the usage of one flow, key or model.
type UsagePart struct {
	Name, Href string
	Amount     string
	// Share of the whole, from 0 to 1.
	Share float64
}

// usageRanges are the options for the range. The value is a number of days, or "custom".
var usageRanges = []components.Option{{Value: "7", Label: "7 days"}, {Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Value: "custom", Label: "From … until …"}}

// values returns the filter as URL parameters, without empty ones.
func (f UsageFilter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"range": f.Range, "from": f.From, "until": f.Until, "flow": f.Flow, "key": f.Key, "model": f.Model} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// With returns the URL of the page with one parameter changed.
func (f UsageFilter) With(name, value string) string {
	q := f.values()
	q.Set(name, value)
	return "/usage?" + q.Encode()
}

// empty reports whether the page without filters has no data, so that it shows how to get some.
func (p UsagePage) empty() bool {
	return p.Filter.Range == "30" && p.Total == UsageSum{} && p.Previous == UsageSum{} && p.Filter.Flow == "" && p.Filter.Key == "" && p.Filter.Model == ""
}

func (s UsageSum) tokens() int64 { return s.InputTokens + s.OutputTokens }

// success returns the share of runs that succeeded; known is false if none succeeded or failed.
func (s UsageSum) success() (share float64, known bool) {
	if s.Succeeded+s.Failed == 0 {
		return 0, false
	}
	return float64(s.Succeeded) / float64(s.Succeeded+s.Failed), true
}

// successText returns the percentage of runs that succeeded, or a dash if none
// succeeded or failed. Canceled runs do not count.
func (s UsageSum) successText() string {
	if share, ok := s.success(); ok {
		return components.Percent(share)
	}
	return "–"
}

// durationText formats a duration. 0 stands for "no run has ended" and is shown as a
// dash.
func durationText(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return components.Duration(d)
}

func (u UsagePart) share() components.Share {
	return components.Share{Part: u.Share, Label: u.Name + ": " + components.Percent(u.Share)}
}

func (u UsagePart) path() templ.SafeURL { return templ.SafeURL(u.Href) }
