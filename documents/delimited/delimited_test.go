package delimited

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// rowsOf returns the rows of a table, each with the line of its beginning, or the error.
func rowsOf(r *Reader) (rows string, err error) {
	for {
		line, cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += fmt.Sprintf("%d%q", line, cells)
	}
}

func TestReader_reads_what_spreadsheets_read(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain":                            {"a,b\n1,2\n", `1["a" "b"]2["1" "2"]`},
		"without a last line end":          {"a,b\n1,", `1["a" "b"]2["1" ""]`},
		"Windows line ends":                {"a,b\r\n1,2\r\n", `1["a" "b"]2["1" "2"]`},
		"carriage returns alone":           {"a;b\r1;2\r", `1["a" "b"]2["1" "2"]`},
		"quoted":                           {"a,b\n\"x, \"\"y\"\"\nz\",2\n3,4\n", `1["a" "b"]2["x, \"y\"\nz" "2"]4["3" "4"]`},
		"quoted with Windows line ends":    {"a,b\r\n\"x\r\ny\",2\r\n", `1["a" "b"]2["x\ny" "2"]`},
		"text after a quoted word":         {"t,n\n\"Big\" burger,1\n\"Small\" burger,2\n", `1["t" "n"]2["Big burger" "1"]3["Small burger" "2"]`},
		"quotation marks inside":           {"t,n\n5\" disk,1\nsay \"hi\",2\n", `1["t" "n"]2["5\" disk" "1"]3["say \"hi\"" "2"]`},
		"blanks before a quotation mark":   {"a, b\n1, \"x, y\"\n", `1["a" "b"]2["1" "x, y"]`},
		"blanks around and within a cell":  {"a,b\n  1 2 ,\" 3 \"\n", `1["a" "b"]2["1 2" " 3 "]`},
		"tabs and empty cells":             {"a\tb\tc\n\t\t3\n", `1["a" "b" "c"]2["" "" "3"]`},
		"empty lines":                      {"\n\r\na|b\n\n1|2\n", `3["a" "b"]5["1" "2"]`},
		"a stated separator":               {"sep=;\r\na,b;c\r\n", `2["a,b" "c"]`},
		"a stated separator beyond ASCII":  {"sep=§\na,b§c\n", `2["a,b" "c"]`},
		"only a stated separator":          {"sep=;", ``},
		"the end of a file of DOS":         {"a,b\r\n1,2\r\n\x1a", `1["a" "b"]2["1" "2"]`},
		"the most frequent separator":      {"a;b;c,d\n1;2;3\n", `1["a" "b" "c,d"]2["1" "2" "3"]`},
		"a separator in a quoted header":   {"\"a;b;c\",d\n", `1["a;b;c" "d"]`},
		"one column":                       {"text\nhello world\n", `1["text"]2["hello world"]`},
		"nothing":                          {"", ``},
		"rows of any length":               {"a,b\n1\n1,2,3\n", `1["a" "b"]2["1"]3["1" "2" "3"]`},
		"a quoted empty cell":              {"\"\",\"\"\n", `1["" ""]`},
		"an ideographic space is no blank": {"a,b\n\u3000\"x\",1\n", `1["a" "b"]2["\"x\"" "1"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
				if got, err := rowsOf(NewReader(in, 0, 0)); got != c.want || err != nil {
					t.Errorf("got %s, %v, want %s", got, err, c.want)
				}
			}
		})
	}
}

func TestReader_names_the_row_that_is_wrong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct{ text, want string }{
		"an open quotation mark":               {"a,b\n1,2\n\"never closed,1\nworld,2\n", "line 3: a quotation mark is not closed"},
		"an open quotation mark in the header": {"a,\"b\n1,2\n", "line 1: a quotation mark is not closed"},
		"a long row":                           {"a,b\n1,2\n" + long + "," + long + "\n", "line 3: a row is too large, or a quotation mark is not closed"},
		"a long quoted cell":                   {"a\n\"" + strings.Repeat("x\n", 100) + "\"\n", "line 2: a row is too large, or a quotation mark is not closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rowsOf(NewReader(strings.NewReader(c.text), 0, 150))
			if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	broken := errors.New("the disk is gone")
	if _, err := rowsOf(NewReader(iotest.ErrReader(broken), 0, 0)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the source", err)
	}
}

// FuzzReader checks that no table makes the reader fail otherwise than with an *Error, and that it is read the same in pieces.
func FuzzReader(f *testing.F) {
	f.Add("sep=;\ra;b\r1;\"2\r")
	f.Add("a,b\n\"x\"\"y\nz\"w,2\n\x1a")
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := rowsOf(NewReader(strings.NewReader(text), 0, 1<<20))
		if _, ok := errors.AsType[*Error](err); err != nil && !ok {
			t.Fatalf("got %v", err)
		}
		pieces, again := rowsOf(NewReader(iotest.OneByteReader(strings.NewReader(text)), 0, 1<<20))
		if whole != pieces || fmt.Sprint(err) != fmt.Sprint(again) {
			t.Errorf("read whole: %s, %v; in pieces: %s, %v", whole, err, pieces, again)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	text := strings.Repeat("Ada Lovelace,1815-12-10,\"wrote \"\"notes\"\", and more\",12.50\n", 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r := NewReader(strings.NewReader(text), 0, 0)
		for {
			if _, _, err := r.Read(); err != nil {
				break
			}
		}
	}
}
