package layout_test

import (
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func errorSamples(theme layout.Theme) map[string]templ.Component {
	return map[string]templ.Component{
		"error-403": layout.ErrorPage(layout.Page{Title: "Not allowed", Theme: theme}, layout.ProblemOf(403, "")),
		"error-404": layout.ErrorPage(viewtest.Page("Not found", "", theme), layout.ProblemOf(404, "")),
		"error-500": layout.ErrorPage(layout.Page{Title: "Error", Theme: theme}, layout.ProblemOf(500, "req_01JD6V0Q8Z")),
	}
}
