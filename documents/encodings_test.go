package documents

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"sluice/e2e/need"
)

// TestRead_detects_encodings reads text, CSV and HTML in encodings that they do not state. The detector is measured in package charset;
// this is how its result is used.
func TestRead_detects_encodings(t *testing.T) {
	t.Parallel()
	need.Time(t)
	type sample struct {
		name, text string
		e          encoding.Encoding
		stated     bool
	}
	const russian = "Договор вступает в силу с момента подписания"
	for _, s := range []sample{
		{"gb18030", "本合同自签字之日起生效，双方应于三十日内付款。", simplifiedchinese.GBK, false},
		{"big5", "本合約自簽署之日起生效，請於三十日內付款。", traditionalchinese.Big5, false},
		{"shift_jis", "この契約は署名の日から有効です。", japanese.ShiftJIS, false},
		{"euc-jp", "この契約は署名の日から有効です。", japanese.EUCJP, false},
		{"iso-2022-jp", "この契約は署名の日から有効です。", japanese.ISO2022JP, true},
		{"euc-kr", "이 계약은 서명한 날부터 효력이 있습니다.", korean.EUCKR, false},
		{"windows-1251", russian, charmap.Windows1251, false},
		{"koi8-r", russian, charmap.KOI8R, false},
		{"windows-1250", "Smlouva nabývá účinnosti dnem podpisu, šest měsíců žádostí", charmap.Windows1250, false},
		{"windows-1252", "Der Vertrag tritt für beide Parteien in Kraft. Grüße", charmap.Windows1252, false},
		{"utf-8", "Größe: 東京", unicode.UTF8, true},
		{"utf-16le", "Größe und mehr Text", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), false},
		{"utf-16be", "この契約は 署名の日から有効です。", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), false},
		{"utf-16le", "Größe", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), true},
		{"utf-32be", "Größe", utf32.UTF32(utf32.BigEndian, utf32.UseBOM), true},
	} {
		for kind, form := range map[string][2]string{
			"a.txt": {"%", "%"}, "a.csv": {"id,%\r\n1,%\r\n", "id,%\r\n1,%\r\n"}, "a.html": {"<p>%</p>", "%"},
		} {
			t.Run(s.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				data, err := s.e.NewEncoder().String(strings.ReplaceAll(form[0], "%", s.text))
				if err != nil {
					t.Fatal(err)
				}
				got, err := readIn(t.Context(), Request{Name: kind}, data)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "text", []any{strings.TrimSpace(got.Text), got.Encoding}, []any{strings.TrimSpace(strings.ReplaceAll(form[1], "%", s.text)), s.name})
				if s.stated != (len(got.Warnings) == 0) {
					t.Errorf("warnings: %q", got.Warnings)
				}
			})
		}
	}
	t.Run("are set by the request", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.txt", Encoding: "koi8-r"}, "\xf0\xd2\xc9")
		same(t, "text", []any{err, got.Text, got.Warnings}, []any{nil, "При", nil})
	})
	t.Run("are stated in the markup", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.xml"}, "<?xml version='1.0' encoding='ISO-8859-2'?><a>\xb3\xf3d\xbc</a>")
		same(t, "text", []any{err, got.Text, got.Warnings}, []any{nil, "<?xml version='1.0' encoding='ISO-8859-2'?><a>łódź</a>", nil})
		got, err = readIn(t.Context(), Request{Name: "a.html"}, "<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'><p>\xcf\xf0\xe8")
		same(t, "text", []any{err, got.Text, got.Warnings}, []any{nil, "При", nil})
	})
	t.Run("report damaged bytes", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.txt"}, "größer als größte Größe \xff")
		if err != nil || got.Text != "größer als größte Größe \uFFFD" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "invalid in utf-8") {
			t.Errorf("got %v, %+v", err, got)
		}
	})
	t.Run("skip one byte order mark", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.txt", MIME: "text/plain; charset=utf-8"}, "\xef\xbb\xbfa")
		same(t, "text", []any{err, got.Text}, []any{nil, "a"})
	})
}

// TestTables_read_like_spreadsheets reads CSV files as spreadsheets do.
func TestTables_read_like_spreadsheets(t *testing.T) {
	t.Parallel()
	need.Time(t)
	row := func(cells ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(cells); i += 2 {
			m[cells[i]] = cells[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name, content, text string
		columns             []string
		rows                []map[string]string
	}{
		{"carriage returns alone", "b,a\r1,2\r3,4\r", "b,a\n1,2\n3,4\n", []string{"b", "a"}, []map[string]string{row("b", "1", "a", "2"), row("b", "3", "a", "4")}},
		{"a stated separator", "sep=;\r\nName;Qty\r\nn,m;1\r\n", "Name;Qty\r\nn,m;1\r\n", []string{"Name", "Qty"}, []map[string]string{row("Name", "n,m", "Qty", "1")}},
		{"a stated bar in UTF-8 with a mark", "\xef\xbb\xbfSEP=|\na|b,c\n1|2\n", "a|b,c\n1|2\n", []string{"a", "b,c"}, []map[string]string{row("a", "1", "b,c", "2")}},
		{"bars", "a|b\n1|2\n", "a|b\n1|2\n", []string{"a", "b"}, []map[string]string{row("a", "1", "b", "2")}},
		{"long numbers", "id,n\n7615917337495251231,1.10\n", "id,n\n7615917337495251231,1.10\n", []string{"id", "n"}, []map[string]string{row("id", "7615917337495251231", "n", "1.10")}},
		{"a header that is not an instruction", "sep=the,b\n1,2\n", "sep=the,b\n1,2\n", []string{"sep=the", "b"}, []map[string]string{row("sep=the", "1", "b", "2")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{Name: "a.csv"}, c.content)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c.text)
			same(t, "tables", got.Tables, []Table{{Name: "a", Columns: c.columns, Rows: c.rows}})
		})
	}
	t.Run("mixed line ends", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.txt"}, "a\rb\r\nc\nd\r\r\n")
		same(t, "text", []any{err, got.Text}, []any{nil, "a\nb\r\nc\nd\n\r\n"})
	})
}

func TestEncoding_that_does_not_fit_is_reported(t *testing.T) {
	t.Parallel()
	got, err := readIn(t.Context(), Request{Name: "a.txt", Encoding: "shift_jis"}, "\x93\xfa\x96\x7b \xff")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text", []any{got.Text, len(got.Warnings)}, []any{"日本 \uFFFD", 1})
}

// TestTables_fit_the_answer_of_the_child reads tables whose JSON is much longer than their cells.
func TestTables_fit_the_answer_of_the_child(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		columns int
	}{
		"many short rows":    {"a,b\n" + strings.Repeat("1\n", 2_000_000), 2},
		"many empty cells":   {"a,b\n" + strings.Repeat(",\n", 2_000_000), 2},
		"a long column name": {strings.Repeat("a", 2*maxTables) + ",b\n1,2\n", 0},
		"brackets":           {"a,b\n" + strings.Repeat("<<<<<<<<<<<<<<<<<<<<,&&&&&&&&&\n", 200_000), 2},
		"escapes":            {"a,b\n" + strings.Repeat("x\\\\\\\u2028\"\\,y\n", 400_000), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{Name: "a.csv"}, c.content)
			if err != nil {
				t.Fatal(err)
			}
			if table := got.Tables[0]; len(table.Columns) != c.columns || !got.Truncated || len(table.Rows) > maxTables/rowSize {
				t.Errorf("%d columns and %d rows, truncated: %v", len(table.Columns), len(table.Rows), got.Truncated)
			}
		})
	}
}
