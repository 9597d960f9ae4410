package documents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"sluice/documents/charset"
	"sluice/documents/delimited"
	"sluice/flow/value"
)

const (
	// MaxTableRow bounds a row of a table in bytes.
	MaxTableRow = 1 << 20
	// tablePeek is how much of the beginning of a table is looked at for its encoding and separator.
	tablePeek = 64 << 10
	// tableSample bounds the lines beyond ASCII from which an encoding is detected.
	tableSample = 256 << 10
	blanks      = " \t\r\n"
)

// Rows reads the rows of a table one by one, so that memory stays flat for any size: CSV in any of the
// usual separators and encodings, JSON (a list of objects, or an object in each line), or the first sheet of a workbook.
type Rows struct {
	Format   string   // csv, json, jsonl or xlsx
	Encoding string   // of a text
	Columns  []string // the header; nil for JSON, whose rows name their own members

	read  func() (number int, cells []string, object *value.Object, err error)
	close func()
}

// Row is a row. Number is the line of its beginning in the file, or its number in the sheet or list.
type Row struct {
	Number int
	Values *value.Object // by column; texts, except in JSON
}

// Close releases what the table uses, apart from the content that it reads.
func (t *Rows) Close() { t.close() }

// Next returns the next row that is not empty, or io.EOF. An *Error says what is wrong with the file.
func (t *Rows) Next() (Row, error) {
	for {
		number, cells, object, err := t.read()
		if err != nil {
			return Row{}, err
		}
		if object != nil {
			return Row{number, object}, nil
		}
		if len(trimCells(cells)) == 0 {
			continue
		}
		object = &value.Object{}
		for i, cell := range cells {
			name := ""
			if i < len(t.Columns) {
				name = t.Columns[i]
			} else if cell != "" {
				name = unusedName(columnLetters(i), t.Columns)
			}
			if name != "" {
				object.Set(name, cell)
			}
		}
		return Row{number, object}, nil
	}
}

// OpenRows returns the rows of content, whose name and media type say what cannot be recognized. Workbooks
// are converted in a child process first; groups, such as workspaces, share its slots fairly.
func (r *Reader) OpenRows(ctx context.Context, group, name, mime string, content io.ReadSeeker) (*Rows, error) {
	head := make([]byte, tablePeek)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	head = head[:n]
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		return r.openSheet(ctx, group, content)
	}
	encoding, err := tableEncoding(content, head, mime)
	if err != nil {
		return nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	text := bufio.NewReaderSize(encoding.Reader(content), tablePeek)
	peek, err := text.Peek(tablePeek)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.IndexByte(peek, 0) >= 0 {
		return nil, refuse("This is not a table. Use CSV, TSV, JSON or XLSX.")
	}
	t := &Rows{Format: "csv", Encoding: encoding.Name, close: func() {}}
	ending := strings.ToLower(path.Ext(name))
	start := bytes.TrimLeft(peek, blanks)
	inList, isList := bytes.CutPrefix(start, []byte("["))
	inList = bytes.TrimLeft(inList, blanks)
	switch {
	case ending == ".csv" || ending == ".tsv":
		return t, t.openCSV(text, ending)
	case isList && (bytes.HasPrefix(inList, []byte("{")) || bytes.HasPrefix(inList, []byte("]"))):
		t.Format, t.read = "json", jsonList(text)
	case ending == ".jsonl" || ending == ".ndjson" || bytes.HasPrefix(start, []byte("{")):
		t.Format, t.read = "jsonl", jsonLines(text)
	default:
		return t, t.openCSV(text, ending)
	}
	return t, nil
}

// tableEncoding returns the encoding of a text that begins with head. A text that is ASCII for the first
// megabytes shows its encoding only later, so all of it is read.
func tableEncoding(content io.ReadSeeker, head []byte, mime string) (charset.Encoding, error) {
	sample := bytes.Clone(head)
	if _, marked := charset.Marked(head); !marked {
		if _, wide := charset.UTF16(head); !wide {
			var err error
			if sample, err = beyondASCII(content, head); err != nil {
				return charset.Encoding{}, err
			}
		}
	}
	return charset.Lookup(decodeText(sample, mime, "", "").Encoding)
}

// beyondASCII returns the lines of a text that have bytes beyond ASCII, or the beginning of head without any. The reader of content
// is at the end of head. A line that is cut off would look like an invalid character, so only whole lines count.
func beyondASCII(content io.ReadSeeker, head []byte) ([]byte, error) {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(content, tablePeek)
	var sample []byte
	invalid := false
	for {
		line, err := lines.ReadSlice('\n')
		if !isASCII(line) && !errors.Is(err, bufio.ErrBufferFull) && (len(sample) < tableSample || !invalid && !utf8.Valid(line)) {
			invalid = invalid || !utf8.Valid(line)
			sample = append(sample, line...)
		}
		switch {
		case errors.Is(err, io.EOF) && sample == nil:
			return head[:min(len(head), 1024)], nil
		case errors.Is(err, io.EOF):
			return sample, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// isASCII reports whether all bytes are ASCII.
func isASCII(line []byte) bool {
	for _, b := range line {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// openCSV reads the header of a CSV.
func (t *Rows) openCSV(text io.Reader, ending string) error {
	var separator rune
	if ending == ".tsv" {
		separator = '\t'
	}
	rows := delimited.NewReader(text, separator, MaxTableRow)
	t.read = func() (int, []string, *value.Object, error) {
		line, cells, err := rows.Read()
		if wrong, ok := errors.AsType[*delimited.Error](err); ok {
			err = refuse("Line %d: %s.", wrong.Line, wrong.Reason)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		return line, cells, nil, err
	}
	return t.readHeader()
}

// readHeader takes the first row that is not empty as the names of columns.
func (t *Rows) readHeader() error {
	for {
		_, cells, _, err := t.read()
		if errors.Is(err, io.EOF) {
			return refuse("The file has no rows.")
		}
		if err != nil {
			return err
		}
		if cells = trimCells(cells); len(cells) > maxColumns {
			return refuse("The table has more than %d columns.", maxColumns)
		}
		if len(cells) > 0 {
			t.Columns = columnNames(cells)
			return nil
		}
	}
}

// openSheet converts the first sheet of a workbook to lines of JSON in a temporary file, and returns the rows of it.
func (r *Reader) openSheet(ctx context.Context, group string, content io.Reader) (*Rows, error) {
	head, err := json.Marshal(job{Request: Request{CPU: sheetCPU}, Sheet: true})
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	input, err := spool(ctx, append(head, '\n'), content)
	if err != nil {
		return nil, err
	}
	defer input.close()
	r.working(ctx, false)
	if err := r.queue.Acquire(ctx, group); err != nil {
		return nil, err
	}
	defer r.queue.Release(group)
	rows, err := spool(ctx, nil, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	err = runConverter(ctx, input.File, rows)
	if err == nil {
		_, err = rows.Seek(0, io.SeekStart)
	}
	if err != nil {
		rows.close()
		return nil, childError(ctx, err, sheetCPU)
	}
	r.working(ctx, true)
	t := &Rows{Format: "xlsx", read: sheetRows(rows), close: rows.close}
	if err := t.readHeader(); err != nil {
		rows.close()
		return nil, err
	}
	return t, nil
}

// sheetRows reads what writeSheet wrote. The child may be compromised, so nothing of it is trusted.
func sheetRows(content io.Reader) func() (int, []string, *value.Object, error) {
	lines := bufio.NewScanner(content)
	lines.Buffer(make([]byte, 0, tablePeek), 2*MaxTableRow)
	return func() (int, []string, *value.Object, error) {
		if !lines.Scan() {
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				return 0, nil, nil, refuse("A row is larger than 1 MiB.")
			}
			if lines.Err() != nil {
				return 0, nil, nil, lines.Err()
			}
			return 0, nil, nil, io.EOF
		}
		var row sheetRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return 0, nil, nil, errAnswer
		}
		if row.Refused != nil {
			return 0, nil, nil, row.Refused
		}
		return row.Number, row.Cells, nil, nil
	}
}
