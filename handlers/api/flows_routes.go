package api

import (
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// flowRoutes returns the routes of flows, except for their runs.
func (s *Server) flowRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/v1/flow", Scopes: scopesRead, Handle: s.listFlows,
		Role: flow.MemberViewer, Commands: []string{"flow list", "flow pull"}, Tool: "list_flows",
		Doc: openapi.Operation{ID: "listFlows", Tag: "Flows", Summary: "List the flows that the key may call",
			Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("One page of flows.", flowList{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow", Scopes: scopesEdit, Handle: s.createFlow,
		Role: flow.MemberEditor, Audit: []string{"flow.create"}, Tool: "create_flow",
		Doc: openapi.Operation{ID: "createFlow", Tag: "Flows", Summary: "Create a flow from a document",
			Text: "The flow is a draft until it is published. Without a slug, one is made from the name. A key with a list of flows may not create flows.",
			Body: openapi.Body{Name: "Document"}, Problems: documentCodes,
			Answers: []openapi.Answer{{Status: 201, Text: "The flow is stored.", JSON: draftObject{}, Headers: []string{"ETag", "Location"}}}},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/import", Scopes: scopesEdit, Handle: s.importFlows,
		Role: flow.MemberEditor, Audit: []string{"flow.create"}, Commands: []string{"flow import"},
		Doc: openapi.Operation{ID: "importFlows", Tag: "Flows", Summary: "Import documents as new flows",
			Text: "Makes a new flow of each document: all of them in one transaction, or none. A slug that another flow has gets a number; to change flows by their slugs, use apply. A key with a list of flows may not create flows.",
			Body: importBody.Doc(), Problems: slices.DeleteFunc(slices.Clone(documentCodes), func(c flow.Code) bool { return c == flow.CodeSlugTaken }),
			Answers: []openapi.Answer{{Status: 201, Text: "The flows are stored.", JSON: importedList{}}}},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/validate", Scopes: scopesDocument, Handle: s.validateFlow,
		Role: flow.MemberViewer, Tool: "validate_flow",
		Doc: openapi.Operation{ID: "validateFlow", Tag: "Flows", Summary: "Check a document without storing it",
			Body:    openapi.Body{Name: "Document"},
			Answers: openapi.OK("What is wrong with the document, if anything.", validationObject{})},
	}, {
		Method: http.MethodPost, Path: "/v1/apply", Scopes: scopesEdit, Handle: s.apply,
		Audit: []string{"flow.create", "flow.edit", "flow.publish", "flow.archive", "flow.alias", "trigger.create", "trigger.change", "trigger.delete", "tool.never"}, Commands: []string{"flow apply", "flow diff", "dev"},
		Doc: openapi.Operation{ID: "apply", Tag: "Flows", Summary: "Apply a set of documents",
			Text: "Makes flows equal to documents, matched by slug: all of them in one transaction, or none. A document with a former slug of a flow is refused unless take_alias is true; the diffs of the error name that flow and the keys that used the slug in the last 30 days. A draft that was edited since the last apply is refused unless force is true. " +
				"prune archives flows that were last applied from the same source and are not in the request. dry_run only reports. " +
				"companions are files beside flows, such as triggers: what they leave out stays without prune, and a key that may not change it may not apply a file that differs. " +
				"A flow with a gate, and with test every flow that has cases, needs a passing report; a missing one is started, and Prefer: wait waits for it.",
			Params: []string{"Prefer"}, Body: applyBody.Doc(), Problems: append([]flow.Code{flow.CodeInvalidHeader, flow.CodeScopeMissing, flow.CodeBreakingChange, flow.CodeTestsRequired, flow.CodeTestsFailed, flow.CodeDraftChanged, flow.CodeExceedsKey, flow.CodeUpgradeInProgress}, documentCodes...),
			Answers: openapi.OK("What happened to each flow.", appliedList{})},
	}, {
		Method: http.MethodGet, Path: "/v1/kinds", Scopes: flow.Scopes, Handle: s.listKinds,
		Role: flow.MemberViewer, Tool: "list_kinds",
		Doc: openapi.Operation{ID: "listKinds", Tag: "Flows", Summary: "List the kinds of nodes",
			Text:    "What `sluice kinds --json` prints: fields, ports and examples.",
			Answers: []openapi.Answer{{Status: 200, Text: "The kinds in the order of the palette.", Schema: "Kinds"}}},
	}, {
		Method: http.MethodPut, Path: "/v1/flow/:flow_id", Scopes: scopesEdit, Handle: s.replaceDraft,
		Role: flow.MemberEditor, Audit: []string{"flow.edit", "flow.rename", "flow.alias"}, Commands: []string{"flow import"}, Tool: "edit_flow",
		Doc: openapi.Operation{ID: "replaceDraft", Tag: "Flows", Summary: "Replace the draft of a flow",
			Text:   "Send the ETag of the draft as If-Match. Open editors show the change, and people can undo it. A new slug in the document renames the flow; the former slug keeps working.",
			Params: []string{"If-Match", "take_alias"}, Body: openapi.Body{Name: "Document"},
			Problems: append([]flow.Code{flow.CodeInvalidHeader, flow.CodePreconditionRequired, flow.CodePreconditionFailed}, documentCodes...), Answers: []openapi.Answer{draftAnswer}},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/document", Scopes: scopesDocument, Handle: s.showDocument,
		Role: flow.MemberViewer, Commands: []string{"flow export", "flow import", "flow pull", "flow validate"}, Tool: "get_document",
		Doc: openapi.Operation{ID: "showDocument", Tag: "Flows", Summary: "Get the document of a flow",
			Text:   "In canonical form, as files keep it, without secrets. The draft and versions that are not live need the scope edit or manage.",
			Params: []string{"version"}, Problems: []flow.Code{flow.CodeNotPublished, flow.CodeInputInvalid},
			Answers: []openapi.Answer{{Status: 200, Text: "The document.", Schema: "Document", Headers: []string{"ETag"}}}},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/diff", Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeManage}, Handle: s.showDiff,
		Role: flow.MemberViewer, Commands: []string{"flow diff"}, Tool: "diff_flow",
		Doc: openapi.Operation{ID: "showDiff", Tag: "Flows", Summary: "Compare two versions of a flow",
			Text:   "Without parameters: what publishing the draft would change.",
			Params: []string{"from", "to"}, Problems: []flow.Code{flow.CodeNotPublished, flow.CodeInputInvalid},
			Answers: openapi.OK("The differences.", diffObject{})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/versions", Scopes: scopesDocument, Handle: s.listVersions,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "listVersions", Tag: "Flows", Summary: "List the published versions of a flow",
			Answers: openapi.OK("All versions, newest first.", versionList{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/publish", Scopes: scopesEdit, Handle: s.publishFlow,
		Role: flow.MemberEditor, Audit: []string{"flow.publish", "tool.never"}, Commands: []string{"flow publish", "flow import"}, Tool: "publish_flow",
		Doc: openapi.Operation{ID: "publishFlow", Tag: "Flows", Summary: "Publish a flow",
			Text:   "Makes the draft live, or an older version. Changes that break callers are refused unless allow_breaking is true. A flow with a gate needs a passing report; a missing one is started, and Prefer: wait waits for it.",
			Params: []string{"Prefer"}, Body: publishBody.Doc(), Problems: []flow.Code{flow.CodeInvalidHeader, flow.CodeBreakingChange, flow.CodeTestsRequired, flow.CodeTestsFailed, flow.CodeDocumentInvalid, flow.CodeStorageFull, flow.CodeQuotaExceeded},
			Answers: openapi.OK("The version that is live now.", publishedObject{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/archive", Scopes: scopesEdit, Handle: s.archiveFlow,
		Role: flow.MemberEditor, Audit: []string{"flow.archive"},
		Doc: openapi.Operation{ID: "archiveFlow", Tag: "Flows", Summary: "Archive a flow",
			Text: "Its API responds with not_found until it is restored.", Answers: []openapi.Answer{draftAnswer}},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/restore", Scopes: scopesEdit, Handle: s.restoreFlow,
		Role: flow.MemberEditor, Audit: []string{"flow.restore"},
		Doc: openapi.Operation{ID: "restoreFlow", Tag: "Flows", Summary: "Restore an archived flow",
			Problems: []flow.Code{flow.CodeQuotaExceeded, flow.CodeStorageFull}, Answers: []openapi.Answer{draftAnswer}},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id", Scopes: scopesRead, Handle: s.showFlow,
		Role: flow.MemberViewer, Commands: []string{"flow run"},
		Doc: openapi.Operation{ID: "showFlow", Tag: "Flows", Summary: "Show the inputs and outputs of a flow",
			Answers: openapi.OK("The flow.", flowObject{})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/openapi.json", Scopes: scopesRead, Handle: s.showFlowAPI,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "showFlowAPI", Tag: "Flows", Summary: "Get the OpenAPI document of one flow",
			Problems: []flow.Code{flow.CodeNotPublished},
			Answers:  []openapi.Answer{{Status: 200, Text: "An OpenAPI document.", Schema: "OpenAPI"}}},
	}}
}

// Parts of the documentation of routes that write documents.
var (
	documentCodes = []flow.Code{flow.CodeDocumentInvalid, flow.CodeSecretInDocument, flow.CodeSlugTaken, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeFlowNotAllowed}
	draftAnswer   = openapi.Answer{Status: 200, Text: "The flow.", JSON: draftObject{}, Headers: []string{"ETag"}}
)
