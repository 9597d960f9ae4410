package knowledge

import (
	"encoding/json"
	"errors"
	"time"

	"sluice/flow"
)

// Put is a document with its passages and their vectors, as it is stored.
type Put struct {
	Base     *Base
	Document Document
	Passages []Passage // without numbers
	// Vectors has the vector of each passage, and Hashes the hash of the text that it was made of; nil and "" for passages without one.
	Vectors [][]float32
	Hashes  []string
}

// EmbeddingModel names a model with which texts of a workspace are embedded.
type EmbeddingModel struct {
	WorkspaceID flow.WorkspaceID
	Model       string // empty: the built-in one
	Dimensions  int    // as requested; 0: those of the model
}

// DocumentFilter selects documents of a base.
type DocumentFilter struct {
	Part     string
	AllParts bool
	State    string // empty: all
	After    string // an ID
	Limit    int
}

// NewestFilter selects documents of all parts of a base, those that changed last first.
type NewestFilter struct {
	State string // empty: all
	Text  string // in the title or the source, ignoring case; empty: any
	// ChangedAt and Before are those of the last document of the page before; zero for the first page.
	ChangedAt time.Time
	Before    string
	Limit     int
}

// ErrRebuilt is returned by a search whose query was embedded with the model that the base had before a rebuild. Find the base again, and repeat the search.
var ErrRebuilt = errors.New("the knowledge base was rebuilt")

// BlockText is a passage of a block of the index, for a rebuild.
type BlockText struct {
	At       int // index in the block
	Number   int64
	Text     string
	Embedded string // the text that its vector is made of
}

// RebuildKind is the internal kind that gives a base the vectors of another model, and RebuildSettings the input with the settings.
const (
	RebuildKind     = "knowledge_rebuild"
	RebuildSettings = "settings"
)

// RebuildDocument returns the internal document of a run that rebuilds a base with the model of its settings, which are those that it will have.
func RebuildDocument(b *Base) []byte {
	config := modelConfig(b)
	config["knowledge"] = b.ID
	text, err := json.Marshal(map[string]any{"schema": flow.Schema, "name": b.Name, "nodes": []any{
		map[string]any{"id": RebuildSettings, "kind": "input", "config": map[string]any{"name": RebuildSettings, "type": "json"}},
		map[string]any{"id": "rebuild", "kind": RebuildKind, "config": config, "retry": map[string]any{"attempts": 3, "backoff_s": 5}},
		map[string]any{"id": "passages", "kind": "output", "config": map[string]any{"name": "passages"}},
	}, "edges": []any{
		map[string]any{"from": RebuildSettings + ".value", "to": "rebuild." + RebuildSettings},
		map[string]any{"from": "rebuild.passages", "to": "passages.value"},
	}})
	if err != nil {
		panic("knowledge: encode a document: " + err.Error()) // all of it can be encoded
	}
	return text
}

// modelConfig returns the configuration of a node for the model of a base.
func modelConfig(b *Base) map[string]any {
	config := map[string]any{}
	if b.Settings.Model != "" {
		config["model"] = b.Settings.Model
	}
	if b.Settings.Credential != "" {
		config["credential"] = map[string]any{"credential": b.Settings.Credential}
	}
	return config
}

// IndexKind is the internal kind that indexes a document.
const IndexKind = "knowledge_index"

// Inputs of the internal document.
const (
	IndexFile = "file"
	IndexSpec = "spec"
)

// Spec says where a document belongs. It is an input of the run that indexes it.
type Spec struct {
	Part           string       `json:"part,omitempty"`
	Source         string       `json:"source,omitempty"` // empty: the name of the file
	Title          string       `json:"title,omitempty"`
	Link           string       `json:"link,omitempty"`
	Metadata       *flow.Object `json:"metadata,omitempty"`
	AllowTruncated bool         `json:"allow_truncated,omitempty"`
}

// IndexDocument returns the internal document of the runs that index documents of a base.
func IndexDocument(b *Base) []byte {
	config := modelConfig(b)
	config["knowledge"] = b.ID
	nodes := []any{
		map[string]any{"id": IndexFile, "kind": "input", "config": map[string]any{"name": IndexFile, "type": "file"}},
		map[string]any{"id": IndexSpec, "kind": "input", "config": map[string]any{"name": IndexSpec, "type": "json"}},
		map[string]any{"id": "index", "kind": IndexKind, "config": config, "retry": map[string]any{"attempts": 3, "backoff_s": 5}},
	}
	edges := []any{
		map[string]any{"from": IndexFile + ".value", "to": "index.file"},
		map[string]any{"from": IndexSpec + ".value", "to": "index.spec"},
	}
	for _, port := range []string{"document", "passages"} {
		nodes = append(nodes, map[string]any{"id": port, "kind": "output", "config": map[string]any{"name": port}})
		edges = append(edges, map[string]any{"from": "index." + port, "to": port + ".value"})
	}
	text, err := json.Marshal(map[string]any{"schema": flow.Schema, "name": b.Name, "nodes": nodes, "edges": edges})
	if err != nil {
		panic("knowledge: encode a document: " + err.Error()) // all of it can be encoded
	}
	return text
}

// Input and output of the internal document that embeds a query.
const (
	QueryInput  = "query"
	QueryVector = "vector"
)

// QueryDocument returns the internal document of the runs that embed queries with the model of a base.
func QueryDocument(b *Base) []byte {
	config := map[string]any{"model": b.Settings.Model}
	if b.Settings.Credential != "" {
		config["credential"] = map[string]any{"credential": b.Settings.Credential}
	}
	if b.Settings.Dimensions != 0 {
		config["dimensions"] = b.Settings.Dimensions
	}
	text, err := json.Marshal(map[string]any{"schema": flow.Schema, "name": b.Name, "nodes": []any{
		map[string]any{"id": "query", "kind": "input", "config": map[string]any{"name": QueryInput, "type": "text"}},
		map[string]any{"id": "embed", "kind": "embed", "config": config},
		map[string]any{"id": "vector", "kind": "output", "config": map[string]any{"name": QueryVector}},
	}, "edges": []any{
		map[string]any{"from": "query.value", "to": "embed.text"},
		map[string]any{"from": "embed.vector", "to": "vector.value"},
	}})
	if err != nil {
		panic("knowledge: encode a document: " + err.Error()) // all of it can be encoded
	}
	return text
}
