package admin

import (
	"net/http"
	"reflect"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// knowledgeServer serves the routes of knowledge bases.
type knowledgeServer struct{ *Server }

// KnowledgeBase is the JSON of a knowledge base.
type KnowledgeBase struct {
	ID          string           `json:"id"`
	Slug        string           `json:"slug"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parts       string           `json:"parts" doc:"optional, or required: additions and searches must name a part."`
	Model       string           `json:"model" doc:"Empty for the built-in one."`
	Credential  string           `json:"credential" doc:"Name of the credential for the model; empty for the default of its provider."`
	Dimensions  int              `json:"dimensions" doc:"As requested from the model; 0 for its own."`
	Size        int              `json:"passage_words"`
	Overlap     int              `json:"repeated_words"`
	Expose      bool             `json:"expose" doc:"Assistants that connect over MCP may search it."`
	ExposePart  string           `json:"expose_part" doc:"The only part that they find documents of."`
	Minimum     float64          `json:"min_meaning" doc:"Passages without a word in common with the query are left out below this similarity."`
	FlowID      flow.FlowID      `json:"flow_id" doc:"What the runs that index documents belong to. It is in no list of flows."`
	Documents   int64            `json:"documents"`
	Passages    int64            `json:"passages"`
	Bytes       int64            `json:"bytes" doc:"They count toward the quota of the workspace."`
	States      map[string]int64 `json:"states,omitempty" doc:"Documents by state; only for a single base."`
	UsedBy      []string         `json:"used_by,omitempty" doc:"The first 100 flows whose live version names the base; only for a single base."`
	Uses        int              `json:"used_by_total,omitempty" doc:"How many flows that are."`
	CreatedAt   api.Time         `json:"created_at"`
	ChangedAt   api.Time         `json:"changed_at"`
}

// KnowledgeList is the JSON of the bases of a workspace.
type KnowledgeList struct {
	Bases []KnowledgeBase `json:"bases"`
}

// baseChange is a base that a body changes.
type baseChange struct {
	slug *string
	b    *knowledge.Base
}

// knowledgeMembers declares the settings of a base.
func knowledgeMembers() []api.Field[baseChange] {
	settings := func(at func(s *knowledge.Settings) *string) func(c *baseChange) *string {
		return func(c *baseChange) *string { return at(&c.b.Settings) }
	}
	whole := func(most float64) api.Type[int64] {
		return api.Type[int64]{Schema: schema{"type": "integer", "minimum": 0, "maximum": most}, Wanted: "a whole number that is not too large", As: func(v any) (int64, bool) { return api.AsWhole(v, 0, most) }}
	}
	return []api.Field[baseChange]{
		api.Member("name", "For people. Default: the slug.", api.TextType, func(c *baseChange) *string { return &c.b.Name }),
		api.Member("description", "What is in it, for people and assistants.", api.TextType, settings(func(s *knowledge.Settings) *string { return &s.Description })),
		api.Member("parts", "required: additions and searches must name a part. Default: optional.", textOf(knowledge.PartsOptional, knowledge.PartsRequired), settings(func(s *knowledge.Settings) *string { return &s.Parts })),
		api.Member("model", "For meaning, such as openai/text-embedding-3-small. Default: the built-in one, for English only. Can be changed while the base is empty.", api.TextType, settings(func(s *knowledge.Settings) *string { return &s.Model })),
		api.Member("credential", "Name of the credential for the model. Default: that of the provider.", api.TextType, settings(func(s *knowledge.Settings) *string { return &s.Credential })),
		api.SetMember("dimensions", "Numbers in a vector, for models that let you choose. Can be changed while the base is empty.", whole(knowledge.MaxDimensions), func(c *baseChange, n int64) { c.b.Settings.Dimensions = int(n) }),
		api.SetMember("passage_words", "Length of passages. Default: 200. Can be changed while the base is empty.", whole(1000), func(c *baseChange, n int64) { c.b.Settings.Size = int(n) }),
		api.SetMember("repeated_words", "What a passage repeats of the one before it. Default: a fifth of passage_words, which is 40 of 200. Can be changed while the base is empty.", whole(500), func(c *baseChange, n int64) { c.b.Settings.Overlap = new(int(n)) }),
		api.SetMember("min_meaning", "Passages without a word in common with the query are left out below this similarity. Default: by model.", similarityType, func(c *baseChange, f float64) { c.b.Settings.Minimum = &f }),
		api.Member("expose", "true: assistants that connect over MCP may search the base, with any key that is not limited to some flows. Needs the scope admin, and a key without limits.", api.BoolType, func(c *baseChange) *bool { return &c.b.Settings.Expose }),
		api.Member("expose_part", "The only part that assistants find documents of. Required if documents must belong to parts. Default: documents without a part.", api.TextType, settings(func(s *knowledge.Settings) *string { return &s.ExposePart })),
	}
}

// similarityType has the numbers from -1 to 1.
var similarityType = api.Type[float64]{Schema: schema{"type": "number", "minimum": -1, "maximum": 1}, Wanted: "a number from -1 to 1", As: func(v any) (float64, bool) {
	f, ok := flow.Float(v)
	return f, ok && f >= -1 && f <= 1
}}

var (
	createKnowledgeBody = api.Body[baseChange]{Name: "CreateKnowledge", Of: "a knowledge base", Example: schema{"slug": "help-center", "name": "Help center"}, Fields: append([]api.Field[baseChange]{
		api.Member("slug", "Its name in flows and URLs: lower-case letters, digits and hyphens. It never changes.", api.TextType, func(c *baseChange) *string { return c.slug }).Required("Set it to a name such as help-center."),
	}, knowledgeMembers()...)}
	changeKnowledgeBody = api.Body[baseChange]{Name: "ChangeKnowledge", Of: "a knowledge base", Least: 1, Example: schema{"name": "Help center"}, Fields: knowledgeMembers()}
)

// rebuildBody declares the body of a rebuild.
var rebuildBody = api.Body[knowledge.Settings]{Name: "RebuildKnowledge", Of: "a rebuild", Example: schema{"model": "openai/text-embedding-3-small"}, Fields: []api.Field[knowledge.Settings]{
	api.Member("model", "For meaning, such as openai/text-embedding-3-small. Empty for the built-in one.", api.TextType, func(s *knowledge.Settings) *string { return &s.Model }).Required("Send the model, or an empty text for the built-in one."),
	api.Member("credential", "Name of the credential for the model. Default: that of the provider.", api.TextType, func(s *knowledge.Settings) *string { return &s.Credential }),
	api.SetMember("dimensions", "Numbers in a vector, for models that let you choose.", countTo(0, knowledge.MaxDimensions), func(s *knowledge.Settings, n int64) { s.Dimensions = int(n) }),
}}

var knowledgeParams = map[string]map[string]any{
	"knowledge":       {"name": "knowledge", "in": "path", "required": true, "description": "Slug or ID of the knowledge base.", "schema": schema{"type": "string"}},
	"document_id":     {"name": "document_id", "in": "path", "required": true, "description": "ID of the document.", "schema": schema{"type": "string"}},
	"source":          queryParam("source", "Only the document with this source.", schema{"type": "string"}),
	"document_source": {"name": "source", "in": "query", "required": true, "description": "Source of the document.", "schema": schema{"type": "string"}},
	"part":            queryParam("part", "Part of the document. Default: none.", schema{"type": "string"}),
	"all_parts":       queryParam("all_parts", "Whether documents of all parts are meant.", schema{"type": "boolean"}),
	"document_state":  queryParam("state", "Only documents in this state.", schema{"type": "string", "enum": []string{knowledge.Ready, knowledge.Failed}}),
	"force_knowledge": queryParam("force", "Delete the base although live versions of flows name it. Needs the scope admin.", schema{"type": "boolean"}),
}

// routes returns the routes of knowledge bases.
func (s knowledgeServer) routes() api.Extension {
	const path, tag = "/v1/knowledge", "Knowledge"
	const one = path + "/:knowledge"
	reads, edits := []flow.Scope{flow.ScopeRead, flow.ScopeEdit}, []flow.Scope{flow.ScopeEdit}
	missing := func(codes ...flow.Code) []flow.Code {
		return append(codes, flow.CodeKnowledgeNotFound, flow.CodeFlowNotAllowed)
	}
	stored := func(codes ...flow.Code) []flow.Code { return append(codes, flow.CodeStorageFull) }
	started := []flow.Code{flow.CodeInputInvalid, flow.CodePartRequired, flow.CodeQuotaExceeded, flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeStorageFull}
	return api.Extension{Params: knowledgeParams, Names: knowledgeNames, Routes: []api.Route{{
		Method: get, Path: path, Scopes: reads, Handle: s.listKnowledge, Commands: []string{"knowledge list"}, Tool: "list_knowledge",
		Doc: openapi.Operation{ID: "listKnowledge", Tag: tag, Summary: "List knowledge bases", Problems: []flow.Code{flow.CodeFlowNotAllowed}, Answers: openapi.OK("The bases, by slug.", KnowledgeList{})},
	}, {
		Method: http.MethodPost, Path: path, Scopes: edits, Handle: s.createKnowledge, Commands: []string{"knowledge create"}, Audit: []string{"knowledge.create"},
		Doc: openapi.Operation{ID: "createKnowledge", Tag: tag, Summary: "Create a knowledge base", Body: createKnowledgeBody.Doc(),
			Problems: stored(flow.CodeInputInvalid, flow.CodeSlugTaken, flow.CodeQuotaExceeded, flow.CodeUpgradeInProgress, flow.CodeFlowNotAllowed, flow.CodeScopeMissing, flow.CodeExceedsKey),
			Answers:  []openapi.Answer{{Status: 201, Text: "The base.", JSON: KnowledgeBase{}, Headers: []string{"Location"}}}},
	}, {
		Method: get, Path: one, Scopes: reads, Handle: s.showKnowledge, Commands: []string{"knowledge show"},
		Doc: openapi.Operation{ID: "showKnowledge", Tag: tag, Summary: "Show a knowledge base", Problems: missing(), Answers: openapi.OK("The base.", KnowledgeBase{})},
	}, {
		Method: http.MethodPatch, Path: one, Scopes: edits, Handle: s.changeKnowledge, Audit: []string{"knowledge.change"},
		Doc: openapi.Operation{ID: "changeKnowledge", Tag: tag, Summary: "Change the settings of a knowledge base", Body: changeKnowledgeBody.Doc(),
			Problems: missing(stored(flow.CodeInputInvalid, flow.CodeDraftChanged, flow.CodeScopeMissing, flow.CodeExceedsKey)...), Answers: openapi.OK("The base.", KnowledgeBase{})},
	}, {
		Method: http.MethodDelete, Path: one, Scopes: edits, Handle: s.deleteKnowledge, Commands: []string{"knowledge delete"}, Audit: []string{"knowledge.delete"},
		Doc: openapi.Operation{ID: "deleteKnowledge", Tag: tag, Summary: "Delete a knowledge base with all of its documents", Params: []string{"force_knowledge"},
			Problems: missing(stored(flow.CodeInputInvalid, flow.CodeInUse, flow.CodeScopeMissing)...), Answers: openapi.NoContent("Deleted.")},
	}, {
		Method: get, Path: one + "/documents", Scopes: reads, Handle: s.listDocuments, Commands: []string{"knowledge show"},
		Doc: openapi.Operation{ID: "listDocuments", Tag: tag, Summary: "List the documents of a knowledge base", Text: "By ID. Without part and all_parts, those without a part.",
			Params: []string{"document_state", "part", "all_parts", "source", "limit", "cursor"}, Problems: missing(flow.CodeInputInvalid), Answers: openapi.OK("A page of documents.", KnowledgeDocuments{})},
	}, {
		Method: http.MethodPost, Path: one + "/documents", Scopes: edits, Handle: s.addDocument, Commands: []string{"knowledge add", "knowledge sync"}, Audit: []string{"knowledge.add"}, Tool: "add_document",
		Doc: openapi.Operation{ID: "addDocument", Tag: tag, Summary: "Add a document to a knowledge base, or replace it",
			Text: "Starts a run that reads and indexes the document. Until it has succeeded, an earlier version of the document is searched. The same source in the same part is the same document; equal content changes nothing.",
			Body: addDocumentBody.Doc(), Problems: missing(started...), Answers: []openapi.Answer{{Status: 202, Text: "The run is stored.", JSON: KnowledgeAdded{}, Headers: []string{"Location"}}}},
	}, {
		Method: http.MethodPut, Path: one + "/documents", Scopes: edits, Handle: s.addDocument, Audit: []string{"knowledge.add"},
		Doc: openapi.Operation{ID: "putDocument", Tag: tag, Summary: "Add or replace the document with a source", Text: "Like addDocument, with the source in the URL.", Params: []string{"document_source"},
			Body: addDocumentBody.Doc(), Problems: missing(started...), Answers: []openapi.Answer{{Status: 202, Text: "The run is stored.", JSON: KnowledgeAdded{}, Headers: []string{"Location"}}}},
	}, {
		Method: http.MethodDelete, Path: one + "/documents", Scopes: edits, Handle: s.removeDocument, Commands: []string{"knowledge remove", "knowledge sync"}, Audit: []string{"knowledge.remove"},
		Doc: openapi.Operation{ID: "removeDocument", Tag: tag, Summary: "Remove the document with a source",
			Text: "Its text, words and vectors are gone when the response arrives: no search returns it. The run that indexed it is erased, unless a flow started it. Runs that found passages of it keep what they recorded; `quoted_by` lists them.", Params: []string{"document_source", "part"},
			Problems: missing(stored(flow.CodeInputInvalid, flow.CodeNotFound)...), Answers: openapi.OK("The document that was removed.", KnowledgeDocument{})},
	}, {
		Method: get, Path: one + "/documents/:document_id", Scopes: reads, Handle: s.showDocument,
		Doc: openapi.Operation{ID: "showKnowledgeDocument", Tag: tag, Summary: "Show a document with its passages", Params: []string{"limit"}, Problems: missing(flow.CodeInputInvalid),
			Answers: openapi.OK("The document.", KnowledgeDocument{})},
	}, {
		Method: http.MethodPost, Path: one + "/search", Scopes: reads, Handle: s.searchKnowledge, Commands: []string{"knowledge search"}, Tool: "search_knowledge",
		Doc: openapi.Operation{ID: "searchKnowledge", Tag: tag, Summary: "Search a knowledge base", Text: "By words and by meaning. Changes nothing. Searches of a base with a model of a provider cost what embedding the query costs.",
			Body: searchBody.Doc(), Problems: missing(append(started, flow.CodeOverloaded)...), Answers: openapi.OK("The passages, the best first.", KnowledgeFound{})},
	}, {
		Method: http.MethodPost, Path: one + "/rebuild", Scopes: edits, Handle: s.rebuildKnowledge, Commands: []string{"knowledge rebuild"}, Audit: []string{"knowledge.rebuild"},
		Doc: openapi.Operation{ID: "rebuildKnowledge", Tag: tag, Summary: "Change the model of a knowledge base with documents",
			Text: "Starts a run that embeds all passages with the model. Searches use the present vectors until all are there; then one transaction switches. If the run is canceled or fails, nothing changes.",
			Body: rebuildBody.Doc(), Problems: missing(started...), Answers: []openapi.Answer{{Status: 202, Text: "The run is stored.", JSON: KnowledgeAdded{}, Headers: []string{"Location"}}}},
	}, {
		Method: http.MethodPost, Path: one + "/rebuild/estimate", Scopes: reads, Handle: s.estimateRebuild, Commands: []string{"knowledge rebuild"},
		Doc: openapi.Operation{ID: "estimateKnowledgeRebuild", Tag: tag, Summary: "Estimate a rebuild of a knowledge base", Text: "Starts and changes nothing. It is an upper estimate: texts that the model has embedded before cost nothing.",
			Body: rebuildBody.Doc(), Problems: missing(flow.CodeInputInvalid), Answers: openapi.OK("What a rebuild would do.", RebuildEstimate{})},
	}, {
		Method: get, Path: one + "/export", Scopes: reads, Handle: s.exportKnowledge, Commands: []string{"knowledge export"},
		Doc: openapi.Operation{ID: "exportKnowledge", Tag: tag, Summary: "Download all passages as JSON Lines", Text: "One object a line: source, part, title, link, metadata, headings, page and text.", Problems: missing(),
			Answers: []openapi.Answer{{Status: 200, Text: "The passages.", Binary: true}}},
	}}}
}

var knowledgeNames = map[reflect.Type]string{
	reflect.TypeFor[KnowledgeBase](): "KnowledgeBase", reflect.TypeFor[KnowledgeList](): "KnowledgeList", reflect.TypeFor[KnowledgeDocument](): "KnowledgeDocument",
	reflect.TypeFor[KnowledgeDocuments](): "KnowledgeDocuments", reflect.TypeFor[KnowledgeAdded](): "KnowledgeAdded", reflect.TypeFor[KnowledgeFound](): "KnowledgeFound",
	reflect.TypeFor[RebuildEstimate](): "RebuildEstimate", reflect.TypeFor[KnowledgeHit](): "KnowledgeHit", reflect.TypeFor[KnowledgePassage](): "KnowledgePassage",
}

// findKnowledge finds the base of the path. Keys with a list of flows reach bases only through their flows.
func (s knowledgeServer) findKnowledge(c *api.Call) (*knowledge.Base, error) {
	if err := requireAllFlows(c, "knowledge bases"); err != nil {
		return nil, err
	}
	return s.Store.FindBase(c.Request().Context(), c.Key.WorkspaceID, c.Param("knowledge"))
}

// knowledgeObject returns the JSON of a base.
func knowledgeObject(b *knowledge.Base) KnowledgeBase {
	s := &b.Settings
	return KnowledgeBase{
		ID: b.ID, Slug: b.Slug, Name: b.Name, Description: s.Description, Parts: s.Parts, Model: s.Model, Credential: s.Credential, Dimensions: s.Dimensions, Size: s.Size, Overlap: s.Repeated(),
		Expose: s.Expose, ExposePart: s.ExposePart, Minimum: b.Weights().Minimum, FlowID: b.FlowID, Documents: b.Documents, Passages: b.Passages, Bytes: b.Bytes, CreatedAt: api.Time(b.CreatedAt), ChangedAt: api.Time(b.ChangedAt),
	}
}

// listKnowledge is GET knowledge.
func (s knowledgeServer) listKnowledge(c *api.Call) error {
	if err := requireAllFlows(c, "knowledge bases"); err != nil {
		return err
	}
	list, err := s.Store.ListBases(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	o := KnowledgeList{Bases: []KnowledgeBase{}}
	for i := range list {
		o.Bases = append(o.Bases, knowledgeObject(&list[i]))
	}
	return c.WriteJSON(http.StatusOK, o)
}

// createKnowledge is POST knowledge.
func (s knowledgeServer) createKnowledge(c *api.Call) error {
	if err := requireAllFlows(c, "knowledge bases"); err != nil {
		return err
	}
	set, err := createKnowledgeBody.ReadFrom(c)
	if err != nil {
		return err
	}
	b := &knowledge.Base{WorkspaceID: c.Key.WorkspaceID}
	set(&baseChange{slug: &b.Slug, b: b})
	if err := s.knowledge.Create(c.Request().Context(), c.Actor(), c.Key, b); err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/v1/knowledge/"+b.Slug)
	return c.WriteJSON(http.StatusCreated, knowledgeObject(b))
}

// showKnowledge is GET knowledge/base.
func (s knowledgeServer) showKnowledge(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	return s.writeKnowledge(c, b)
}

// writeKnowledge responds with a base, its documents by state and what uses it.
func (s knowledgeServer) writeKnowledge(c *api.Call, b *knowledge.Base) (err error) {
	o := knowledgeObject(b)
	if o.States, err = s.Store.CountBaseDocuments(c.Request().Context(), b); err != nil {
		return err
	}
	if o.UsedBy, err = s.knowledge.Users(c.Request().Context(), b); err != nil {
		return err
	}
	o.Uses = len(o.UsedBy)
	o.UsedBy = o.UsedBy[:min(o.Uses, maxUses)]
	return c.WriteJSON(http.StatusOK, o)
}

// changeKnowledge is PATCH knowledge/base.
func (s knowledgeServer) changeKnowledge(c *api.Call) error {
	was, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	set, err := changeKnowledgeBody.ReadFrom(c)
	if err != nil {
		return err
	}
	b := *was
	set(&baseChange{b: &b})
	if err := s.knowledge.Change(c.Request().Context(), c.Actor(), c.Key, was, &b); err != nil {
		return err
	}
	return s.writeKnowledge(c, &b)
}

// deleteKnowledge is DELETE knowledge/base.
func (s knowledgeServer) deleteKnowledge(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	force, err := api.QueryBool(c, "force")
	if err != nil {
		return err
	}
	if force && !c.Key.Has(flow.ScopeAdmin) {
		return flow.Errorf(flow.CodeScopeMissing, "Deleting a knowledge base that flows use needs the scope admin.")
	}
	if err := s.knowledge.Delete(c.Request().Context(), c.Actor(), b, force); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// rebuildKnowledge is POST knowledge/base/rebuild.
func (s knowledgeServer) rebuildKnowledge(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	set, err := rebuildBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var to knowledge.Settings
	set(&to)
	started, err := s.knowledge.Rebuild(c.Request().Context(), c.Actor(), c.Key, c.Key.UserID, b, &to)
	if err != nil {
		return c.LimitRuns(err)
	}
	return writeIndexing(c, b, started)
}

// RebuildEstimate is the JSON of what a rebuild will do, at most.
type RebuildEstimate struct {
	Passages int64    `json:"passages"`
	Tokens   int64    `json:"tokens" doc:"Of the texts, on the high side."`
	USD      *float64 `json:"usd" doc:"What that costs at most; null if the price of the model is unknown."`
}

// estimateRebuild is POST knowledge/base/rebuild/estimate.
func (s knowledgeServer) estimateRebuild(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	set, err := rebuildBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var to knowledge.Settings
	set(&to)
	e, err := s.knowledge.EstimateRebuild(c.Request().Context(), b, &to)
	if err != nil {
		return err
	}
	o := RebuildEstimate{Passages: e.Passages, Tokens: e.Tokens}
	if e.Priced {
		usd := e.USD.Dollars()
		o.USD = &usd
	}
	return c.WriteJSON(http.StatusOK, o)
}
