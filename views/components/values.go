package components

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/flow/value"
	"sluice/flow/wording"
)

// ValueView is one input or output value.
type ValueView struct {
	// Name is the port of the value; "" for a single value.
	Name  string
	Value any
	// More is the URL that serves branches of a large value; the parameter "at", a JSON
	// pointer, is added to it. Without it, large values are truncated.
	More string
	// At is the JSON pointer of this value below More; "" is the whole value.
	At string
	// All shows as much as a page can handle, because the user asked for it.
	All bool
	// Files returns the URL of a file by its ID. nil means URLs that need a session.
	Files func(id string) string
}

// How much of a value is shown at first.
const (
	shownRunes    = 4000
	shownItems    = 50
	shownColumns  = 8
	openItems     = 12        // items of a list or object that is unfolded from the start
	lazyBytes     = 8 << 10   // larger branches are fetched when they are opened
	copiedBytes   = 32 << 10  // larger values have no copy button
	vectorNumbers = 16        // longer lists of numbers are shown in one line
	allRunes      = 1_000_000 // characters of a text when All is set
	allItems      = 1000      // items of a list when All is set
	allNumbers    = 10_000    // numbers of a vector when All is set
	cellRunes     = 200       // characters of a cell of a table
)

// valueShape is the way in which a value is shown.
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
	switch v := value.Ordered(v).(type) {
	case string:
		if v == "" {
			return shapeEmpty
		}
		return shapeText
	case *value.Object:
		if _, ok := fileID(v); ok {
			return shapeFile
		}
		if v.Len() == 0 {
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
// fields in all, and vectors, which are lists of more than vectorNumbers numbers.
func shapeOfList(list []any) valueShape {
	rows, numbers, columns := 0, 0, map[string]bool{}
	for _, item := range list {
		if o, ok := value.AsObject(item); ok && o.Len() > 0 {
			if _, isFile := fileID(o); !isFile {
				rows++
				for name := range o.All() {
					if len(columns) <= shownColumns { // more are no table
						columns[name] = true
					}
				}
			}
		}
		if _, ok := item.(json.Number); ok {
			numbers++
		}
	}
	switch {
	case len(list) == 0:
		return shapeEmpty
	case rows == len(list) && len(columns) <= shownColumns:
		return shapeTable
	case numbers == len(list) && numbers > vectorNumbers:
		return shapeVector
	}
	return shapeTree
}

// TypeWord returns the type of the value as a word.
func (v ValueView) TypeWord() string {
	switch v.Value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case []any:
		return "list"
	case *value.Object, map[string]any:
		if _, ok := fileID(v.Value); ok {
			return "file"
		}
		return "object"
	}
	return "number"
}

// shortRunes is the maximum length of a text that counts as short.
const shortRunes = 40

// IsShort reports whether the value is a number, a boolean, or a text of a word or two.
func (v ValueView) IsShort() bool {
	text, isText := v.Value.(string)
	return isText && text != "" && utf8.RuneCountInString(text) <= shortRunes && !strings.Contains(text, "\n") || !isText && shapeOf(v.Value) == shapeScalar
}

// Brief returns the beginning of the value in one line.
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

// measure returns the size of the value in a suitable unit, such as characters or items.
func (v ValueView) measure() string {
	switch part := value.Ordered(v.Value).(type) {
	case nil:
		return "null"
	case string:
		return Quantity(utf8.RuneCountInString(part), "character")
	case []any:
		return Quantity(len(part), "item")
	case *value.Object:
		if _, ok := fileID(part); ok {
			return "file"
		}
		return Quantity(part.Len(), "field")
	case bool:
		return "boolean"
	}
	return "number"
}

// Copied returns the text of the copy button; "" for large values, which have no button.
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

// below returns the view of a part of the value.
func (v ValueView) below(key string, part any) ValueView {
	return ValueView{Value: part, More: v.More, At: v.At + pointer(key), All: v.All && v.More == "", Files: v.Files}
}

// file returns the value as a file.
func (v ValueView) file() FileView {
	f := FileOf(v.Value)
	if v.Files != nil {
		f.at = v.Files(f.ID)
	}
	return f
}

// address returns the URL that serves this part of the value.
func (v ValueView) address() string {
	if v.More == "" {
		return ""
	}
	return v.More + "&at=" + url.QueryEscape(v.At)
}

// text returns the visible part of a text, and whether there is more.
func (v ValueView) text() (shown string, more bool) {
	most := shownRunes
	if v.All {
		most = allRunes
	}
	return wording.Cut(plainText(v.Value), most)
}

// entry is one line of a tree.
type entry struct {
	key  string
	view ValueView
}

// entries returns the visible items of a list or object in order, and the number of hidden
// ones.
func (v ValueView) entries() (list []entry, more int) {
	switch part := value.Ordered(v.Value).(type) {
	case []any:
		for i := range min(len(part), v.most()) {
			key := fmt.Sprint(i)
			list = append(list, entry{key, v.below(key, part[i])})
		}
		return list, len(part) - len(list)
	case *value.Object:
		for key, item := range part.All() {
			if len(list) == v.most() {
				break
			}
			list = append(list, entry{key, v.below(key, item)})
		}
		return list, part.Len() - len(list)
	}
	return nil, 0
}

// most returns the maximum number of items shown.
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

// lazy reports whether the parts are fetched only when the branch is opened.
func (v ValueView) lazy() bool { return v.More != "" && len(encodeJSON(v.Value)) > lazyBytes }

// open reports whether a branch is unfolded from the start.
func (v ValueView) open() bool {
	list, more := v.entries()
	return len(list)+more <= openItems && strings.Count(v.At, "/") < 3
}

// line summarizes a branch beside its key.
func (v ValueView) line() string {
	switch part := value.Ordered(v.Value).(type) {
	case []any:
		return "[ " + Quantity(len(part), "item") + " ]"
	case *value.Object:
		return "{ " + Quantity(part.Len(), "field") + " }"
	}
	return ""
}

// columns returns the keys of a list of objects, in order of first appearance.
func (v ValueView) columns() []string {
	var names []string
	list, _ := v.Value.([]any)
	for _, item := range list {
		for name := range value.Members(item) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// rows returns the visible objects of a list, and the number of hidden ones.
func (v ValueView) rows() (rows []map[string]any, more int) {
	list, _ := v.Value.([]any)
	for _, item := range list[:min(len(list), v.most())] {
		row, _ := value.AsMap(item)
		rows = append(rows, row)
	}
	return rows, len(list) - len(rows)
}

// cell returns the view of a field of the item with an index, for a table.
func (v ValueView) cell(row int, item map[string]any, name string) ValueView {
	return v.below(strconv.Itoa(row), nil).below(name, item[name])
}

// cellText formats the value for a cell of a table. rest is what a cell does not show at first.
func (v ValueView) cellText() (shown, rest string) {
	if f, isNumber := number(v.Value); isNumber {
		return brief(f), ""
	}
	text := displayed(v.Value)
	shown, _ = wording.Cut(text, cellRunes)
	return shown, text[len(shown):]
}

// isNumber reports whether a value is a number. Decoded values contain json.Number,
// which keeps all digits, and never float64.
func isNumber(v any) bool { _, ok := v.(json.Number); return ok }

// vector formats the first numbers of a long list, and returns how many more there are.
func (v ValueView) vector() (text string, more int) {
	list, _ := v.Value.([]any)
	most := vectorNumbers
	if v.All {
		most = allNumbers
	}
	parts := make([]string, min(len(list), most))
	for i := range parts {
		f, _ := number(list[i])
		parts[i] = brief(f)
	}
	if more = len(list) - len(parts); more > 0 {
		parts = append(parts, "…")
	}
	return "[" + strings.Join(parts, ", ") + "]", more
}

// brief formats a number with few digits.
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
	at             string // URL that overrides the default
}

// FileOf converts a file value.
func FileOf(v any) FileView {
	m, _ := value.AsMap(v)
	id, _ := fileID(v)
	size, _ := number(m["size"])
	return FileView{ID: id, Name: cmp.Or(plainText(m["name"]), id), MIME: plainText(m["mime"]), Size: int64(size)}
}

// Href returns the URL of the content: /files/ID, which needs a session, or the signed
// URL that public pages use, because their visitors have no session.
func (f FileView) Href() string { return cmp.Or(f.at, "/files/"+url.PathEscape(f.ID)) }

// About returns the type and size of the file.
func (f FileView) About() string { return cmp.Or(f.MIME, "unknown type") + ", " + Size(f.Size) }

// family returns the top-level media type, such as "image", or "" for types that browsers must
// not display.
func (f FileView) family() string {
	family, kind, _ := strings.Cut(f.MIME, "/")
	if kind == "svg+xml" {
		return ""
	}
	return family
}
