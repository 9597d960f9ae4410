package flow

import (
	"context"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"sluice/flow/value"
)

// File is content that runs pass by reference. Files with the same Hash share their content on
// disk.
type File struct {
	ID          string
	WorkspaceID WorkspaceID
	Name, MIME  string
	Size        int64 // bytes
	Hash        string
	KeyID       string // the key that uploaded it, if any
	CreatedAt   time.Time
}

// NewFile describes a file to store. An empty MIME is detected from the content.
type NewFile struct {
	WorkspaceID WorkspaceID
	RunID       RunID // the run that it is erased with; empty for an upload
	KeyID       string
	Name, MIME  string
	MaxSize     int64 // bytes; zero means the limit of the store
	// ID is the ID of the new file; empty for a random one.
	ID string
	// Refusable files count against the workspace's quota before they are stored.
	// Other files of an accepted run are never refused.
	Refusable bool
}

// FileStore stores files. It returns CodeBodyTooLarge for content above the limit, and
// CodeNotFound for a missing file.
type FileStore interface {
	SaveFile(ctx context.Context, n NewFile, content io.Reader) (*File, error)
	OpenFile(ctx context.Context, ws WorkspaceID, id string) (*File, io.ReadSeekCloser, error)
}

// Size formats a number of bytes, such as 512 MiB.
func Size(bytes int64) string {
	size, unit := float64(bytes), 0
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for math.Round(size*10) >= 10240 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return strconv.FormatFloat(math.Round(size*10)/10, 'f', -1, 64) + " " + units[unit]
}

// FileUse is a use of a file in runs of a flow that a key started.
type FileUse struct {
	FlowID FlowID
	KeyID  string
}

// MayUseFile reports whether a key may read a file or start a run with it: a file that it
// uploaded or can see in a run. A key with ScopeRead for all flows may use every file of its
// workspace, and so may a user (a nil key).
func MayUseFile(key *Key, f *File, uses []FileUse) bool {
	switch {
	case key == nil:
		return true
	case f.WorkspaceID != key.WorkspaceID:
		return false
	case f.KeyID != "" && f.KeyID == key.ID, len(key.Flows) == 0 && key.Has(ScopeRead):
		return true
	}
	return slices.ContainsFunc(uses, func(u FileUse) bool {
		return key.Allows(u.FlowID) && (key.Has(ScopeRead) || u.KeyID != "" && u.KeyID == key.ID)
	})
}

// Value returns the file as a value in runs.
func (f *File) Value() map[string]any {
	return map[string]any{"file": f.ID, "name": f.Name, "mime": f.MIME, "size": Number(f.Size)}
}

// FileIDPattern matches the IDs of files.
const FileIDPattern = `^` + PrefixFile + `[0-9a-z]{26}$`

var fileID = regexp.MustCompile(FileIDPattern)

// FileID returns the ID in a file value. ok is false for objects that only look like one, such
// as {"file": "report.pdf"} of another service.
func FileID(v any) (id string, ok bool) {
	id, ok = value.Get(v, "file").(string)
	return id, ok && fileID.MatchString(id)
}

// FileIDs returns the IDs of all files in a value, at any depth, without duplicates.
func FileIDs(v any) []string {
	var ids []string
	seen := map[string]bool{}
	MapFiles(v, func(id string, file map[string]any) map[string]any {
		if !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
		return file
	})
	return ids
}

// MapFiles returns v with every file value in it replaced by the result of f. It does not
// change v, and copies only the parts with files.
func MapFiles(v any, f func(id string, file map[string]any) map[string]any) any {
	out, _ := RewriteFiles(v, f)
	return out
}

// RewriteFiles is MapFiles that also reports whether anything changed. If not, it
// returns v itself.
func RewriteFiles(v any, f func(string, map[string]any) map[string]any) (out any, changed bool) {
	switch v := v.(type) {
	case *Object:
		if id, ok := FileID(v); ok {
			return f(id, v.Map()), true
		}
		var copied *Object
		for name, item := range v.All() {
			if item, changed := RewriteFiles(item, f); changed {
				if copied == nil {
					copied = v.Clone()
				}
				copied.Set(name, item)
			}
		}
		if copied != nil {
			return copied, true
		}
	case map[string]any: // such as the outputs of a run, by name
		if id, ok := FileID(v); ok {
			return f(id, v), true
		}
		var copied map[string]any
		for name, item := range v {
			if item, changed := RewriteFiles(item, f); changed {
				if copied == nil {
					copied = maps.Clone(v)
				}
				copied[name] = item
			}
		}
		if copied != nil {
			return copied, true
		}
	case []any:
		var copied []any
		for i, item := range v {
			if item, changed := RewriteFiles(item, f); changed {
				if copied == nil {
					copied = slices.Clone(v)
				}
				copied[i] = item
			}
		}
		if copied != nil {
			return copied, true
		}
	}
	return v, false
}
