package api

import (
	"net/http"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// fileRoutes returns the routes of files.
func (s *Server) fileRoutes() []Route {
	return []Route{{
		Method: http.MethodPost, Path: "/v1/files", Scopes: scopesRun, Handle: s.createFile,
		Role: flow.MemberEditor, Commands: []string{"flow run"},
		Doc: openapi.Operation{ID: "createFile", Tag: "Files", Summary: "Upload a file for an input of type file",
			Text: "One part named file. The response can be used as the value of the input. With curl: -F file=@cat.png.",
			Body: openapi.Body{Name: "Upload", Type: typeForm}, Problems: []flow.Code{flow.CodeUnsupportedMediaType, flow.CodeInputInvalid, flow.CodeBodyTooLarge, flow.CodeQuotaExceeded, flow.CodeDraining, flow.CodeStorageFull, flow.CodeStorageUnavailable},
			Answers: []openapi.Answer{{Status: 201, Text: "The file is stored.", JSON: fileObject{}, Headers: []string{"Location"}}}},
	}, {
		Method: http.MethodGet, Path: "/v1/files/:file_id", Scopes: scopesSee, Link: true, Handle: s.showFile,
		Role: flow.MemberViewer, Commands: []string{"flow run"},
		Doc: openapi.Operation{ID: "showFile", Tag: "Files", Summary: "Download a file",
			Text:   fileText,
			Params: fileParams, Problems: fileCodes,
			Answers: []openapi.Answer{
				{Status: 200, Text: "The content.", Binary: true, Headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
				{Status: 206, Text: "The requested range.", Binary: true, Headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
				{Status: 304, Text: "Not modified.", Headers: []string{"ETag"}},
				{Status: 307, Text: "The content is at the URL in Location for one minute. Only with SLUICE_FILES_REDIRECT=on.", Headers: []string{"Location"}},
			}},
	}, {
		Method: http.MethodHead, Path: "/v1/files/:file_id", Scopes: scopesSee, Link: true, Handle: s.showFile,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "probeFile", Tag: "Files", Summary: "Get the headers of a file",
			Text: fileText, Params: fileParams, Problems: fileCodes, Answers: []openapi.Answer{
				{Status: 200, Text: "The headers of the GET response.", Headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
				{Status: 206, Text: "The headers of the GET response.", Headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
				{Status: 304, Text: "Not modified.", Headers: []string{"ETag"}},
			}},
	}, {
		Method: http.MethodDelete, Path: "/v1/files/:file_id", Scopes: []flow.Scope{flow.ScopeManage, flow.ScopeRun}, Handle: s.eraseFile,
		Audit: []string{"file.erase"},
		Doc: openapi.Operation{ID: "eraseFile", Tag: "Files", Summary: "Erase a file",
			Text:    "The file is erased from all runs that use it. A key with only the scope run may erase files that it uploaded.",
			Answers: openapi.NoContent("Erased.")},
	}}
}

// Parts of the documentation of GET and HEAD.
var (
	fileText    = "With a key: a file that it uploaded, or a file of a run that it may see. Without a key: by the url of a file value in responses and webhooks, until it expires."
	fileParams  = []string{"expires", "signature", "Range", "If-None-Match"}
	fileHeaders = []string{"ETag", "Last-Modified", "Content-Disposition"}
	fileCodes   = []flow.Code{flow.CodePreconditionFailed, flow.CodeRangeNotSatisfiable, flow.CodeStorageUnavailable}
)
