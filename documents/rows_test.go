package documents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"sluice/flow/value"
)

// rowsOf returns the rows of a file as lines of JSON with their numbers, or the error.
func rowsOf(t *testing.T, name string, content []byte) (lines []string, err error) {
	t.Helper()
	rows, err := New(Config{}).OpenRows(t.Context(), "test", name, "", bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprint(row.Number, " ", string(value.Encode(row.Values))))
	}
}

// encoded returns a text in an encoding.
func encoded(t *testing.T, e encoding.Encoding, text string) []byte {
	t.Helper()
	data, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOpenRows_reads_tables_as_programs_write_them(t *testing.T) {
	t.Parallel()
	chinese := "姓名,意见\n" + strings.Repeat("张伟,这个产品的质量非常好我很满意\n", 3)
	wide := encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "Name;Größe\r\nJürgen;\"1,5\"\r\n")
	for _, tt := range []struct {
		name, file string
		content    []byte
		want       []string
	}{
		{"UTF-8 with a mark", "a.csv", []byte("\ufeffname,n\nÄ,1\n"), []string{`2 {"name":"Ä","n":"1"}`}},
		{"GBK", "a.csv", encoded(t, simplifiedchinese.GBK, chinese), []string{`2 {"姓名":"张伟","意见":"这个产品的质量非常好我很满意"}`, `3 {"姓名":"张伟","意见":"这个产品的质量非常好我很满意"}`, `4 {"姓名":"张伟","意见":"这个产品的质量非常好我很满意"}`}},
		{"GBK after much ASCII", "a.csv", append(bytes.Repeat([]byte("a,b\n"), 60_000), encoded(t, simplifiedchinese.GBK, "这个产品的质量非常好我很满意,b\n")...), nil},
		{"UTF-16 and semicolons", "a.csv", wide, []string{`2 {"Name":"Jürgen","Größe":"1,5"}`}},
		{"Windows-1252", "a.csv", encoded(t, charmap.Windows1252, "name;city\nJürgen Müller;Köln und Düsseldorf\n"), []string{`2 {"name":"Jürgen Müller","city":"Köln und Düsseldorf"}`}},
		{"quoted newlines", "a.csv", []byte("a,b\n\"one\ntwo\",\"say \"\"hi\"\"\"\n\n3,4\n"), []string{`2 {"a":"one\ntwo","b":"say \"hi\""}`, `5 {"a":"3","b":"4"}`}},
		{"tabs", "a.tsv", []byte("a\tb,c\n1\t2,3\n"), []string{`2 {"a":"1","b,c":"2,3"}`}},
		{"a stated separator", "a.csv", []byte("sep=|\na|b\n1|2\n"), []string{`3 {"a":"1","b":"2"}`}},
		{"carriage returns alone", "a.csv", []byte("a,b\r1,2\r3,4"), []string{`2 {"a":"1","b":"2"}`, `3 {"a":"3","b":"4"}`}},
		{"a wide row and a repeated name", "a.csv", []byte("a,a\n1,2,3\n"), []string{`2 {"a":"1","a 2":"2","C":"3"}`}},
		{"JSON Lines", "a.jsonl", []byte("{\"a\": 1, \"b\": [2]}\n\n{\"a\": null}\n"), []string{`1 {"a":1,"b":[2]}`, `3 {"a":null}`}},
		{"blank lines before the header", "a.csv", []byte("\n\n a,b\n\n1,2\n"), []string{`5 {"a":"1","b":"2"}`}},
		{"text after a quoted word", "a.csv", []byte("a,b\n\"Big\" burger,1\n\"Small\" burger,2\n"), []string{`2 {"a":"Big burger","b":"1"}`, `3 {"a":"Small burger","b":"2"}`}},
		{"a list of JSON", "a.json", []byte("[{\"a\": 1.50, \"b\": [2]},\n {\"b\": \"x\", \"a\": null}]\n"), []string{`1 {"a":1.50,"b":[2]}`, `2 {"b":"x","a":null}`}},
		{"a list of JSON in one line", "a.jsonl", []byte("\ufeff[{\"a\":1},{\"a\":2}]"), []string{`1 {"a":1}`, `2 {"a":2}`}},
		{"an empty list of JSON", "a.json", []byte("[ ]"), []string{}},
		{"a header in brackets", "a.csv", []byte("[{id}],name\n1,x\n"), []string{`2 {"[{id}]":"1","name":"x"}`}},
		{"JSON Lines without a name", "data", []byte("{\"a\": 1}\n"), []string{`1 {"a":1}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := rowsOf(t, tt.file, tt.content)
			if tt.want == nil {
				if last := got[len(got)-1]; err != nil || !strings.Contains(last, "这个产品的质量非常好我很满意") {
					t.Fatalf("the last row is %s, %v", last, err)
				}
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestOpenRows_reads_workbooks_as_Excel_shows_them(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	style, err := book.NewStyle(&excelize.Style{NumFmt: 14}) // the short date of the locale
	if err != nil {
		t.Fatal(err)
	}
	for cell, v := range map[string]any{"A1": "name", "B1": "born", "C1": "n", "A2": "Ä", "B2": time.Date(1990, 2, 28, 0, 0, 0, 0, time.UTC), "C2": 12345678901234, "A4": "b"} {
		if err := book.SetCellValue("Sheet1", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.SetCellStyle("Sheet1", "B2", "B2", style); err != nil {
		t.Fatal(err)
	}
	data, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	got, err := rowsOf(t, "a.xlsx", data.Bytes())
	want := []string{`2 {"name":"Ä","born":"1990-02-28","n":"12345678901234"}`, `4 {"name":"b"}`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestOpenRows_names_what_is_wrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, content, want string
	}{
		"nothing":          {"a.csv", "", "no rows"},
		"an open quote":    {"a.csv", "a,b\n1,\"" + strings.Repeat("x", 2*MaxTableRow), "not closed"},
		"a swallowed row":  {"a.csv", "a,b\n\"never closed,1\nworld,2\n", "Line 2: a quotation mark is not closed"},
		"a long row":       {"a.csv", "a,b\n1," + strings.Repeat("x", MaxTableRow) + "\n", "Line 2: a row is too large"},
		"a broken list":    {"a.json", "[{\"a\":1},{\"a\":", "Row 2 is not valid JSON: the JSON ends too early"},
		"a cut list":       {"a.json", "[{\"a\":1}", "Row 2 is not valid JSON: the JSON ends too early"},
		"no list of rows":  {"a.json", "[{\"a\":1},2]", "Row 2 is not a JSON object"},
		"two lists":        {"a.jsonl", "[{\"a\":1}]\n[{\"a\":2}]", "Something follows the list"},
		"a repeated name":  {"a.json", "[{\"a\":1,\"a\":2}]", "appears twice"},
		"a long item":      {"a.json", "[{\"a\":\"" + strings.Repeat("x", MaxTableRow) + "\"}]", "Row 1 is larger"},
		"a broken line":    {"a.jsonl", "{\"a\":1}\n{\"a\":\n", "Line 2 is not valid JSON"},
		"no object":        {"a.jsonl", "[1]\n", "Line 1 is not a JSON object"},
		"a long line":      {"a.jsonl", "{\"a\":\"" + strings.Repeat("x", MaxTableRow) + "\"}", "Line 1 is larger"},
		"something binary": {"a.csv", "\x01\x00\x00\x02", "not a table"},
		"no workbook":      {"a.xlsx", "PK\x03\x04 and nothing else", "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rowsOf(t, tt.file, []byte(tt.content))
			if refused := (*Error)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Message, tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
