package flow

// Rules for a copy of content when its run is deleted, is past its retention, or was started with save: false.
const (
	ContentCleared = "cleared" // at once; the row stays without content
	ContentDeleted = "deleted" // at once, with its row
	ContentNext    = "next"    // by the pass that follows within a minute
	ContentKept    = "kept"    // a person made this copy, which has a life of its own
)

// ContentPlace is a table that can hold content of runs: inputs, outputs, and what was made of them.
type ContentPlace struct {
	Table string
	What  string
	Rule  string // what deleting the run does to it
	Quota bool   // its bytes count toward the workspace's quota
}

// Content lists every table that can hold content of runs. Backups have all of them. A test writes a text through every feature, deletes
// the runs and looks for it in all tables: who adds a place for content declares it here.
var Content = []ContentPlace{
	{"runs", "Inputs, outputs, metadata, errors and the summary of inputs", ContentCleared, true},
	{"steps", "Inputs and outputs of steps, and errors", ContentDeleted, true},
	{"run_contexts", "Conversations of earlier runs that a run continues", ContentDeleted, true},
	{"step_parts", "Large outputs of steps that run other flows", ContentDeleted, true},
	{"child_items", "Inputs of the items of a map, and the rows of a batch", ContentDeleted, true},
	{"approvals", "Questions to people, and their answers", ContentDeleted, true},
	{"deliveries", "Bodies of webhooks", ContentCleared, true},
	{"delivery_attempts", "What receivers responded", ContentCleared, false},
	{"events", "Requests to incoming webhooks that started a run", ContentCleared, true},
	{"files", "Names of files", ContentNext, true},
	{"chunks", "Content of files in the database; in the data directory and in object storage it has the same rule", ContentNext, true},
	{"knowledge_documents", "Sources, titles and metadata of documents in knowledge bases", ContentKept, true},
	{"knowledge_passages", "Texts of documents in knowledge bases", ContentKept, true},
	{"knowledge_words", "Words of these texts", ContentKept, true},
	{"knowledge_vectors", "Vectors of these texts", ContentKept, true},
	{"embeddings", "Vectors of these texts, to embed none twice", ContentKept, false},
	{"cases", "Inputs and expected outputs of test cases", ContentKept, true},
	{"case_sets", "Versions of test cases that tests ran; those of backtests are cleared", ContentKept, true},
	{"recordings", "Results of steps of tests, unless the run is past its retention", ContentDeleted, true},
	{"verdicts", "What checks of test cases say about a run", ContentCleared, false},
	{"pins", "Outputs of steps that people pinned in a draft", ContentKept, true},
}
