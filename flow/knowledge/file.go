package knowledge

import (
	"sluice/flow"
	"sluice/flow/companion"
)

// FileSchema is the schema of the file with the knowledge bases of a workspace.
const FileSchema = "sluice.knowledge/v1"

// FileEntry is a base in a file: its settings, without documents.
type FileEntry struct {
	Slug       string   `json:"slug"`
	Name       string   `json:"name,omitempty"` // empty: the slug
	Details    string   `json:"description,omitempty"`
	Parts      string   `json:"parts,omitempty"`
	Model      string   `json:"model,omitempty"`
	Credential string   `json:"credential,omitempty"`
	Dimensions int64    `json:"dimensions,omitempty"`
	Size       int64    `json:"passage_words,omitempty"`
	Overlap    *int64   `json:"repeated_words,omitempty"`
	Minimum    *float64 `json:"min_meaning,omitempty"`
	Expose     bool     `json:"expose,omitempty"`
	ExposePart string   `json:"expose_part,omitempty"`
}

// FileEntryOf returns a base as files have it.
func FileEntryOf(b *Base) FileEntry {
	s := &b.Settings
	overlap := int64(s.Repeated())
	e := FileEntry{Slug: b.Slug, Name: b.Name, Details: s.Description, Parts: s.Parts, Model: s.Model, Credential: s.Credential, Dimensions: int64(s.Dimensions), Size: int64(s.Size), Overlap: &overlap, Minimum: s.Minimum, Expose: s.Expose, ExposePart: s.ExposePart}
	if e.Name == e.Slug {
		e.Name = ""
	}
	return e
}

// Set gives a base the settings of the entry. What an entry leaves out has its default.
func (e *FileEntry) Set(b *Base) {
	b.Slug, b.Name = e.Slug, e.Name
	if b.Name == "" {
		b.Name = e.Slug
	}
	b.Settings = Settings{Description: e.Details, Parts: e.Parts, Model: e.Model, Credential: e.Credential, Dimensions: int(e.Dimensions), Size: int(e.Size), Minimum: e.Minimum, Expose: e.Expose, ExposePart: e.ExposePart, Length: b.Settings.Length}
	if e.Overlap != nil {
		b.Settings.Overlap = new(int(*e.Overlap))
	}
	b.Settings.Defaults()
}

// file describes the file of bases.
var file = companion.List[FileEntry]{
	Schema: FileSchema, Noun: "base", Key: "slug", Most: MaxBases,
	Name: func(e *FileEntry) string { return e.Slug },
	Object: func(e *FileEntry) *flow.Object {
		v, _ := flow.DecodeJSON(flow.EncodeJSON(e)) // it was encoded here
		o, _ := flow.AsObject(v)
		return o
	},
}

// Same reports whether two entries are the same in a file.
func (e *FileEntry) Same(other *FileEntry) bool { return file.Same(e, other) }

// WriteFile returns the file of bases, which are sorted by slug.
func WriteFile(list []FileEntry) *flow.Object { return file.Write(list) }

// ParseFile reads the file of bases.
func ParseFile(o *flow.Object) ([]FileEntry, []flow.Problem) {
	return file.Parse(o, func(v any) (e FileEntry, problems []flow.Problem) {
		o, ok := flow.AsObject(v)
		if !ok {
			return e, []flow.Problem{{Code: "invalid", Detail: "must be an object with slug"}}
		}
		if problems = companion.DecodeMembers(o, &e, "knowledge bases"); len(problems) > 0 {
			return e, problems
		}
		var b Base
		e.Set(&b)
		if err := b.Check(); err != nil {
			return e, flow.AsError(err).Fields
		}
		return FileEntryOf(&b), nil
	})
}
