package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (c *content) problem() bool {
	_, is := c.Content["application/problem+json"]
	return is
}

// codes of a problem.
func (c *content) codes() []string { return strings.Split(c.Description, ", ") }

// own are the codes that an operation has beside those of all.
func (d *openAPI) own(status string, r *content) []string {
	return slices.DeleteFunc(r.codes(), func(code string) bool { return slices.Contains(d.common[status], code) })
}

// findCommon looks for the codes of every request that needs a key.
func (d *openAPI) findCommon() {
	d.common = nil
	for _, item := range d.Paths {
		for _, o := range item {
			if o.open() {
				continue
			}
			if d.common == nil {
				d.common = o.problems()
				continue
			}
			d.common = shared(d.common, o.problems())
		}
	}
}

// open tells that an operation takes no key, or takes something else instead.
func (o *operation) open() bool { return o.Security != nil }

func (o *operation) problems() map[string][]string {
	all := map[string][]string{}
	for status, r := range o.Responses {
		if r.problem() {
			all[status] = r.codes()
		}
	}
	return all
}

func shared(a, b map[string][]string) map[string][]string {
	both := map[string][]string{}
	for status, codes := range a {
		for _, code := range codes {
			if slices.Contains(b[status], code) {
				both[status] = append(both[status], code)
			}
		}
	}
	return both
}

func (d *openAPI) writeCommon(b *strings.Builder) {
	d.findCommon()
	b.WriteString("\n## Every request\n\nA request that fails answers with a [problem](errors.md). These can meet every request with a key; the tables below list what else an operation has.\n")
	b.WriteString("\n| Status | Code |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(d.common)) {
		fmt.Fprintf(b, "| `%s` | %s |\n", status, codeLinks(d.common[status]))
	}
}

// codeLinks are links to what explains the codes.
func codeLinks(codes []string) string {
	var links []string
	for _, code := range codes {
		links = append(links, fmt.Sprintf("[`%s`](errors.md#%s)", code, code))
	}
	return strings.Join(links, ", ")
}
