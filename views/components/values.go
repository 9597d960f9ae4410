package components

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// ValueView is one value that went into a node or came out of it.
type ValueView struct {
	// Name is the port that the value came by; empty when one value stands alone.
	Name  string
	Value any
	// More is the address that gives the branches of a large value; "at", a JSON
	// pointer below this value, is added to it. Without one, what is large is cut.
	More string
	// At is where this value is below that address; empty is the whole.
	At string
	// All shows as much as a page can bear; it was asked for.
	All bool
	// Files gives the address of a file by its ID; nil: the one that the session
	// guards.
	Files func(id string) string
}

// How much of a value is shown at once.
const (
	shownRunes    = 4000
	shownItems    = 50
	shownColumns  = 8
	openItems     = 12        // of a list or object that is unfolded from the start
	lazyBytes     = 8 << 10   // a branch beyond it is fetched when it is opened
	copiedBytes   = 32 << 10  // a value beyond it has no copy button
	vectorNumbers = 16        // a longer list of numbers is one line
	allRunes      = 1_000_000 // of a text that was asked for
	allItems      = 1000      // of a list that was asked for
)

// valueShape is how a value is best looked at.
type valueShape int

const (
	shapeScalar valueShape = iota // null, numbers, booleans
	shapeText
	shapeFile
	shapeTable  // a list of objects
	shapeVector // a list of many numbers
	shapeTree
	shapeEmpty
)

// shapeOf returns the shape in which a value is shown. Empty strings and objects have
// their own shape, and an object that refers to a stored file is a file.
func shapeOf(v any) valueShape {
	switch v := v.(type) {
	case string:
		if v == "" {
			return shapeEmpty
		}
		return shapeText
	case map[string]any:
		if _, ok := fileID(v); ok {
			return shapeFile
		}
		if len(v) == 0 {
			return shapeEmpty
		}
		return shapeTree
	case []any:
		return shapeOfList(v)
	}
	return shapeScalar
}

// IsText reports whether the value is a text that is not empty.
func (v ValueView) IsText() bool { return shapeOf(v.Value) == shapeText }

// shapeOfList recognizes tables, which are lists of objects with at most shownColumns
// fields each, and vectors, which are lists of more than vectorNumbers numbers.
func shapeOfList(list []any) valueShape {
	rows, numbers := 0, 0
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && len(m) > 0 && len(m) <= shownColumns {
			if _, isFile := fileID(m); !isFile {
				rows++
			}
		}
		if _, ok := item.(json.Number); ok {
			numbers++
		}
	}
	switch {
	case len(list) == 0:
		return shapeEmpty
	case rows == len(list):
		return shapeTable
	case numbers == len(list) && numbers > vectorNumbers:
		return shapeVector
	}
	return shapeTree
}

// TypeWord is the type of the value in a word.
func (v ValueView) TypeWord() string {
	switch value := v.Value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case []any:
		return "list"
	case map[string]any:
		if _, ok := fileID(value); ok {
			return "file"
		}
		return "object"
	}
	return "number"
}

// shortRunes is up to how many characters a text is an answer in a word or two.
const shortRunes = 40

// IsShort reports whether the value is a number, true or false, or a word or two.
func (v ValueView) IsShort() bool {
	text, isText := v.Value.(string)
	return isText && text != "" && utf8.RuneCountInString(text) <= shortRunes && !strings.Contains(text, "\n") || !isText && shapeOf(v.Value) == shapeScalar
}

// Brief is the beginning of the value in one line.
func (v ValueView) Brief(most int) string {
	if f, ok := fileID(v.Value); ok {
		return cmp.Or(v.file().Name, f)
	}
	text := strings.Join(strings.Fields(displayed(v.Value)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// measure says how much a value is, in the unit that fits it.
func (v ValueView) measure() string {
	switch value := v.Value.(type) {
	case nil:
		return "null"
	case string:
		return Quantity(utf8.RuneCountInString(value), "character")
	case []any:
		return Quantity(len(value), "item")
	case map[string]any:
		if _, ok := fileID(value); ok {
			return "file"
		}
		return Quantity(len(value), "field")
	case bool:
		return "boolean"
	}
	return "number"
}

// copied is the text that the copy button gives; none where it would be long.
func (v ValueView) Copied() string {
	if text := displayed(v.Value); len(text) <= copiedBytes {
		return text
	}
	return ""
}

// displayed returns a text as it is and everything else as JSON.
func displayed(v any) string {
	if v == nil {
		return "null"
	}
	return plainText(v)
}

// below is the same view of a part of the value.
func (v ValueView) below(key string, value any) ValueView {
	return ValueView{Value: value, More: v.More, At: v.At + pointer(key), All: v.All && v.More == "", Files: v.Files}
}

// file is the value as a file.
func (v ValueView) file() FileView {
	f := FileOf(v.Value)
	if v.Files != nil {
		f.at = v.Files(f.ID)
	}
	return f
}

// address fetches this part alone.
func (v ValueView) address() string {
	if v.More == "" {
		return ""
	}
	return v.More + "&at=" + url.QueryEscape(v.At)
}

// text is as much of a text as is shown, and whether there is more.
func (v ValueView) text() (shown string, more bool) {
	most := shownRunes
	if v.All {
		most = allRunes
	}
	return ClipText(plainText(v.Value), most)
}

// ClipText returns at most the first most characters of a text and reports whether
// anything was cut off. It never cuts inside a character.
func ClipText(s string, most int) (shown string, more bool) {
	for i := range s {
		if most--; most < 0 {
			return s[:i], true
		}
	}
	return s, false
}

// entry is one line of a tree.
type entry struct {
	key  string
	view ValueView
}

// entries are the parts of a list or object, as many as are shown, in order.
func (v ValueView) entries() (list []entry, more int) {
	switch value := v.Value.(type) {
	case []any:
		for i := range min(len(value), v.most()) {
			key := fmt.Sprint(i)
			list = append(list, entry{key, v.below(key, value[i])})
		}
		return list, len(value) - len(list)
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		for _, key := range keys[:min(len(keys), v.most())] {
			list = append(list, entry{key, v.below(key, value[key])})
		}
		return list, len(keys) - len(list)
	}
	return nil, 0
}

// most is how many parts are shown.
func (v ValueView) most() int {
	if v.All {
		return allItems
	}
	return shownItems
}

// branches reports whether the value has parts of its own.
func (v ValueView) branches() bool {
	s := shapeOf(v.Value)
	return s == shapeTree || s == shapeTable || s == shapeVector
}

// lazy reports whether the parts come only when they are asked for.
func (v ValueView) lazy() bool { return v.More != "" && len(encodeJSON(v.Value)) > lazyBytes }

// open reports whether a branch is unfolded from the start.
func (v ValueView) open() bool {
	list, more := v.entries()
	return len(list)+more <= openItems && strings.Count(v.At, "/") < 3
}

// line is a short form of a branch, beside its key.
func (v ValueView) line() string {
	switch value := v.Value.(type) {
	case []any:
		return "[ " + Quantity(len(value), "item") + " ]"
	case map[string]any:
		return "{ " + Quantity(len(value), "field") + " }"
	}
	return ""
}

// columns are the fields of a list of objects, in the order they first come.
func (v ValueView) columns() []string {
	var names []string
	list, _ := v.Value.([]any)
	for _, item := range list[:min(len(list), shownItems)] {
		row, _ := item.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(row)) {
			if !slices.Contains(names, name) && len(names) < shownColumns {
				names = append(names, name)
			}
		}
	}
	return names
}

// rows are the objects of a list, as many as are shown.
func (v ValueView) rows() (rows []map[string]any, more int) {
	list, _ := v.Value.([]any)
	for _, item := range list[:min(len(list), v.most())] {
		row, _ := item.(map[string]any)
		rows = append(rows, row)
	}
	return rows, len(list) - len(rows)
}

// cell is a value within a table, in one line.
func cell(row map[string]any, name string) string {
	v, ok := row[name]
	if !ok {
		return ""
	}
	if f, isNumber := number(v); isNumber {
		return brief(f)
	}
	shown, more := ClipText(displayed(v), 200)
	if more {
		shown += "…"
	}
	return shown
}

// isNumber reports whether a value is a number. Decoded values contain json.Number,
// which keeps all digits, and never float64.
func isNumber(v any) bool { _, ok := v.(json.Number); return ok }

// vector is the first numbers of many.
func (v ValueView) vector() string {
	list, _ := v.Value.([]any)
	var b strings.Builder
	for _, item := range list[:min(len(list), vectorNumbers)] {
		f, _ := number(item)
		b.WriteString(brief(f) + ", ")
	}
	return "[" + b.String() + "…]"
}

// brief is a number with as many digits as a person reads.
func brief(f float64) string {
	if f == float64(int64(f)) {
		return fmt.Sprintf("%d", int64(f))
	}
	return fmt.Sprintf("%.4g", f)
}

// FileView is a file of a run. Its URL requires a session, or is signed for
// viewers without one.
type FileView struct {
	ID, Name, MIME string
	Size           int64
	at             string // another address than that
}

// FileOf reads a file value.
func FileOf(v any) FileView {
	m, _ := v.(map[string]any)
	id, _ := fileID(v)
	size, _ := number(m["size"])
	return FileView{ID: id, Name: cmp.Or(plainText(m["name"]), id), MIME: plainText(m["mime"]), Size: int64(size)}
}

// Href returns the URL of the content: /files/ID, which needs a session, or the signed
// URL that public pages use, because their visitors have no session.
func (f FileView) Href() string { return cmp.Or(f.at, "/files/"+url.PathEscape(f.ID)) }

// about says what the file is.
func (f FileView) About() string { return cmp.Or(f.MIME, "unknown type") + ", " + Size(f.Size) }

// family is the first half of the media type, or "" for types that a browser must
// not show.
func (f FileView) family() string {
	family, kind, _ := strings.Cut(f.MIME, "/")
	if kind == "svg+xml" {
		return ""
	}
	return family
}
