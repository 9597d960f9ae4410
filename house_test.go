// Package sluice_test checks rules of the repository: which package may import
// which, one comment per package, and a single way for outgoing requests.
package sluice_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed lists which packages of this module a package may import. Everything
// points at flow; only cmd knows all others.
var allowed = map[string][]string{
	"sluice/cmd/sluice/catalog":          {"sluice/cmd/sluice/upstream", "sluice/flow", "sluice/flow/credentialuse", "sluice/flow/library", "sluice/flow/people", "sluice/handlers/admin", "sluice/handlers/console", "sluice/mcpclient", "sluice/nodes", "sluice/providers", "sluice/providers/hosted", "sluice/views/components"},
	"sluice/cmd/sluice/client":           {"sluice/flow"},
	"sluice/cmd/sluice/command":          {},
	"sluice/cmd/sluice/memory":           {"sluice/flow/inflight"},
	"sluice/cmd/sluice/metrics":          {"sluice/db", "sluice/db/core", "sluice/flow", "sluice/handlers/web", "sluice/jobs", "sluice/outbound", "sluice/telemetry"},
	"sluice/cmd/sluice/remote":           {"sluice/cmd/sluice/client", "sluice/flow", "sluice/flow/cases", "sluice/flow/document", "sluice/flow/document/aiflow", "sluice/flow/library", "sluice/nodes", "sluice/nodes/expression"},
	"sluice/cmd/sluice/upstream":         {"sluice/flow", "sluice/mcpclient", "sluice/outbound", "sluice/providers", "sluice/providers/hosted"},
	"sluice/db":                          {"sluice/flow/alarms", "sluice/db/auditkeys", "sluice/db/bases", "sluice/db/blobs", "sluice/db/cases", "sluice/db/children", "sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/db/lists", "sluice/db/masterkey", "sluice/db/slugs", "sluice/db/webhooks", "sluice/flow", "sluice/flow/busy", "sluice/flow/companion", "sluice/flow/document", "sluice/flow/fairness", "sluice/flow/forms", "sluice/flow/histogram", "sluice/flow/hooks", "sluice/flow/media", "sluice/flow/triggers"},
	"sluice/db/auditkeys":                {"sluice/db/gen"},
	"sluice/db/backup":                   {"sluice/db", "sluice/db/blobs", "sluice/db/core", "sluice/db/dbconn", "sluice/db/masterkey", "sluice/flow"},
	"sluice/db/bases":                    {"sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/flow", "sluice/flow/knowledge"},
	"sluice/db/blobs":                    {"sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/flow"},
	"sluice/db/cases":                    {"sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/db/lists", "sluice/flow", "sluice/flow/cases"},
	"sluice/db/children":                 {"sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/flow", "sluice/flow/items"},
	"sluice/db/core":                     {"sluice/db/auditkeys", "sluice/db/dbconn", "sluice/db/gen", "sluice/db/masterkey", "sluice/db/migrations", "sluice/db/parts", "sluice/flow", "sluice/flow/contract", "sluice/flow/fairness", "sluice/flow/histogram", "sluice/flow/inflight"},
	"sluice/db/dbconn":                   {"sluice/db/gen", "sluice/flow"},
	"sluice/db/dbtest":                   {"sluice/db", "sluice/db/dbtest/pgserver", "sluice/e2e/need"},
	"sluice/db/dbtest/pgserver":          {},
	"sluice/db/dbtest/s3server":          {"sluice/e2e/need"},
	"sluice/db/gen":                      {"sluice/flow"},
	"sluice/db/lists":                    {"sluice/db/core", "sluice/db/dbconn", "sluice/flow"},
	"sluice/db/masterkey":                {"sluice/db/dbconn"},
	"sluice/db/migrations":               {"sluice/db/dbconn", "sluice/db/gen", "sluice/flow", "sluice/flow/document"},
	"sluice/db/parts":                    {"sluice/db/dbconn", "sluice/db/gen", "sluice/flow"},
	"sluice/db/slugs":                    {"sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/flow", "sluice/flow/document"},
	"sluice/db/webhooks":                 {"sluice/db/core", "sluice/db/dbconn", "sluice/db/gen", "sluice/db/lists", "sluice/flow", "sluice/flow/document", "sluice/flow/endpoints", "sluice/flow/fairness"},
	"sluice/deploy":                      {},
	"sluice/docs":                        {},
	"sluice/documents":                   {"sluice/documents/charset", "sluice/documents/delimited", "sluice/documents/pdfium", "sluice/sandbox"},
	"sluice/documents/charset":           {},
	"sluice/documents/delimited":         {},
	"sluice/documents/pdfium":            {},
	"sluice/e2e/all":                     {},
	"sluice/e2e/chrome":                  {"sluice/e2e/need"},
	"sluice/e2e/firefox":                 {"sluice/e2e/chrome", "sluice/e2e/need"},
	"sluice/e2e/need":                    {},
	"sluice/e2e/npm":                     {"sluice/e2e/need"},
	"sluice/flow":                        {"sluice/flow/position"},
	"sluice/flow/audit":                  {"sluice/flow"},
	"sluice/flow/callees":                {"sluice/flow", "sluice/flow/document"},
	"sluice/flow/busy":                   {},
	"sluice/flow/cache":                  {},
	"sluice/flow/codes":                  {"sluice/flow"},
	"sluice/flow/alarms":                 {"sluice/flow", "sluice/flow/companion"},
	"sluice/flow/cases":                  {"sluice/documents/delimited", "sluice/flow", "sluice/flow/companion", "sluice/flow/pattern"},
	"sluice/flow/cases/reports":          {"sluice/flow", "sluice/flow/cases"},
	"sluice/flow/companion":              {"sluice/flow"},
	"sluice/flow/contract":               {"sluice/flow", "sluice/flow/media", "sluice/flow/pattern"},
	"sluice/flow/cputime":                {},
	"sluice/flow/worktime":               {},
	"sluice/flow/document":               {"sluice/flow", "sluice/flow/contract", "sluice/flow/cputime"},
	"sluice/flow/document/aiflow":        {"sluice/flow", "sluice/flow/contract", "sluice/flow/document"},
	"sluice/flow/endpoints":              {"sluice/flow"},
	"sluice/flow/engine":                 {"sluice/flow", "sluice/flow/busy", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/inflight", "sluice/flow/redaction", "sluice/flow/worktime"},
	"sluice/flow/fairness":               {"sluice/flow"},
	"sluice/flow/caller":                 {},
	"sluice/flow/estimates":              {"sluice/flow", "sluice/flow/callees", "sluice/flow/cases", "sluice/flow/document"},
	"sluice/flow/filelinks":              {"sluice/flow"},
	"sluice/flow/flowtest":               {"sluice/flow", "sluice/flow/cputime"},
	"sluice/flow/forms":                  {"sluice/flow"},
	"sluice/flow/histogram":              {},
	"sluice/flow/hooks":                  {"sluice/documents/charset", "sluice/flow", "sluice/flow/contract", "sluice/flow/media", "sluice/flow/signature", "sluice/flow/sorting"},
	"sluice/flow/inflight":               {},
	"sluice/flow/items":                  {"sluice/flow"},
	"sluice/flow/knowledge":              {"sluice/flow", "sluice/flow/companion"},
	"sluice/flow/credentialuse":          {"sluice/flow", "sluice/flow/cache", "sluice/flow/document"},
	"sluice/flow/library":                {"sluice/flow", "sluice/flow/sorting", "sluice/flow/alarms", "sluice/flow/audit", "sluice/flow/callees", "sluice/flow/cases", "sluice/flow/companion", "sluice/flow/contract", "sluice/flow/credentialuse", "sluice/flow/document", "sluice/flow/forms", "sluice/flow/hooks", "sluice/flow/knowledge", "sluice/flow/people", "sluice/flow/schedule", "sluice/flow/triggers"},
	"sluice/flow/people":                 {"sluice/flow", "sluice/flow/audit"},
	"sluice/flow/media":                  {"sluice/flow"},
	"sluice/flow/position":               {},
	"sluice/flow/redaction":              {"sluice/flow"},
	"sluice/flow/triggers":               {"sluice/flow", "sluice/flow/companion", "sluice/flow/hooks", "sluice/flow/schedule", "sluice/flow/signature"},
	"sluice/flow/pattern":                {},
	"sluice/flow/schedule":               {"sluice/flow/timezones"},
	"sluice/flow/timezones":              {},
	"sluice/flow/signature":              {},
	"sluice/flow/sorting":                {},
	"sluice/flow/textdiff":               {},
	"sluice/flow/wording":                {},
	"sluice/handlers":                    {"sluice/db", "sluice/flow", "sluice/flow/cases", "sluice/flow/filelinks", "sluice/flow/hooks", "sluice/flow/inflight", "sluice/flow/library", "sluice/flow/people", "sluice/handlers/account", "sluice/handlers/admin", "sluice/handlers/api", "sluice/handlers/automation", "sluice/handlers/bases", "sluice/handlers/cases", "sluice/handlers/console", "sluice/handlers/docs", "sluice/handlers/editor", "sluice/handlers/forms", "sluice/handlers/hooks", "sluice/handlers/mcp", "sluice/handlers/openai", "sluice/handlers/web", "sluice/outbound/oidc"},
	"sluice/flow/trace":                  {},
	"sluice/flow/value":                  {},
	"sluice/handlers/factor":             {},
	"sluice/handlers/account":            {"sluice/flow", "sluice/flow/fairness", "sluice/flow/library", "sluice/flow/people", "sluice/flow/schedule", "sluice/flow/wording", "sluice/handlers/factor", "sluice/handlers/passwords", "sluice/handlers/web", "sluice/outbound/oidc", "sluice/views/account", "sluice/views/components", "sluice/views/console", "sluice/views/layout"},
	"sluice/handlers/admin":              {"sluice/flow/contract", "sluice/db", "sluice/flow", "sluice/flow/credentialuse", "sluice/flow/alarms", "sluice/flow/cases", "sluice/flow/cases/reports", "sluice/flow/companion", "sluice/flow/document", "sluice/flow/estimates", "sluice/flow/histogram", "sluice/flow/hooks", "sluice/flow/knowledge", "sluice/flow/library", "sluice/flow/people", "sluice/flow/schedule", "sluice/flow/triggers", "sluice/handlers/api", "sluice/handlers/api/openapi", "sluice/handlers/passwords"},
	"sluice/handlers/api":                {"sluice/documents", "sluice/nodes/batches", "sluice/flow", "sluice/flow/cases", "sluice/flow/caller", "sluice/flow/codes", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/document/aiflow", "sluice/flow/fairness", "sluice/flow/filelinks", "sluice/flow/inflight", "sluice/flow/library", "sluice/flow/media", "sluice/handlers/api/openapi", "sluice/handlers/api/uses", "sluice/handlers/web", "sluice/handlers/web/conns", "sluice/outbound", "sluice/flow/knowledge"},
	"sluice/handlers/api/openapi":        {"sluice/flow", "sluice/flow/contract", "sluice/flow/document"},
	"sluice/handlers/api/uses":           {"sluice/flow"},
	"sluice/handlers/console":            {"sluice/docs", "sluice/flow", "sluice/flow/credentialuse", "sluice/flow/audit", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/document/aiflow", "sluice/flow/endpoints", "sluice/flow/filelinks", "sluice/flow/histogram", "sluice/flow/items", "sluice/flow/knowledge", "sluice/flow/library", "sluice/flow/people", "sluice/handlers/console/advice", "sluice/handlers/web", "sluice/snippets", "sluice/views/components", "sluice/views/console", "sluice/views/docs", "sluice/views/editor", "sluice/views/layout"},
	"sluice/handlers/console/advice":     {"sluice/flow", "sluice/flow/codes"},
	"sluice/handlers/docs":               {"sluice/docs", "sluice/flow", "sluice/handlers/web", "sluice/snippets", "sluice/static", "sluice/views/docs", "sluice/views/layout"},
	"sluice/handlers/editor":             {"sluice/flow", "sluice/flow/codes", "sluice/flow/contract", "sluice/flow/cputime", "sluice/flow/document", "sluice/flow/forms", "sluice/flow/inflight", "sluice/flow/items", "sluice/flow/library", "sluice/flow/media", "sluice/flow/sorting", "sluice/flow/textdiff", "sluice/handlers/console/advice", "sluice/handlers/passwords", "sluice/handlers/web", "sluice/handlers/web/conns", "sluice/markdown", "sluice/snippets", "sluice/views/components", "sluice/views/console", "sluice/views/editor", "sluice/views/forms", "sluice/views/layout"},
	"sluice/handlers/forms":              {"sluice/flow", "sluice/flow/codes", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/fairness", "sluice/flow/filelinks", "sluice/flow/forms", "sluice/flow/library", "sluice/handlers/web", "sluice/handlers/web/conns", "sluice/markdown", "sluice/static", "sluice/views/components", "sluice/views/editor", "sluice/views/forms", "sluice/views/layout"},
	"sluice/handlers/mcp":                {"sluice/flow", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/inflight", "sluice/handlers/api", "sluice/handlers/api/openapi", "sluice/handlers/web", "sluice/handlers/web/conns", "sluice/flow/knowledge"},
	"sluice/handlers/openai":             {"sluice/flow", "sluice/flow/codes", "sluice/flow/contract", "sluice/flow/media", "sluice/handlers/api", "sluice/handlers/web", "sluice/handlers/web/conns", "sluice/markdown"},
	"sluice/handlers/automation":         {"sluice/documents", "sluice/handlers/console/advice", "sluice/nodes/batches", "sluice/flow", "sluice/flow/alarms", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/hooks", "sluice/flow/items", "sluice/flow/library", "sluice/flow/schedule", "sluice/flow/signature", "sluice/flow/triggers", "sluice/handlers/web", "sluice/views/automation", "sluice/views/components", "sluice/views/editor", "sluice/views/layout"},
	"sluice/handlers/bases":              {"sluice/flow", "sluice/flow/knowledge", "sluice/flow/library", "sluice/flow/wording", "sluice/handlers/web", "sluice/views/bases", "sluice/views/components", "sluice/views/layout"},
	"sluice/handlers/cases":              {"sluice/flow", "sluice/flow/cases", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/estimates", "sluice/flow/items", "sluice/flow/library", "sluice/flow/sorting", "sluice/flow/textdiff", "sluice/flow/wording", "sluice/handlers/web", "sluice/views/cases", "sluice/views/components", "sluice/views/layout"},
	"sluice/handlers/hooks":              {"sluice/flow", "sluice/flow/cache", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/forms", "sluice/flow/hooks", "sluice/flow/inflight", "sluice/flow/signature", "sluice/flow/triggers", "sluice/handlers/web"},
	"sluice/handlers/passwords":          {"sluice/flow"},
	"sluice/handlers/web":                {"sluice/db", "sluice/flow", "sluice/flow/caller", "sluice/flow/codes", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/fairness", "sluice/flow/forms", "sluice/flow/inflight", "sluice/handlers/passwords", "sluice/handlers/web/conns", "sluice/markdown", "sluice/static", "sluice/views/components", "sluice/views/layout", "sluice/flow/knowledge"},
	"sluice/handlers/web/conns":          {},
	"sluice/javascript":                  {"sluice/sandbox"},
	"sluice/mcpclient":                   {"sluice/flow", "sluice/outbound", "sluice/providers/eventstream"},
	"sluice/jobs":                        {"sluice/flow", "sluice/flow/alarms", "sluice/flow/busy", "sluice/flow/caller", "sluice/flow/cases", "sluice/flow/contract", "sluice/flow/document", "sluice/flow/engine", "sluice/flow/fairness", "sluice/flow/filelinks", "sluice/flow/inflight", "sluice/flow/redaction", "sluice/flow/schedule", "sluice/flow/triggers", "sluice/outbound"},
	"sluice/jobs/peers":                  {"sluice/flow"},
	"sluice/markdown":                    {},
	"sluice/nodes":                       {"sluice/documents", "sluice/flow", "sluice/flow/contract", "sluice/flow/knowledge", "sluice/flow/media", "sluice/flow/pattern", "sluice/flow/position", "sluice/flow/redaction", "sluice/flow/timezones", "sluice/flow/worktime", "sluice/javascript", "sluice/markdown", "sluice/nodes/agents", "sluice/nodes/bases", "sluice/nodes/batches", "sluice/nodes/errtext", "sluice/nodes/expression", "sluice/nodes/jsonpath", "sluice/nodes/pinned", "sluice/nodes/servertools", "sluice/nodes/tests", "sluice/outbound", "sluice/providers", "sluice/providers/builtin", "sluice/providers/hosted", "sluice/sandbox"},
	"sluice/nodes/agents":                {"sluice/flow", "sluice/flow/value", "sluice/flow/wording", "sluice/providers"},
	"sluice/nodes/bases":                 {"sluice/documents", "sluice/flow", "sluice/flow/knowledge", "sluice/flow/value", "sluice/flow/wording", "sluice/nodes/expression", "sluice/nodes/passages", "sluice/providers/builtin"},
	"sluice/nodes/batches":               {"sluice/documents", "sluice/flow", "sluice/flow/contract", "sluice/nodes/expression"},
	"sluice/nodes/errtext":               {"sluice/flow"},
	"sluice/nodes/expression":            {"sluice/flow", "sluice/flow/pattern", "sluice/nodes/errtext"},
	"sluice/nodes/jsonpath":              {},
	"sluice/nodes/passages":              {"sluice/flow/wording", "sluice/providers/builtin"},
	"sluice/nodes/pinned":                {"sluice/flow", "sluice/providers/hosted"},
	"sluice/nodes/reference":             {"sluice/flow", "sluice/flow/document", "sluice/nodes"},
	"sluice/nodes/servertools":           {"sluice/flow", "sluice/mcpclient", "sluice/providers"},
	"sluice/nodes/tests":                 {"sluice/flow", "sluice/flow/cases", "sluice/flow/document", "sluice/nodes/expression", "sluice/providers"},
	"sluice/outbound/mail":               {},
	"sluice/outbound/oidc":               {},
	"sluice/outbound/oidc/oidctest":      {},
	"sluice/outbound/mail/mailtest":      {},
	"sluice/outbound/s3":                 {},
	"sluice/outbound":                    {"sluice/flow/caller", "sluice/flow/inflight", "sluice/flow/position"},
	"sluice/providers":                   {"sluice/flow/pattern", "sluice/outbound", "sluice/providers/eventstream", "sluice/providers/fault"},
	"sluice/providers/builtin":           {"sluice/sandbox"},
	"sluice/providers/eventstream":       {},
	"sluice/providers/fault":             {},
	"sluice/providers/generate":          {},
	"sluice/providers/hosted":            {"sluice/flow/pattern", "sluice/outbound", "sluice/providers", "sluice/providers/eventstream", "sluice/providers/fault"},
	"sluice/providers/hosted/hostedtest": {},
	"sluice/providers/prices":            {"sluice/flow"},
	"sluice/providers/scripted":          {},
	"sluice/sandbox":                     {"sluice/flow/worktime"},
	"sluice/snippets":                    {"sluice/flow", "sluice/flow/contract", "sluice/flow/document"},
	"sluice/static":                      {},
	"sluice/telemetry":                   {"sluice/flow"},
	"sluice/views":                       {},
	"sluice/views/render":                {},
	"sluice/views/account":               {"sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/automation":            {"sluice/flow/schedule", "sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/cases":                 {"sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/bases":                 {"sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/components":            {"sluice/static", "sluice/views/render"},
	"sluice/views/console":               {"sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/docs":                  {"sluice/docs", "sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/editor":                {"sluice/flow", "sluice/flow/contract", "sluice/flow/document", "sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/forms":                 {"sluice/static", "sluice/views/components", "sluice/views/layout", "sluice/views/render"},
	"sluice/views/generate":              {},
	"sluice/views/layout":                {"sluice/static", "sluice/views/components", "sluice/views/render"},
	"sluice/views/viewtest":              {"sluice/static", "sluice/views/layout"},
}

// leaves lists packages of general use, which any other may import. They import only each other.
var leaves = []string{"sluice/flow/cache", "sluice/flow/sorting", "sluice/flow/textdiff", "sluice/flow/trace", "sluice/flow/value", "sluice/flow/wording"}

// knowsEveryone lists the packages that may import all others, because they wire, test
// or measure them.
var knowsEveryone = []string{"sluice/handlers/webtest", "sluice/cmd/sluice", "sluice/bench", "sluice/e2e", "sluice"}

type goPackage struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		may, listed := allowed[p.ImportPath]
		if slices.Contains(knowsEveryone, p.ImportPath) || generator(p) {
			continue
		}
		if !listed {
			t.Errorf("%s is not in the table of allowed imports; add it with the packages that it may import", p.ImportPath)
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "sluice/") && !slices.Contains(may, i) && !slices.Contains(leaves, i) {
				t.Errorf("%s must not import %s", p.ImportPath, i)
			}
		}
	}
}

// generator reports whether a package is a program that generates files of its
// parent package.
func generator(p goPackage) bool {
	return strings.HasSuffix(p.ImportPath, "/generate") || strings.HasSuffix(p.ImportPath, "/gen") && p.ImportPath != "sluice/db/gen" ||
		strings.Contains(p.ImportPath, "/convert")
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.ImportPath == "sluice/db/gen" || len(p.GoFiles) == 0 {
			continue // generated, or only tests
		}
		var with []string
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil && !ast.IsGenerated(f) {
				with = append(with, name)
			}
		}
		if len(with) != 1 {
			t.Errorf("%s has %d package comments (%s), want 1", p.ImportPath, len(with), strings.Join(with, ", "))
		}
	}
}

// forbidden lists functions that make connections without package outbound.
var forbidden = map[string][]string{
	"http": {"Get", "Post", "PostForm", "Head", "DefaultClient", "DefaultTransport", "Transport"},
	"net":  {"Dial", "DialTimeout", "DialTCP", "DialUDP", "Dialer"},
}

// otherWaysOut lists the files that may make connections without package
// outbound, and why.
var otherWaysOut = map[string]string{
	"cmd/sluice/client/client.go":    "the command line calls the server that its user names; no flow is involved",
	"db/dbtest/proxy.go":             "only tests use it, as a proxy of their database server",
	"db/dbtest/s3server/s3server.go": "only tests use it, to wait for their S3 server",
	"db/dbconn/limits_postgres.go":   "connects to the PostgreSQL of DATABASE_URL",
	"jobs/peers/follow.go":           "instances call each other in a private network, which outbound blocks; addresses come only from the table of instances, and both ends prove that they have the master key before anything is sent",
}

func TestOneWayOut(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || path == "outbound" || path == "bench" || path == "e2e" || path == "handlers/webtest") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			checkWayOut(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkWayOut(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := false
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(forbidden[pkg.Name], sel.Sel.Name) {
			if used = true; otherWaysOut[filepath.ToSlash(path)] != "" {
				return true
			}
			t.Errorf("%s: %s.%s bypasses package outbound", files.Position(n.Pos()), pkg.Name, sel.Sel.Name)
		}
		return true
	})
	if !used && otherWaysOut[filepath.ToSlash(path)] != "" {
		t.Errorf("%s is listed in otherWaysOut but makes no connection", path)
	}
}

// TestAuditEntries_are_written_with_their_act checks that handlers and commands add no entries to the
// audit log: package flow/library does, in the transaction of the act.
func TestAuditEntries_are_written_with_their_act(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"handlers", "cmd"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				var name string
				switch n := n.(type) {
				case *ast.CompositeLit:
					if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "AuditEntry" {
						name = "a literal AuditEntry"
					}
				case *ast.SelectorExpr:
					if n.Sel.Name == "AddAudit" {
						name = "AddAudit"
					}
				}
				if name != "" {
					t.Errorf("%s: %s; add a method to package flow/library, which makes the change and its entry in one transaction", files.Position(n.Pos()), name)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
