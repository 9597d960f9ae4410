// Package cases serves the pages of the tests of a flow: the cases, the form of a case, reports, and the page that compares candidates. The rules are
// those of library.Tests, which the API uses too.
package cases

import (
	"net/http"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// Config has the dependencies of this package in addition to the site.
type Config struct {
	Library *library.Library
	Runner  web.Runner
	Prices  flow.PriceStore
	MaxFile int64                                                       // bytes of an input file; zero means the store's own limit
	API     func(key *flow.Key, w http.ResponseWriter, r *http.Request) // serves a request to the API as if it had been sent with a key
}

// Server serves the pages.
type Server struct {
	*web.Site
	Config
}

// New returns the pages of a site. Mount its Routes to serve them.
func New(site *web.Site, cfg Config) *Server { return &Server{Site: site, Config: cfg} }

// call is one request to this package.
type call struct {
	*web.Call
	s *Server
}

// Routes returns the routes of this package.
func (s *Server) Routes() (list []web.Route) {
	const tests = "/flows/:flow/tests"
	const one, report = tests + "/cases/:case", tests + "/reports/:test"
	for _, r := range []struct {
		method, path string
		access       web.Access
		handle       func(*call) error
	}{
		{http.MethodGet, tests, web.Viewer, web.OnFlow(listCases)},
		{http.MethodPost, tests, web.Editor, web.Posted(web.OnFlow(runCases))},
		{http.MethodGet, tests + "/new", web.Editor, web.OnFlow(newCase)},
		{http.MethodPost, tests + "/new", web.Editor, web.OnFlow(createCase)},
		{http.MethodGet, tests + "/compare", web.Editor, web.OnFlow(showCompare)},
		{http.MethodPost, tests + "/compare", web.Editor, web.Posted(web.OnFlow(startCompare))},
		{http.MethodGet, tests + "/grid", web.Editor, web.OnFlow(showGrid)},
		{http.MethodPost, tests + "/grid", web.Editor, web.Posted(web.OnFlow(saveGrid))},
		{http.MethodGet, one, web.Editor, onCase(editCase)},
		{http.MethodPost, one, web.Editor, onCase(changeCase)},
		{http.MethodPost, one + "/delete", web.Editor, web.Posted(onCase(deleteCase))},
		{http.MethodGet, report, web.Viewer, onTest(showReport)},
		{http.MethodGet, report + "/download", web.Viewer, onTest(downloadReport)},
		{http.MethodPost, report + "/rerun", web.Editor, web.Posted(onTest(rerunTest))},
		{http.MethodPost, report + "/expect", web.Editor, web.Posted(onTest(expectResult))},
		{http.MethodPost, report + "/draft", web.Editor, web.Posted(onTest(draftCandidate))},
		{http.MethodPost, report + "/marks", web.Editor, web.Posted(onTest(markVerdict))},
		{http.MethodPost, report + "/notes", web.Editor, web.Posted(onTest(saveNotes))},
		{http.MethodPost, report + "/cancel", web.Editor, web.Posted(onTest(cancelTest))},
	} {
		list = append(list, web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(&call{c, s}) }})
	}
	return list
}

// tests returns the rules of tests.
func (c *call) tests() *library.Tests { return c.s.Library.Tests }

// onCase wraps a handler that needs the cases of the flow of the path, and one of them.
func onCase(handle func(*call, *flow.Flow, *cases.File, *cases.Case) error) func(*call) error {
	return web.OnFlow(func(c *call, f *flow.Flow) error {
		file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
		if err != nil {
			return err
		}
		found := file.Find(c.Param("case"))
		if found == nil {
			return web.ErrNotFound
		}
		return handle(c, f, file, found)
	})
}

// onTest wraps a handler that needs the flow of the path, and one of its tests with its run.
func onTest(handle func(*call, *flow.Flow, *cases.Test, *flow.Run) error) func(*call) error {
	return web.OnFlow(func(c *call, f *flow.Flow) error {
		t, err := c.s.Store.FindTest(c.Ctx(), f.WorkspaceID, c.Param("test"))
		if err != nil {
			return err
		}
		if t.FlowID != f.ID || t.RunID == "" {
			return web.ErrNotFound
		}
		run, err := c.s.Store.FindRun(c.Ctx(), f.WorkspaceID, f.ID, t.RunID)
		if err != nil {
			return err
		}
		return handle(c, f, t, run)
	})
}
