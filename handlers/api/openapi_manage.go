package api

import (
	"reflect"

	"sluice/flow"
)

// Descriptions of the routes that change flows.
var (
	bodyCodes     = []flow.Code{flow.CodeInvalidJSON, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge}
	documentCodes = append([]flow.Code{flow.CodeDocumentInvalid, flow.CodeSecretInDocument, flow.CodeSlugTaken, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeFlowNotAllowed}, bodyCodes...)

	draftAnswer = answer{status: 200, text: "The flow.", json: reflect.TypeFor[draftObject](), headers: []string{"ETag"}}

	docCreateFlow = operation{id: "createFlow", tag: "Flows", summary: "Create a flow from a document",
		text: "The flow is a draft until it is published. Without a slug, one is made from the name. A key with a list of flows may not create flows.",
		body: "Document", problems: documentCodes,
		answers: []answer{{status: 201, text: "The flow is stored.", json: reflect.TypeFor[draftObject](), headers: []string{"ETag", "Location"}}}}

	docValidateFlow = operation{id: "validateFlow", tag: "Flows", summary: "Check a document without storing it",
		body: "Document", problems: bodyCodes,
		answers: []answer{{status: 200, text: "What is wrong with the document, if anything.", json: reflect.TypeFor[validationObject]()}}}

	docReplaceDraft = operation{id: "replaceDraft", tag: "Flows", summary: "Replace the draft of a flow",
		text:   "Send the ETag of the draft as If-Match. Open editors show the change, and people can undo it. A new slug in the document renames the flow; the former slug keeps working.",
		params: []string{"If-Match", "take_alias"}, body: "Document",
		problems: append([]flow.Code{flow.CodeInvalidHeader, flow.CodePreconditionRequired, flow.CodePreconditionFailed}, documentCodes...), answers: []answer{draftAnswer}}

	docShowDocument = operation{id: "showDocument", tag: "Flows", summary: "Get the document of a flow",
		text:   "In canonical form, as files keep it, without secrets. The draft and versions that are not live need the scope edit or manage.",
		params: []string{"version"}, problems: []flow.Code{flow.CodeNotPublished, flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "The document.", schema: "Document", headers: []string{"ETag"}}}}

	docShowDiff = operation{id: "showDiff", tag: "Flows", summary: "Compare two versions of a flow",
		text:   "Without parameters: what publishing the draft would change.",
		params: []string{"from", "to"}, problems: []flow.Code{flow.CodeNotPublished, flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "The differences.", json: reflect.TypeFor[diffObject]()}}}

	docListVersions = operation{id: "listVersions", tag: "Flows", summary: "List the published versions of a flow",
		answers: []answer{{status: 200, text: "All versions, newest first.", json: reflect.TypeFor[versionList]()}}}

	docPublishFlow = operation{id: "publishFlow", tag: "Flows", summary: "Publish a flow",
		text: "Makes the draft live, or an older version. Changes that break callers are refused unless allow_breaking is true.",
		body: "Publish", optionalBody: true, problems: append([]flow.Code{flow.CodeBreakingChange, flow.CodeInputInvalid, flow.CodeDocumentInvalid, flow.CodeStorageFull, flow.CodeQuotaExceeded}, bodyCodes...),
		answers: []answer{{status: 200, text: "The version that is live now.", json: reflect.TypeFor[publishedObject]()}}}

	docArchiveFlow = operation{id: "archiveFlow", tag: "Flows", summary: "Archive a flow",
		text: "Its API responds with not_found until it is restored.", answers: []answer{draftAnswer}}

	docRestoreFlow = operation{id: "restoreFlow", tag: "Flows", summary: "Restore an archived flow",
		problems: []flow.Code{flow.CodeQuotaExceeded, flow.CodeStorageFull}, answers: []answer{draftAnswer}}

	docApply = operation{id: "apply", tag: "Flows", summary: "Apply a set of documents",
		text: "Makes flows equal to documents, matched by slug: all of them in one transaction, or none. A draft that was edited since the last apply is refused unless force is true. " +
			"prune archives flows that were last applied from the same source and are not in the request. dry_run only reports.",
		body: "Apply", problems: append([]flow.Code{flow.CodeBreakingChange, flow.CodeDraftChanged, flow.CodeInputInvalid}, documentCodes...),
		answers: []answer{{status: 200, text: "What happened to each flow.", json: reflect.TypeFor[appliedList]()}}}
)
