package handlers_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

// TestForms_reject_malformed_bodies sends malformed forms to several pages. Each gets an
// error of the client.
func TestForms_reject_malformed_bodies(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberOwner), h.PublishedFlow(webtest.Greeting)
	const field = "--b\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\n"
	for name, form := range map[string]struct{ mime, body string }{
		"no boundary":         {"multipart/form-data", field},
		"no part":             {"multipart/form-data; boundary=b", "xx"},
		"cut in a value":      {"multipart/form-data; boundary=b", field + "a"},
		"large header":        {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("x", 11<<20) + "\"\r\n\r\na\r\n--b--\r\n"},
		"many headers":        {"multipart/form-data; boundary=b", "--b\r\n" + strings.Repeat("X: y\r\n", 20_000) + "\r\na\r\n--b--\r\n"},
		"many parts":          {"multipart/form-data; boundary=b", strings.Repeat(field+"a\r\n", web.MaxParts+1) + "--b--\r\n"},
		"NUL in a value":      {"multipart/form-data; boundary=b", field + "a\x00\r\n--b--\r\n"},
		"no UTF-8 in a value": {"multipart/form-data; boundary=b", field + "\xff\r\n--b--\r\n"},
		"NUL, as fields":      {"application/x-www-form-urlencoded", "tags=%00"},
		"a bad escape":        {"application/x-www-form-urlencoded", "tags=%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/flows/" + id + "/tags", "/flows/import", "/flows/" + id + "/run", "/flows/" + id + "/limits", "/keys", "/settings/workspace"} {
				a := b.Send(http.MethodPost, path, form.mime, strings.NewReader(form.body))
				if a.Status != http.StatusUnprocessableEntity && a.Status != http.StatusRequestEntityTooLarge {
					t.Errorf("%s answers %d", path, a.Status)
				}
			}
		})
	}
	for name, form := range map[string]struct{ mime, coding, body string }{
		"JSON":                   {"application/json", "", `{"tags": "red"}`},
		"plain text":             {"text/plain", "", "tags=red"},
		"no type":                {"", "", "tags=red"},
		"compressed fields":      {"application/x-www-form-urlencoded", "gzip", "tags=red"},
		"compressed parts":       {"multipart/form-data; boundary=b", "gzip", field + "red\r\n--b--\r\n"},
		"fields in UTF-7":        {"application/x-www-form-urlencoded; charset=utf-7", "", "tags=%2BAOk-"},
		"a part in ISO-2022-JP":  {"multipart/form-data; boundary=b", "", "--b\r\nContent-Disposition: form-data; name=\"tags\"\r\nContent-Type: text/plain; charset=iso-2022-jp\r\n\r\n\x1b$BF|\x1b(B\r\n--b--\r\n"},
		"a value in Base64":      {"multipart/form-data; boundary=b", "", "--b\r\nContent-Disposition: form-data; name=\"tags\"\r\nContent-Transfer-Encoding: base64\r\n\r\ncmVk\r\n--b--\r\n"},
		"a file in Base64":       {"multipart/form-data; boundary=b", "", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.json\"\r\nContent-Transfer-Encoding: base64\r\n\r\ncmVk\r\n--b--\r\n"},
		"fields in quotes' type": {"application/x-www-form-urlencoded; charset", "", "tags=red"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/flows/" + id + "/tags", "/flows/import", "/flows/" + id + "/run", "/keys"} {
				if a := b.Send(http.MethodPost, path, form.mime, strings.NewReader(form.body), func(r *http.Request) { r.Header.Set("Content-Encoding", form.coding) }); a.Status != http.StatusUnsupportedMediaType {
					t.Errorf("%s answers %d", path, a.Status)
				}
			}
		})
	}
	t.Run("reads a button without fields, and a stated encoding", func(t *testing.T) {
		t.Parallel()
		b.Send(http.MethodPost, "/flows/"+id+"/tags", "", strings.NewReader("")).RedirectsTo("/flows")
		b.Send(http.MethodPost, "/flows/"+id+"/tags", "application/x-www-form-urlencoded; charset=UTF-8", strings.NewReader("tags=blue")).RedirectsTo("/flows")
	})
	t.Run("parts are read like fields", func(t *testing.T) {
		t.Parallel()
		b.Send(http.MethodPost, "/flows/"+id+"/tags", "multipart/form-data; boundary=b", strings.NewReader(field+"red\r\n--b--\r\n")).RedirectsTo("/flows")
		b.Get("/flows").Has("red")
	})
}

// TestForms_are_read_only_by_ReadForm checks that nothing else under handlers reads the body of
// a form: handlers/web/form.go bounds sizes and removes temporary files.
func TestForms_are_read_only_by_ReadForm(t *testing.T) {
	t.Parallel()
	names := []string{"ParseMultipartForm", "MultipartReader", "MultipartForm", "FormFile", "FormParams", "PostFormValue", "Bind"}
	checked := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || path == filepath.Join("web", "form.go") {
			return err
		}
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		checked++
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			_, ofRequest := s.X.(*ast.CallExpr) // c.Request().ParseForm(), unlike c.ParseForm()
			if slices.Contains(names, s.Sel.Name) || s.Sel.Name == "ParseForm" && ofRequest {
				t.Errorf("%s uses %s; read forms with ReadForm", path, s.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || checked < 100 {
		t.Errorf("checked %d files: %v", checked, err)
	}
}
