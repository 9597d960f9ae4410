package charset

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// sample is a text of testdata/texts.txt.
type sample struct {
	language, text string
	encodings      []string
}

func samples(t testing.TB) (list []sample) {
	t.Helper()
	data, err := os.ReadFile("testdata/texts.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		list = append(list, sample{language: fields[0], encodings: strings.Fields(fields[1]), text: fields[2]})
	}
	return list
}

// encode writes a text in an encoding.
func encode(t testing.TB, name, text string) []byte {
	t.Helper()
	e, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if e.hasAccents() {
		text = decomposeTones(text)
	}
	data, err := e.encoding.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatalf("%s in %s: %v", text, name, err)
	}
	return data
}

// TestDetect_finds_encodings reads each sample in each of its encodings: as it is, as a table of CSV, and as HTML.
func TestDetect_finds_encodings(t *testing.T) {
	t.Parallel()
	wrong, all := 0, 0
	for _, s := range samples(t) {
		for _, name := range s.encodings {
			for kind, form := range map[string]string{
				"text": "%", "CSV": "id,name,price\r\n1,%,10.00\r\n2,%,7.50\r\n",
				"HTML": "<!doctype html><html><head><title>%</title></head><body class=\"page main\"><p id=\"first\">%</p><script src=\"/js/main.js\"></script></body></html>",
			} {
				text := strings.ReplaceAll(form, "%", s.text)
				data := encode(t, name, text)
				all++
				got := Detect(data, kind == "HTML")
				if read := got.Decode(data); read != text {
					wrong++
					t.Errorf("%s in %s as %s: detected %s: %.60s", s.language, name, kind, got.Name, read)
				}
			}
		}
	}
	t.Logf("%d of %d wrong", wrong, all)
}

// TestDetect_finds_encodings_of_short_texts measures how little text is enough. Names in few letters stay ambiguous, so a part may be
// wrong.
func TestDetect_finds_encodings_of_short_texts(t *testing.T) {
	t.Parallel()
	for length, most := range map[int]float64{20: 0.12, 40: 0.04} {
		wrong, all := 0, 0
		for _, s := range samples(t) {
			text := string([]rune(s.text)[:min(length, len([]rune(s.text)))])
			for _, name := range s.encodings {
				all++
				if got := Detect(encode(t, name, text), false); got.Decode(encode(t, name, text)) != text {
					wrong++
					t.Logf("%d characters in %s: detected %s: %s", length, name, got.Name, text)
				}
			}
		}
		if share := float64(wrong) / float64(all); share > most {
			t.Errorf("%d characters: %d of %d wrong, want at most %.0f %%", length, wrong, all, most*100)
		} else {
			t.Logf("%d characters: %d of %d wrong", length, wrong, all)
		}
	}
}

// TestDetect_copes_with_other_bytes reads what has no letters, or too many of them.
func TestDetect_copes_with_other_bytes(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"empty": "", "ASCII": "plain", "bytes": strings.Repeat("\xff\x00\x81", 1000), "long": strings.Repeat("\xcf\xf0\xe8\xe2\xe5\xf2 ", 1_000_000)} {
		if got := Detect([]byte(data), true); got.Name == "" || got.Decode([]byte(data)) == "" && data != "" {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if _, err := Lookup("no such encoding"); err == nil {
		t.Error("an unknown name has an encoding")
	}
}

func TestLookup_finds_each_detected_encoding(t *testing.T) {
	t.Parallel()
	for _, c := range candidates {
		if got, err := Lookup(c.Name); got != c.Encoding {
			t.Errorf("%s: got %v, %v", c.Name, got, err)
		}
	}
}

// BenchmarkDetect detects the encodings of a megabyte of text.
func BenchmarkDetect(b *testing.B) {
	for _, s := range samples(b) {
		for _, name := range s.encodings {
			line := encode(b, name, s.text+"\n")
			data := bytes.Repeat(line, 1+(1<<20)/len(line))
			b.Run(s.language+" in "+name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					Detect(data, false)
				}
			})
		}
	}
}

func TestUTF16_is_told_from_texts_with_stray_zeros(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\x00b text with nul\n", "a\x00b text with a nul\n", "key=value\x00key=other value\x00", "Größe\x00 und mehr Text, schön ", strings.Repeat("0123456789abcde\x00", 5000)} {
		if e, found := UTF16([]byte(text)); found {
			t.Errorf("%.40q is read as %s", text, e.Name)
		}
	}
	for _, text := range []string{"Hi\n", "Größe: 5\n", "価格は5円です。\n", "中文 文本\r\n", "Привет, мир\n", "שלום עולם\n", strings.Repeat("契約 書\n", 20000)} {
		for _, name := range []string{"utf-16le", "utf-16be"} {
			if e, found := UTF16(encode(t, name, text)); !found || e.Name != name {
				t.Errorf("%.40q in %s: %s %v", text, name, e.Name, found)
			}
		}
	}
}
