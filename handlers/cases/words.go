package cases

import (
	"fmt"
	"strings"

	"sluice/flow/cases"
	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// short cuts a text for a line.
func short(text string) string {
	return wording.Fit(strings.Join(strings.Fields(text), " "), shownMessage)
}

// shortValue returns a text as part of the name of a candidate.
func shortValue(text string) string {
	return wording.Fit(strings.Join(strings.Fields(text), " "), namedValue)
}

// flakyText says how often a case passed.
func flakyText(r cases.Rate) string { return fmt.Sprintf("flaky, passes %d of %d", r.Passed, r.Runs) }

func sortedKeys(m map[string]any) []string { return sorting.Keys(m) }

// gateText says what publishing needs.
func gateText(g *cases.Gate) string {
	which := "every case"
	if len(g.Tags) > 0 {
		which = "every case tagged " + strings.Join(g.Tags, " or ")
	}
	text := "Publishing needs " + which + " to pass"
	if g.PassRate < 1 {
		text = fmt.Sprintf("Publishing needs %.0f %% of %s to pass", 100*g.PassRate, strings.Replace(which, "every case", "the cases", 1))
	}
	if g.NoWorse {
		text += ", and none that gets worse than live"
	}
	return text + "."
}
