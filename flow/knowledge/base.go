package knowledge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/flow"
)

// Prefixes of the IDs of bases and documents.
const (
	PrefixBase     = "kb_"
	PrefixDocument = "doc_"
)

// Limits.
const (
	MaxBases             = 100 // in a workspace
	MaxDocuments         = 50_000
	MaxPassages          = 200_000
	MaxWorkspacePassages = 1_000_000
	MaxSource            = 1_024 // bytes of a source, a title or a link
	MaxPart              = 128   // bytes
	MaxMetadata          = 4_096 // bytes of JSON
	MaxMembers           = 20    // of metadata
	MaxQuery             = 4_000 // characters
	MaxTop               = 100
	MaxText              = 16 << 20 // bytes of the text of a document
	MaxBasesInSearch     = 10
)

// Parts: whether documents must belong to a part, such as a customer.
const (
	PartsOptional = "optional"
	PartsRequired = "required"
)

// Settings of a base. What Generation returns is fixed for what is indexed.
type Settings struct {
	Description string `json:"description,omitempty"`
	Parts       string `json:"parts"`
	Model       string `json:"model,omitempty"` // empty: the built-in one
	Credential  string `json:"credential,omitempty"`
	Dimensions  int    `json:"dimensions,omitempty"` // as requested from the model; 0: its own
	Size        int    `json:"passage_words"`
	Overlap     *int   `json:"repeated_words"` // nil: a fifth of Size
	// Minimum replaces the default of the model; nil keeps that.
	Minimum *float64 `json:"min_meaning,omitempty"`
	// Expose makes the base a tool of assistants that connect over MCP. They find only documents of ExposePart; empty: those without a part.
	Expose     bool   `json:"expose,omitempty"`
	ExposePart string `json:"expose_part,omitempty"`
	// Length is the number of dimensions that the model answered with first. Others are refused.
	Length int `json:"length,omitempty"`
}

// Base is a knowledge base. Documents, Passages and Bytes are counted by the writes that change them, so
// a list of bases reads no documents.
type Base struct {
	ID          string
	WorkspaceID flow.WorkspaceID
	FlowID      flow.FlowID // hidden, owns the runs that index
	Slug, Name  string      // flows name a base by its slug, which never changes
	Settings    Settings
	// Generation numbers the index. Rebuilding with another model makes a new one beside the old, and a
	// search that was prepared for an older generation begins again, because its vectors differ.
	Generation int64
	Changes    int64 // of its content
	Documents  int64 // of all parts, like the next two
	Passages   int64 // at most MaxPassages
	Bytes      int64 // of texts and index; they count toward the quota of the workspace
	Source     string
	MadeBy     string // ID of a person or key
	CreatedAt  time.Time
	ChangedAt  time.Time
}

// Weights returns how ranks are combined in searches of the base.
func (b *Base) Weights() Weights {
	w := WeightsOf(b.Settings.Model)
	if b.Settings.Minimum != nil {
		w.Minimum = *b.Settings.Minimum
	}
	return w
}

// States of a document.
const (
	Ready  = "ready"
	Failed = "failed" // its last version could not be read; an earlier one is still searched if there is one
)

// Document is a document of a base. Part and Source identify it: another addition with both replaces it.
type Document struct {
	ID       string
	BaseID   string
	Part     string // a customer, tenant or project; every search but one of all parts is limited to a part
	Source   string // a path, URL or ID
	Hash     string // of the content and of what else decides its passages: an equal one changes nothing
	Title    string
	Link     string       // where people can read it
	Metadata *flow.Object // for filters
	Format   string       // as it was detected, such as pdf
	State    string       // Ready or Failed
	Error    string       // why its last version failed, as a sentence
	RunID    flow.RunID   // the run that indexed it last
	First    int64        // number of its first passage
	Passages int64
	Bytes    int64
	// CreatedAt is when the source was first added; ChangedAt moves with each version.
	CreatedAt time.Time
	ChangedAt time.Time
}

// Passage is a piece of a document, the unit of search.
type Passage struct {
	Number   int64 // in the base; never used again
	Text     string
	Headings []string     // above it, from the title down
	Page     int          // from 1; 0 if the format has no pages
	From, To int          // the part of the document's text, in bytes
	Cells    *flow.Object // of the row of a table
}

// What an addition did.
const (
	Added     = "added"
	Replaced  = "replaced"
	Unchanged = "unchanged"
	Removed   = "removed"
)

// Query is a search.
type Query struct {
	Part     string
	AllParts bool // for holders of workspace keys and members: never for flows
	Text     string
	Mode     string
	Vector   []float32 // of the text; nil without
	Top      int
	PerDoc   int
	Around   int // passages before and after each hit
	// Where decides about documents; nil accepts all. WhereKey is the same for equal filters.
	Where    func(source string, metadata *flow.Object) (bool, error)
	WhereKey string
	Minimum  *float64
	Document string // ID of the only document that takes part; empty: all
}

// Quote is a run that found passages of a document and recorded them.
type Quote struct {
	RunID     flow.RunID
	FlowID    flow.FlowID
	CreatedAt time.Time
}

// MaxQuotes is how many runs that found a document are named.
const MaxQuotes = 1000

// Hit is a passage that a search found.
type Hit struct {
	Ranked
	Document Document
	Passage
	Before, After []Passage
}

// Found is the result of a search.
type Found struct {
	Hits     []Hit
	Searched int // passages that took part
}

var slugs = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)

// ValidSlug reports whether a text can be the slug of a base.
func ValidSlug(s string) bool { return slugs.MatchString(s) }

// References returns the bases that a text names, with commas, spaces or line breaks between them.
func References(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// Check returns the problems of settings.
func (s *Settings) Check() (problems []flow.Problem) {
	wrong := func(name, format string, args ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(name), Code: "invalid", Detail: fmt.Sprintf(format, args...)})
	}
	if s.Parts != PartsOptional && s.Parts != PartsRequired {
		wrong("parts", "wanted optional or required")
	}
	if s.Size < 20 || s.Size > 1000 {
		wrong("passage_words", "wanted 20 to 1,000 words")
	}
	if n := s.Repeated(); n < 0 || n > s.Size/2 {
		wrong("repeated_words", "wanted 0 to half of passage_words")
	}
	if s.Dimensions < 0 || s.Dimensions > MaxDimensions {
		wrong("dimensions", "wanted at most %d", MaxDimensions)
	}
	if s.Dimensions != 0 && s.Model == "" {
		wrong("dimensions", "the built-in model has a fixed number")
	}
	if s.Minimum != nil && (*s.Minimum < -1 || *s.Minimum > 1) {
		wrong("min_meaning", "wanted -1 to 1")
	}
	switch {
	case len(s.ExposePart) > MaxPart:
		wrong("expose_part", "wanted at most %d bytes", MaxPart)
	case s.Expose && s.Parts == PartsRequired && s.ExposePart == "":
		wrong("expose_part", "wanted the part that assistants may search: documents of this base belong to parts")
	case !s.Expose && s.ExposePart != "":
		wrong("expose_part", "only for a base with expose")
	}
	return problems
}

// maxName is how many characters the name of a base has at most.
const maxName = 200

// Check returns an error with all problems of a base.
func (b *Base) Check() error {
	problems := b.Settings.Check()
	if !ValidSlug(b.Slug) {
		problems = append(problems, flow.Problem{Pointer: "/slug", Code: "invalid", Detail: "wanted 1 to 64 lower-case letters, digits and hyphens"})
	}
	if n := utf8.RuneCountInString(b.Name); n == 0 || n > maxName {
		problems = append(problems, flow.Problem{Pointer: "/name", Code: "invalid", Detail: fmt.Sprintf("wanted 1 to %d characters", maxName)})
	}
	if len(problems) == 0 {
		return nil
	}
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid knowledge base: " + problems[0].Detail + ".", Fields: problems}
}

// NamedBy reports whether a node names the base.
func (b *Base) NamedBy(n *flow.Node) bool {
	text, _ := n.Config["knowledge"].(string)
	return slices.ContainsFunc(References(text), func(ref string) bool { return ref == b.Slug || ref == b.ID })
}

// Defaults sets what is missing in settings.
func (s *Settings) Defaults() {
	if s.Parts == "" {
		s.Parts = PartsOptional
	}
	if s.Size == 0 {
		s.Size = 200
	}
	if s.Overlap == nil {
		s.Overlap = new(s.Size / 5) // 40 of 200
	}
}

// Repeated returns how many words a passage repeats of the one before it.
func (s *Settings) Repeated() int {
	if s.Overlap == nil {
		return s.Size / 5
	}
	return *s.Overlap
}

// SameModel reports whether the vectors of two bases come from the same model.
func (s *Settings) SameModel(o *Settings) bool {
	return s.Model == o.Model && s.Dimensions == o.Dimensions
}

// SameIndex reports whether documents indexed with s need not be indexed again for o.
func (s *Settings) SameIndex(o *Settings) bool {
	return s.Model == o.Model && s.Dimensions == o.Dimensions && s.Size == o.Size && s.Repeated() == o.Repeated()
}

// CheckPart returns an error for a part that does not fit a base.
func (b *Base) CheckPart(part string) error {
	if part == "" && b.Settings.Parts == PartsRequired {
		return flow.Errorf(flow.CodePartRequired, "The knowledge base %s needs a part, such as a customer: give one.", b.Slug)
	}
	if len(part) > MaxPart {
		return flow.Errorf(flow.CodeInputInvalid, "The part has %d bytes; the limit is %d.", len(part), MaxPart)
	}
	return nil
}

// CheckMetadata returns an error for metadata that is too large or not flat.
func CheckMetadata(o *flow.Object) error {
	if o == nil {
		return nil
	}
	if o.Len() > MaxMembers || len(flow.EncodeJSON(o)) > MaxMetadata {
		return flow.Errorf(flow.CodeInputInvalid, "Metadata may have %d members and 4 KiB.", MaxMembers)
	}
	for name, v := range o.All() {
		switch v.(type) {
		case []any, *flow.Object, map[string]any:
			return flow.Errorf(flow.CodeInputInvalid, "The metadata %q is a list or an object; only texts, numbers and booleans are possible.", name)
		}
	}
	return nil
}
