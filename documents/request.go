package documents

import (
	"fmt"
	"slices"
	"sluice/flow/wording"
	"strconv"
	"strings"
)

const (
	// MaxSize is the maximum size of a document in bytes. Content beyond it is
	// not read; callers reject larger files.
	MaxSize = 64 << 20
	// MaxText is the maximum length of a text in bytes.
	MaxText = 16 << 20
)

// Request describes what to read from a document, and how.
type Request struct {
	WebPage         bool   // extract the main part of a web page
	Full            bool   // read all of a web page
	Name, MIME, URL string // of the content, as far as known
	Pages           string // as typed, such as "1-5, 9-"; empty means all
	MaxPages        int    // maximum number of pages to read; 0 means no limit
	Images          bool   // draw the pages of a PDF, too
	CPU             int    // limit of CPU time in seconds; 0 means 30
	Encoding        string // of a text, if its sender knows it; "" means that it is detected
}

// Document is the content of a document.
type Document struct {
	Text          string `json:"-"` // sent after the JSON, see frame
	Title, Format string
	Pages         int            // pages, slides or sheets of the whole document; 1 for other formats
	Truncated     bool           // something was left out
	PageStarts    []int          `json:",omitempty"` // of a PDF: where each page begins in Text, in bytes
	Meta          map[string]any // of a web page
	Tables        []Table        // of a workbook
	Encoding      string         // of a text, such as "utf-8"; "" for other formats
	Warnings      []string       // what may be wrong with the text, as sentences for users

	pictures int // number of pictures and other objects without text
}

// maxWarnings bounds the warnings of a document.
const maxWarnings = 20

// warn adds a warning, once.
func (d *Document) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); len(d.Warnings) < maxWarnings && !slices.Contains(d.Warnings, w) {
		d.Warnings = append(d.Warnings, w)
	}
}

// Table is a sheet whose first row holds the names of its columns.
type Table struct {
	Name          string
	Columns       []string // in their order
	Rows          []map[string]string
	Hidden        bool     `json:",omitempty"` // Excel does not show the sheet
	HiddenRows    []int    `json:",omitempty"` // indexes in Rows
	HiddenColumns []string `json:",omitempty"`
}

// Image is the picture of a page.
type Image struct {
	Page int    // counted from 1
	PNG  []byte // valid only until the callback returns
}

// Error explains to users why a document cannot be read. The cause is the document rather
// than the machine, so a retry is pointless.
type Error struct{ Message string }

// Error returns the message. It is written for users: it says what is wrong with the
// document and what to do.
func (e *Error) Error() string { return e.Message }

// refuse returns an Error with a formatted message: what is wrong with the
// document, and what its owner can do.
func refuse(format string, args ...any) *Error { return &Error{fmt.Sprintf(format, args...)} }

// pageRange is pages from first to last, both counted from 1.
type pageRange struct{ first, last int }

// CheckPages returns an error if a selection of pages is invalid.
func CheckPages(s string) error {
	_, err := parsePages(s)
	return err
}

// parsePages reads "1-5" or "2, 4-6, 9-"; an empty text means all pages.
func parsePages(s string) ([]pageRange, error) {
	var list []pageRange
	for part := range strings.SplitSeq(s, ",") {
		part = strings.ReplaceAll(strings.TrimSpace(part), " ", "")
		if part == "" {
			continue
		}
		from, to, isRange := strings.Cut(part, "-")
		r := pageRange{last: 1 << 30}
		var err error
		if r.first, err = strconv.Atoi(from); err == nil && to != "" {
			r.last, err = strconv.Atoi(to)
		}
		if !isRange {
			r.last = r.first
		}
		if err != nil || r.first < 1 || r.last < r.first {
			return nil, fmt.Errorf("wanted pages such as 3, 1-5 or 2,4-6, got %q", wording.Truncate(part, 40))
		}
		list = append(list, r)
	}
	return list, nil
}

// choosePages returns the requested pages that exist, in document order, and
// whether MaxPages left some out.
func (r Request) choosePages(count int, unit string) (numbers []int, truncated bool, err error) {
	ranges, err := parsePages(r.Pages)
	if err != nil {
		return nil, false, refuse("Pages: %v.", err)
	}
	for n := 1; n <= count; n++ {
		wanted := len(ranges) == 0
		for _, p := range ranges {
			wanted = wanted || n >= p.first && n <= p.last
		}
		if !wanted {
			continue
		}
		if r.MaxPages > 0 && len(numbers) == r.MaxPages {
			return numbers, true, nil
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 && count > 0 {
		return nil, false, refuse("Wanted %ss %s, but there are only %d.", unit, wording.Truncate(r.Pages, 60), count)
	}
	return numbers, false, nil
}
