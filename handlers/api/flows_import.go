package api

import (
	"errors"
	"net/http"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/api/openapi"
)

// importedObject is the JSON of a flow that an import created.
type importedObject struct {
	FlowID  flow.FlowID `json:"flow_id"`
	Slug    string      `json:"slug" doc:"Name of the flow in URLs, in place of its ID. It has a number if another flow had the slug of the document."`
	Name    string      `json:"name"`
	Version *int64      `json:"version" doc:"The live version; null without publish."`
	URLs    flowURLs    `json:"urls"`
}

// importedList is the response to an import, in the order of the documents.
type importedList struct {
	Flows []importedObject `json:"flows"`
}

// importRequest is the body of an import.
type importRequest struct {
	given   []any // documents
	publish bool
}

// importBody declares the body of an import.
var importBody = Body[importRequest]{Name: "Import", Of: "an import", Limit: maxApply, Example: map[string]any{"documents": []any{openapi.ExampleDocument}, "publish": true}, Fields: []Field[importRequest]{
	Member("documents", "", ListType(openapi.Ref("Document"), maxDocuments), func(r *importRequest) *[]any { return &r.given }).Required(`"documents" is missing`),
	Member("publish", publishEach, BoolType.OrAbsent(), func(r *importRequest) *bool { return &r.publish }),
}}

// importFlows is POST flow/import. It creates a flow from each document, in one transaction.
// Documents with literal secrets are refused, as everywhere in the API: only an import in the
// dashboard or by the operator moves them to encrypted storage.
func (s *Server) importFlows(c *Call) error {
	if err := c.requireAllFlows(); err != nil {
		return err
	}
	set, err := importBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var r importRequest
	set(&r)
	documents, err := c.readDocuments(r.given, false)
	if err != nil {
		return err
	}
	sources := make([]library.ImportSource, len(documents))
	for i, d := range documents {
		sources[i].Data = d.Compact()
	}
	made, err := s.Library.ImportAll(c.Request().Context(), c.Actor(), c.Key.WorkspaceID, sources, r.publish)
	if problems, ok := errors.AsType[library.ImportErrors](err); ok {
		return documentErrors(problems)
	}
	if err != nil {
		return err
	}
	out := importedList{Flows: convert(made, func(m *library.Imported) importedObject {
		return importedObject{m.Flow.ID, m.Flow.Slug, m.Flow.Name, orNull(m.Version.Number), s.flowURLs(m.Flow)}
	})}
	return c.WriteJSON(http.StatusCreated, out)
}
