package reports

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/sorting"
	"sluice/flow/textdiff"
	"sluice/flow/wording"
)

// Bounds of a report as Markdown. GitHub takes comments of at most 65,536 characters.
const (
	maxMarkdown = 60_000 // bytes
	maxDetails  = 20     // cases with their reasons and outputs
	maxReasons  = 10     // of a case
	maxReason   = 500    // characters
	maxLabel    = 100    // characters of the name of a candidate
	maxOutput   = 2_000  // bytes of an output; longer ones are not compared
)

// detail is a case that a report explains.
type detail struct {
	row       *cases.CaseReport
	candidate int
	result    *cases.CaseResult
	was       *cases.CaseResult // of the baseline; nil without one
	worse     bool
}

// details returns the cases that do not pass: first those that got worse, then failed, stale and errored ones.
func (r *Report) details() (list []detail) {
	for k := range r.Report.Candidates {
		if r.isBaseline(k) {
			continue
		}
		worse := map[string]bool{}
		for _, id := range r.Report.Candidates[k].Worse {
			worse[id] = true
		}
		for i := range r.Report.Cases {
			row := &r.Report.Cases[i]
			d := detail{row: row, candidate: k, result: &row.Results[k], worse: worse[row.ID]}
			if b := r.Plan.Spec.Baseline; b >= 0 && b != k {
				d.was = &row.Results[b]
			}
			if d.result.State != cases.Passed && d.result.State != cases.Pending {
				list = append(list, d)
			}
		}
	}
	rank := func(d detail) int {
		if d.worse {
			return -1
		}
		return slices.Index([]cases.State{cases.Failed, cases.Stale, cases.Errored}, d.result.State)
	}
	sorting.By(list, func(a, b detail) int { return rank(a) - rank(b) })
	return list[:min(len(list), maxDetails)]
}

// markdown returns a report for a comment on a pull request. All texts of cases and runs are escaped: models wrote some of them.
func (r *Report) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s:** %s\n", plain(r.Flow), plain(r.Report.Summary))
	title := ""
	for _, d := range r.details() {
		var part strings.Builder
		if t := d.title(); t != title {
			title = t
			fmt.Fprintf(&part, "\n### %s\n", t)
		}
		r.writeDetail(&part, &d)
		if b.Len()+part.Len() > maxMarkdown/2 {
			break
		}
		b.WriteString(part.String())
	}
	end := r.candidates()
	r.writeTable(&b, maxMarkdown-len(end))
	return []byte(b.String() + end)
}

// label returns the name of a candidate.
func (r *Report) label(k int) string {
	return plain(wording.Truncate(r.Report.Candidates[k].Label, maxLabel))
}

// title returns the heading of the section that a case is in.
func (d *detail) title() string {
	if d.worse {
		return "Got worse"
	}
	return stateTitles[d.result.State]
}

// writeDetail explains why a case does not pass.
func (r *Report) writeDetail(b *strings.Builder, d *detail) {
	fmt.Fprintf(b, "\n**%s**", plain(d.row.ID))
	if d.row.Name != "" {
		fmt.Fprintf(b, " %s", plain(d.row.Name))
	}
	if len(r.Report.Candidates) > 1 {
		fmt.Fprintf(b, " (%s)", r.label(d.candidate))
	}
	if r.URL != nil && d.result.RunID != "" {
		fmt.Fprintf(b, " [run](%s)", r.URL(d.result.RunID))
		if d.was != nil && d.was.RunID != "" {
			fmt.Fprintf(b, ", [%s](%s)", r.label(r.Plan.Spec.Baseline), r.URL(d.was.RunID))
		}
	}
	b.WriteString("\n\n")
	texts := reasons(d.result)
	for _, text := range texts[:min(len(texts), maxReasons)] {
		fmt.Fprintf(b, "- %s\n", code(wording.Truncate(text, maxReason)))
	}
	if n := len(texts) - maxReasons; n > 0 {
		fmt.Fprintf(b, "- and %d more\n", n)
	}
	r.writeOutputs(b, d)
}

// writeOutputs shows how short outputs differ from those of the baseline or, without one, from what the case expects.
func (r *Report) writeOutputs(b *strings.Builder, d *detail) {
	is := r.Outputs[d.result.RunID]
	var was *flow.Object
	if d.was != nil {
		was = r.Outputs[d.was.RunID]
	} else if c := r.Plan.File.Find(d.row.ID); c != nil {
		was = c.Expected
	}
	if is == nil || was == nil {
		return
	}
	for name, v := range is.All() {
		old, has := was.Lookup(name)
		if !has || flow.EqualValues(old, v) {
			continue
		}
		before, after := flow.Text(old), flow.Text(v)
		if len(before) > maxOutput || len(after) > maxOutput {
			continue
		}
		fmt.Fprintf(b, "\n<pre>%s: %s</pre>\n", html.EscapeString(wording.Visible(wording.OneLine(name))), wordDiff(before, after))
	}
}

// wordDiff returns the difference of two texts as HTML for a <pre> element, in which neither Markdown nor @mentions have a meaning.
func wordDiff(before, after string) string {
	var b strings.Builder
	for _, p := range textdiff.Words(before, after) {
		text := html.EscapeString(wording.Visible(strings.ReplaceAll(p.Text, "\r", "")))
		switch p.Change {
		case textdiff.Added:
			text = "<ins>" + text + "</ins>"
		case textdiff.Removed:
			text = "<del>" + text + "</del>"
		}
		b.WriteString(text)
	}
	return b.String()
}

// writeTable writes the cases by candidates, those that do not pass first, until the report has so many bytes.
func (r *Report) writeTable(b *strings.Builder, most int) {
	b.WriteString("\n| Case |")
	line := "| --- |"
	for k := range r.Report.Candidates {
		label := r.label(k)
		if r.isBaseline(k) {
			label += " (baseline)"
		}
		fmt.Fprintf(b, " %s |", label)
		line += " --- |"
	}
	b.WriteString("\n" + line + "\n")
	rows := slices.Clone(r.Report.Cases)
	passes := func(c *cases.CaseReport) int {
		for k := range c.Results {
			if !r.isBaseline(k) && c.Results[k].State != cases.Passed {
				return 0
			}
		}
		return 1
	}
	sorting.By(rows, func(x, y cases.CaseReport) int { return passes(&x) - passes(&y) })
	for i := range rows {
		var row strings.Builder
		fmt.Fprintf(&row, "| %s |", plain(rows[i].ID))
		for k := range rows[i].Results {
			fmt.Fprintf(&row, " %s |", cell(&rows[i].Results[k]))
		}
		if b.Len()+row.Len()+len(moreCases) > most {
			fmt.Fprintf(b, moreCases, len(rows)-i)
			return
		}
		b.WriteString(row.String() + "\n")
	}
}

const moreCases = "\nAnd %d more cases.\n"

// cell sums up what the runs of a case say about a candidate.
func cell(v *cases.CaseResult) string {
	text := stateTitles[v.State]
	if v.State == cases.Pending || v.State == cases.Stale {
		return text
	}
	if v.Runs > 1 {
		text += fmt.Sprintf(", %d of %d", v.Passes, v.Runs)
	}
	return fmt.Sprintf("%s · %.2f · $%s · %.1f s", text, v.Score, v.USD.Rounded(), float64(v.MS)/1000)
}

// candidates returns what is known of each candidate, with the interval: few cases say little.
func (r *Report) candidates() string {
	var b strings.Builder
	b.WriteString("\n")
	for k := range r.Report.Candidates {
		c := &r.Report.Candidates[k]
		fmt.Fprintf(&b, "- %s: %d of %d pass", r.label(k), c.Passed, len(r.Report.Cases))
		if c.Passed+c.Failed > 0 {
			fmt.Fprintf(&b, " (95 %% interval: %.0f to %.0f %%)", 100*c.Low, 100*c.High)
		}
		fmt.Fprintf(&b, "; $%s", c.USD.Rounded())
		if c.Recorded {
			b.WriteString(" with recorded results at their cost")
		}
		fmt.Fprintf(&b, ", $%s spent\n", c.Spent.Rounded())
	}
	return b.String()
}

// code returns a text as a code span on one line.
func code(text string) string {
	text = wording.Visible(wording.OneLine(text))
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// plain escapes a text so that Markdown shows it unchanged. A zero-width space keeps GitHub from notifying people and linking issues.
func plain(text string) string {
	var b strings.Builder
	for _, r := range wording.Visible(wording.OneLine(text)) {
		if strings.ContainsRune("\\`*_{}[]<>|~&!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if r == '@' || r == '#' {
			b.WriteRune('\u200b')
		}
	}
	return b.String()
}
