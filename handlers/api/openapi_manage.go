package api

import (
	"reflect"
	"slices"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// Descriptions of the routes that change flows.
var (
	bodyCodes     = []flow.Code{flow.CodeInvalidJSON, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge}
	documentCodes = append([]flow.Code{flow.CodeDocumentInvalid, flow.CodeSecretInDocument, flow.CodeSlugTaken, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeFlowNotAllowed}, bodyCodes...)

	draftAnswer = openapi.Answer{Status: 200, Text: "The flow.", JSON: reflect.TypeFor[draftObject](), Headers: []string{"ETag"}}

	docCreateFlow = openapi.Operation{ID: "createFlow", Tag: "Flows", Summary: "Create a flow from a document",
		Text: "The flow is a draft until it is published. Without a slug, one is made from the name. A key with a list of flows may not create flows.",
		Body: "Document", Problems: documentCodes,
		Answers: []openapi.Answer{{Status: 201, Text: "The flow is stored.", JSON: reflect.TypeFor[draftObject](), Headers: []string{"ETag", "Location"}}}}

	docImportFlows = openapi.Operation{ID: "importFlows", Tag: "Flows", Summary: "Import documents as new flows",
		Text: "Makes a new flow of each document: all of them in one transaction, or none. A slug that another flow has gets a number; to change flows by their slugs, use apply. A key with a list of flows may not create flows.",
		Body: "Import", Problems: slices.DeleteFunc(append([]flow.Code{flow.CodeInputInvalid}, documentCodes...), func(c flow.Code) bool { return c == flow.CodeSlugTaken }),
		Answers: []openapi.Answer{{Status: 201, Text: "The flows are stored.", JSON: reflect.TypeFor[importedList]()}}}

	docValidateFlow = openapi.Operation{ID: "validateFlow", Tag: "Flows", Summary: "Check a document without storing it",
		Body: "Document", Problems: bodyCodes,
		Answers: []openapi.Answer{{Status: 200, Text: "What is wrong with the document, if anything.", JSON: reflect.TypeFor[validationObject]()}}}

	docReplaceDraft = openapi.Operation{ID: "replaceDraft", Tag: "Flows", Summary: "Replace the draft of a flow",
		Text:   "Send the ETag of the draft as If-Match. Open editors show the change, and people can undo it. A new slug in the document renames the flow; the former slug keeps working.",
		Params: []string{"If-Match", "take_alias"}, Body: "Document",
		Problems: append([]flow.Code{flow.CodeInvalidHeader, flow.CodePreconditionRequired, flow.CodePreconditionFailed}, documentCodes...), Answers: []openapi.Answer{draftAnswer}}

	docShowDocument = openapi.Operation{ID: "showDocument", Tag: "Flows", Summary: "Get the document of a flow",
		Text:   "In canonical form, as files keep it, without secrets. The draft and versions that are not live need the scope edit or manage.",
		Params: []string{"version"}, Problems: []flow.Code{flow.CodeNotPublished, flow.CodeInputInvalid},
		Answers: []openapi.Answer{{Status: 200, Text: "The document.", Schema: "Document", Headers: []string{"ETag"}}}}

	docShowDiff = openapi.Operation{ID: "showDiff", Tag: "Flows", Summary: "Compare two versions of a flow",
		Text:   "Without parameters: what publishing the draft would change.",
		Params: []string{"from", "to"}, Problems: []flow.Code{flow.CodeNotPublished, flow.CodeInputInvalid},
		Answers: []openapi.Answer{{Status: 200, Text: "The differences.", JSON: reflect.TypeFor[diffObject]()}}}

	docListVersions = openapi.Operation{ID: "listVersions", Tag: "Flows", Summary: "List the published versions of a flow",
		Answers: []openapi.Answer{{Status: 200, Text: "All versions, newest first.", JSON: reflect.TypeFor[versionList]()}}}

	docPublishFlow = openapi.Operation{ID: "publishFlow", Tag: "Flows", Summary: "Publish a flow",
		Text: "Makes the draft live, or an older version. Changes that break callers are refused unless allow_breaking is true.",
		Body: "Publish", OptionalBody: true, Problems: append([]flow.Code{flow.CodeBreakingChange, flow.CodeInputInvalid, flow.CodeDocumentInvalid, flow.CodeStorageFull, flow.CodeQuotaExceeded}, bodyCodes...),
		Answers: []openapi.Answer{{Status: 200, Text: "The version that is live now.", JSON: reflect.TypeFor[publishedObject]()}}}

	docArchiveFlow = openapi.Operation{ID: "archiveFlow", Tag: "Flows", Summary: "Archive a flow",
		Text: "Its API responds with not_found until it is restored.", Answers: []openapi.Answer{draftAnswer}}

	docRestoreFlow = openapi.Operation{ID: "restoreFlow", Tag: "Flows", Summary: "Restore an archived flow",
		Problems: []flow.Code{flow.CodeQuotaExceeded, flow.CodeStorageFull}, Answers: []openapi.Answer{draftAnswer}}

	docApply = openapi.Operation{ID: "apply", Tag: "Flows", Summary: "Apply a set of documents",
		Text: "Makes flows equal to documents, matched by slug: all of them in one transaction, or none. A document with a former slug of a flow is refused unless take_alias is true; the diffs of the error name that flow and the keys that used the slug in the last 30 days. A draft that was edited since the last apply is refused unless force is true. " +
			"prune archives flows that were last applied from the same source and are not in the request. dry_run only reports.",
		Body: "Apply", Problems: append([]flow.Code{flow.CodeBreakingChange, flow.CodeDraftChanged, flow.CodeInputInvalid}, documentCodes...),
		Answers: []openapi.Answer{{Status: 200, Text: "What happened to each flow.", JSON: reflect.TypeFor[appliedList]()}}}
)
