package console

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/document/aiflow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	// maxImport bounds the form in bytes: a document both as a file and as text,
	// and the overhead of the form.
	maxImport = 2*flow.MaxDocumentBytes + 64<<10
	// maxEchoed is the size, in bytes, up to which the text field shows a refused
	// file, so that the user can fix it there.
	maxEchoed = 256 << 10

	errTooLarge = "This is larger than 4 MiB, the limit for a flow. Split the flow into several."
)

// showImport is GET /flows/import.
func (c *call) showImport() error { return c.importForm(http.StatusOK, consoleview.ImportForm{}) }

// importForm renders the form with the pasted text and its errors.
func (c *call) importForm(status int, f consoleview.ImportForm) error {
	return c.Render(status, consoleview.ImportFlow(c.Page("Import", layout.SectionFlows), f))
}

// importFlow is POST /flows/import. It accepts a flow document or an export of
// AI-Flow.
func (c *call) importFlow() error {
	data, name, form, err := c.readImport()
	if err != nil {
		return err
	}
	if len(form.Errors) > 0 {
		return c.importForm(http.StatusUnprocessableEntity, form)
	}
	if aiflow.Recognize(data) {
		return c.importAIFlow(data, name)
	}
	f, err := c.s.Library.ImportNew(c.Ctx(), c.Actor(), c.WorkspaceID(), data)
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeDocumentInvalid {
		form.Problems = importProblems(e, data)
		return c.importForm(http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+f.Name+"” was imported.")
	return c.Redirect("/flows/" + string(f.ID))
}

// readImport reads the uploaded or pasted document and the name of the file. If they
// are invalid, the returned form has the errors and the text.
func (c *call) readImport() (data []byte, name string, form consoleview.ImportForm, err error) {
	var file []byte
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxImport)
	values, err := c.ReadForm(maxImport, func(field string, part *multipart.Part) (err error) {
		if field == "file" {
			name = part.FileName()
			file, err = c.ReadPart(part, flow.MaxDocumentBytes+1)
		}
		return web.BodyError(err)
	})
	_, large := errors.AsType[*http.MaxBytesError](err)
	if _, long := errors.AsType[web.FormTooLarge](err); large || long {
		form.Errors = components.Errors{"file": errTooLarge}
		return nil, "", form, nil
	}
	if err != nil {
		return nil, "", form, err
	}
	form.Text = values.Get("text")
	data = []byte(form.Text)
	if name != "" {
		if data = file; len(data) <= maxEchoed && utf8.Valid(data) {
			form.Text = string(data)
		}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(data)) == 0 && name != "":
		form.Errors = components.Errors{"file": "This file is empty."}
	case len(bytes.TrimSpace(data)) == 0:
		form.Errors = components.Errors{"": "Choose a file, or paste a flow."}
	case len(data) > flow.MaxDocumentBytes:
		form.Errors = components.Errors{"file": errTooLarge}
	}
	return data, name, form, nil
}

// importProblems returns the problems of a document, each with its path.
func importProblems(e *flow.Error, data []byte) []consoleview.ImportProblem {
	if len(e.Fields) == 0 {
		return []consoleview.ImportProblem{{Place: "document", Text: e.Message}}
	}
	list := make([]consoleview.ImportProblem, len(e.Fields))
	for i, p := range e.Fields {
		list[i] = consoleview.ImportProblem{Place: problemPath(p), Text: problemText(p)}
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		list = append(list, consoleview.ImportProblem{Place: "document", Text: "If this is an AI-Flow export: each node needs a processorType, which is missing."})
	}
	return list
}

// problemPath converts a JSON pointer to the notation that people use:
// nodes[2].config.model.
func problemPath(p flow.Problem) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(p.Pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch {
		case part != "" && strings.Trim(part, "0123456789") == "" && b.Len() > 0:
			b.WriteString("[" + part + "]")
		case b.Len() > 0 && part != "":
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	if b.Len() == 0 {
		return "document"
	}
	if p.Node != "" {
		return b.String() + " (" + p.Node + ")"
	}
	return b.String()
}

// problemText formats a problem as a sentence. It does not capitalize a node ID at
// the start.
func problemText(p flow.Problem) string {
	s := p.Detail
	if p.Node == "" || !strings.HasPrefix(s, p.Node) {
		_, size := utf8.DecodeRuneInString(s)
		s = strings.ToUpper(s[:size]) + s[size:]
	}
	if s != "" && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// importAIFlow converts an AI-Flow export to a draft and reports what was converted,
// changed and lost.
func (c *call) importAIFlow(data []byte, file string) error {
	d, report, err := aiflow.Convert(data, c.s.Kinds)
	if err != nil {
		form := consoleview.ImportForm{Errors: components.Errors{"file": flow.AsError(err).Message}}
		return c.importForm(http.StatusUnprocessableEntity, form)
	}
	if name := flowNameFromFile(file); name != "" {
		d.Name = name
	}
	shown := c.importReport(d, report)
	f, err := c.s.Library.ImportDraft(c.Ctx(), c.Actor(), c.WorkspaceID(), d)
	if err != nil {
		return err
	}
	shown.FlowID = string(f.ID)
	if err := c.markConfigured(shown.Needed); err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.ImportDone(c.Page("Imported", layout.SectionFlows), shown))
}

// flowNameFromFile returns a name for a flow: the file name without directory
// and extension, with spaces for underscores.
func flowNameFromFile(file string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".json")
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == '_' || r == 0x7f {
			return ' '
		}
		return r
	}, name))
	if name == "." || name == "/" || !utf8.ValidString(name) {
		return ""
	}
	return truncateName(name)
}

// importReport groups the notes of a conversion for its page.
func (c *call) importReport(d *flow.Document, report []aiflow.Note) consoleview.ImportReport {
	r := consoleview.ImportReport{Name: d.Name, Graph: web.Thumbnail(d, c.s.Kinds), Edges: len(d.Edges)}
	places := map[aiflow.Sort]*[]string{
		aiflow.Todo: &r.Todo, aiflow.Noted: &r.Noted, aiflow.Lost: &r.Lost, aiflow.Changed: &r.Changed,
		aiflow.Left: &r.Left, aiflow.Mapped: &r.Mapped, aiflow.Passed: &r.Passed,
	}
	for _, n := range report {
		if n.Sort == aiflow.Needed {
			title, _ := c.s.describeProvider(n.Provider)
			r.Needed = append(r.Needed, consoleview.NeededCredential{Provider: n.Provider, Title: title, Text: n.Text})
			continue
		}
		*places[n.Sort] = append(*places[n.Sort], n.Text)
	}
	r.Nodes = len(r.Mapped)
	return r
}

// markConfigured marks the providers that already have a credential in the
// workspace.
func (c *call) markConfigured(needed []consoleview.NeededCredential) error {
	list, err := c.s.Store.ListCredentials(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	for i := range needed {
		for _, k := range list {
			if k.Provider == needed[i].Provider || k.Name == needed[i].Provider {
				needed[i].Have = true
			}
		}
	}
	return nil
}
