package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// problem reports whether a response is an error, by its media type (RFC 9457).
func (c *content) problem() bool {
	_, is := c.Content["application/problem+json"]
	return is
}

// codes of a problem.
func (c *content) codes() []string { return strings.Split(c.Description, ", ") }

// own returns the codes of an operation that are not common to all.
func (d *openAPI) own(status string, r *content) []string {
	return slices.DeleteFunc(r.codes(), func(code string) bool { return slices.Contains(d.common[status], code) })
}

// findCommon collects the codes that all operations with a key share.
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

// open reports whether an operation can be called without a key.
func (o *operation) open() bool { return o.Security != nil }

// problems returns the error codes that an operation can return, by status.
func (o *operation) problems() map[string][]string {
	all := map[string][]string{}
	for status, r := range o.Responses {
		if r.problem() {
			all[status] = r.codes()
		}
	}
	return all
}

// shared returns the codes that are in both a and b under the same status, to find the
// codes that all operations have in common.
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

// writeCommon writes the codes that any request with a key can return, so that the
// tables of the operations list only their own. It sets d.common, which writeAnswers
// needs.
func (d *openAPI) writeCommon(b *strings.Builder) {
	d.findCommon()
	b.WriteString("\n## Every request\n\nA failed request returns a [problem](errors.md). Any request with a key can return these codes; the tables below list the additional codes of each operation.\n")
	b.WriteString("\n| Status | Code |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(d.common)) {
		fmt.Fprintf(b, "| `%s` | %s |\n", status, codeLinks(d.common[status]))
	}
}

// codeLinks returns links to the explanations of the codes.
func codeLinks(codes []string) string {
	var links []string
	for _, code := range codes {
		links = append(links, fmt.Sprintf("[`%s`](errors.md#%s)", code, code))
	}
	return strings.Join(links, ", ")
}
