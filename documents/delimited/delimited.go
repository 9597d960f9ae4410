// Package delimited reads tables of delimited text (CSV, TSV) as spreadsheets do, whose files often differ from RFC 4180: rows of any length, quotation marks
// inside of cells, and any separator. Package encoding/csv reads such files only in its lazy mode, which joins rows without a word: in
//
//	"Big" burger,1
//	"Small" burger,2
//
// it finds one row, because for it a quotation mark closes a cell only before a separator.
package delimited

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Error is what is wrong with a table. Line is where the row begins.
type Error struct {
	Line   int
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Reasons of errors.
const (
	reasonOpen  = "a quotation mark is not closed"
	reasonLarge = "a row is too large, or a quotation mark is not closed"
)

// bufferSize is how much is read at once.
const bufferSize = 64 << 10

// Reader reads the rows of a table in UTF-8. Rows end with \n, \r\n, or, if the beginning of the table has no \n, with \r.
type Reader struct {
	in        *bufio.Reader
	separator rune
	end       byte // of a line
	most      int  // bytes of a row; 0 for no limit
	skipped   int
	line      int // number of the last line that was read
	long      []byte
	size      int // bytes of the row so far
	cells     []string
	cell      []byte
}

// NewReader returns a Reader. A separator of 0 is detected. Rows of more than most bytes are an *Error; 0 is no limit.
func NewReader(in io.Reader, separator rune, most int) *Reader {
	r := &Reader{in: bufio.NewReaderSize(in, bufferSize), end: '\n', most: most}
	peek, _ := r.in.Peek(bufferSize) // errors come with the first row
	if bytes.IndexByte(peek, '\r') >= 0 && bytes.IndexByte(peek, '\n') < 0 {
		r.end = '\r'
	}
	stated, size := statedSeparator(peek, r.end)
	if stated != 0 {
		separator, r.skipped, r.line = stated, size, 1
		_, _ = r.in.Discard(size) // it was peeked at
	}
	if separator == 0 {
		separator = detect(peek, r.end)
	}
	r.separator = separator
	return r
}

// Skipped returns how many bytes at the beginning only state the separator.
func (r *Reader) Skipped() int { return r.skipped }

// statedSeparator returns the separator that a first line such as "sep=;" states, and the length of that line. Excel
// reads such a line as an instruction and does not show it. Without one, the separator is 0.
func statedSeparator(text []byte, end byte) (separator rune, size int) {
	line, _, ended := bytes.Cut(text, []byte{end})
	if size = len(line); ended {
		size++
	}
	line = bytes.Trim(bytes.TrimRight(line, "\r"), `"`)
	if len(line) < 5 || !bytes.EqualFold(line[:4], []byte("sep=")) {
		return 0, 0
	}
	separator, n := utf8.DecodeRune(line[4:])
	if n != len(line)-4 || separator == '"' || separator == utf8.RuneError {
		return 0, 0
	}
	return separator, size
}

// separators are those that are detected. Excel uses the one of the user's locale. If several are equally frequent, the one
// that is rarest in prose wins.
var separators = []rune{'\t', ';', '|', ','}

// detect returns the separator that is most frequent in the first line that is not blank, outside of quotes. That line is the header, in which
// decimal commas and sentences are rare.
func detect(text []byte, end byte) rune {
	counts := map[rune]int{}
	quoted, blank := false, true
	for _, c := range string(text) {
		if c == '"' {
			quoted = !quoted
		}
		if c == rune(end) && !quoted && !blank {
			break
		}
		if blank = blank && (c == '\n' || c == '\r' || c == ' '); !quoted {
			counts[c]++
		}
	}
	best := separators[0]
	for _, c := range separators {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// Read returns the cells of the next line that is not empty, with the number of its first line, or io.EOF. The cells are valid until the next call.
// Blanks around cells do not count, except in quotation marks.
func (r *Reader) Read() (line int, cells []string, err error) {
	for {
		rest, err := r.nextLine(true)
		if err != nil {
			return 0, nil, err
		}
		if len(rest) == 0 {
			continue
		}
		line, r.cells = r.line, r.cells[:0]
		for more := true; more; {
			if rest, more, err = r.readCell(rest); err != nil {
				return 0, nil, r.within(err, line)
			}
		}
		return line, r.cells, nil
	}
}

// within returns an error of a row that begins at a line.
func (r *Reader) within(err error, line int) error {
	if wrong, ok := errors.AsType[*Error](err); ok {
		wrong.Line = line
	}
	return err
}

// readCell reads one cell from the rest of a line and returns what follows. more reports whether there is another cell.
func (r *Reader) readCell(text []byte) (rest []byte, more bool, err error) {
	r.cell = r.cell[:0]
	start := bytes.TrimLeftFunc(text, func(c rune) bool { return (c == ' ' || c == '\t' || c == '\r') && c != r.separator })
	quoted := len(start) > 0 && start[0] == '"'
	if quoted {
		if text, err = r.readQuoted(start[1:]); err != nil {
			return nil, false, err
		}
	}
	if i := bytes.IndexRune(text, r.separator); i >= 0 {
		text, rest, more = text[:i], text[i+utf8.RuneLen(r.separator):], true
	}
	if quoted { // what follows the closing mark belongs to the cell, as in "Big" burger
		r.cells = append(r.cells, string(append(r.cell, bytes.TrimRight(text, " \t\r")...)))
		return rest, more, nil
	}
	r.cells = append(r.cells, string(bytes.TrimSpace(text)))
	return rest, more, nil
}

// readQuoted reads a cell up to its closing quotation mark, and returns what follows it in the line. Two marks are one that belongs to the cell.
func (r *Reader) readQuoted(text []byte) (rest []byte, err error) {
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			r.cell = append(append(r.cell, text...), '\n')
			if text, err = r.nextLine(false); errors.Is(err, io.EOF) {
				err = &Error{Reason: reasonOpen}
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		r.cell = append(r.cell, text[:i]...)
		if text = text[i+1:]; len(text) == 0 || text[0] != '"' {
			return text, nil
		}
		r.cell = append(r.cell, '"')
		text = text[1:]
	}
}

// nextLine returns the next line without its end, or io.EOF. first says that a row begins with it. The control character that ended files of DOS
// is no line.
func (r *Reader) nextLine(first bool) ([]byte, error) {
	if first {
		r.size = 0
	}
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice(r.end)
		if r.size += len(part); r.most > 0 && r.size > r.most {
			return nil, &Error{r.line + 1, reasonLarge}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if len(r.long) > 0 {
			r.long = append(r.long, part...)
			part = r.long
		}
		if err != nil {
			if part = bytes.TrimSuffix(part, []byte{0x1a}); len(part) == 0 {
				return nil, io.EOF
			}
		}
		r.line++
		return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte{r.end}), []byte("\r")), nil
	}
}
