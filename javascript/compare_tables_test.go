package javascript

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"sluice/e2e/need"
)

var update = flag.Bool("update", false, "write compare_tables.gz")

// TestTables_are_those_of_collate checks that the tables were packed from those of the version of golang.org/x/text that is
// used.
func TestTables_are_those_of_collate(t *testing.T) {
	t.Parallel()
	need.Time(t)
	want := tablesOfCollate()
	if *update {
		if err := os.WriteFile("compare_tables.gz", want.pack(t), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !reflect.DeepEqual(unpackTables(), want) {
		t.Error("compare_tables.gz is outdated; run: go generate ./javascript")
	}
}

// TestTables_compare_as_collate_does compares texts of random letters of many scripts, in all languages and by all options.
func TestTables_compare_as_collate_does(t *testing.T) {
	t.Parallel()
	need.Time(t)
	random := rand.New(rand.NewPCG(1, 2))
	options := [][]collate.Option{nil, {collate.Numeric}, {collate.Loose}, {collate.IgnoreCase}, {collate.Numeric, collate.Loose}}
	for i, name := range sortedNames {
		for _, o := range options {
			have, want := newCollator(i, o...), collate.New(language.Make(name), o...)
			for range 300 {
				a, b := randomText(random), randomText(random)
				if h, w := have.CompareString(a, b), want.CompareString(a, b); h != w {
					t.Fatalf("%s: %+q and %+q compare as %d, want %d", name, a, b, h, w)
				}
			}
		}
	}
}

// alphabets are letters whose order depends on the language, contracts or expands, and first and last characters of ranges.
var alphabets = [][]rune{
	[]rune("abcdeABCDEzZxyhlnsjgi0123456789 -_'’ch"), []rune("äöüåæøœßÄÖÜÅÆØđðþñçčšžřěőűłğışțșạảấầệơư"), []rune("̧̨̛̣̀́̂̃̈̊̌"),
	[]rune("абвгдежийёыэюяЯѐђ"), []rune("αβγάΐώςΩ"), []rune("אבגד"), []rune("ابتثة١٢٣"), []rune("कखगक्ष०१"), []rune("กขฃเแไะ"), []rune("한국어각"),
	[]rune("日本語漢字カタカナひらがなー"), []rune("㈱①½ﬁＡ９₉⁰℃㍿"), []rune("😀𝒳𠀀\U0002fa1d\U0010ffff\ufffd"), []rune("ሀለሐ፩"), []rune("ကခဂ၁"),
}

func randomText(random *rand.Rand) string {
	text := make([]rune, random.IntN(6))
	alphabet := alphabets[random.IntN(len(alphabets))]
	for i := range text {
		if random.IntN(4) == 0 {
			alphabet = alphabets[random.IntN(len(alphabets))]
		}
		if text[i] = alphabet[random.IntN(len(alphabet))]; random.IntN(16) == 0 {
			text[i] = rune(random.IntN(0x11000))
		}
	}
	return string(text)
}

// tablesOfCollate reads the tables of package collate from its collators, and leaves out what no language in sortedNames
// reaches.
func tablesOfCollate() *tables {
	t := &tables{}
	var used []bool
	for _, name := range sortedNames {
		table := reflect.ValueOf(collate.New(language.Make(name))).Elem().FieldByName("t").Elem().Elem()
		trie := table.FieldByName("Index")
		if t.Values == nil {
			t.MaxLength, t.VariableTop = int(table.FieldByName("MaxContractLen").Int()), uint32(table.FieldByName("VariableTop").Uint())
			read(&t.Expansions, table.FieldByName("ExpandElem"))
			read(&t.Contracted, table.FieldByName("ContractElem"))
			read(&t.Contractions, table.FieldByName("ContractTries"))
			read(&t.Lookup, trie.FieldByName("Index"))
			read(&t.Values, trie.FieldByName("Values"))
			used = make([]bool, len(t.Values))
		}
		at := order{
			Lookup: uint32(len(t.Lookup)-trie.FieldByName("Index0").Len()) / blockSize,
			Values: uint32(len(t.Values)-trie.FieldByName("Values0").Len()) / blockSize,
		}
		t.Orders = append(t.Orders, at)
		t.reach(at, used)
	}
	expanded := make([]bool, len(t.Expansions))
	expand := func(element uint32) {
		if element>>28 == 0xE { // an index of Expansions, where the number of elements stands first
			for i := range t.Expansions[uint16(element)] + 1 {
				expanded[uint32(uint16(element))+i] = true
			}
		}
	}
	for i := range t.Values {
		if !used[i] {
			t.Values[i] = 0
		}
		expand(t.Values[i])
	}
	for _, element := range t.Contracted {
		expand(element)
	}
	for i := range t.Expansions {
		if !expanded[i] {
			t.Expansions[i] = 0
		}
	}
	return t
}

// reach marks the values of all characters in the order of a language, whose bytes in UTF-8 lead from block to block.
func (t *tables) reach(at order, used []bool) {
	mark := func(block uint32, from, to int) {
		for b := from; b < to; b++ {
			used[int(block)*blockSize+b] = true
		}
	}
	var follow func(block uint32, left int)
	follow = func(block uint32, left int) {
		if left == 0 {
			mark(block, 0x80, 0xC0)
			return
		}
		for b := 0x80; b < 0xC0; b++ {
			follow(uint32(t.Lookup[int(block)*blockSize+b]), left-1)
		}
	}
	mark(at.Values, 0, 0x80)
	for first := 0xC0; first < 0xF8; first++ {
		left := 0 // bytes between the first and the last
		if first >= 0xE0 {
			left++
		}
		if first >= 0xF0 {
			left++
		}
		follow(uint32(t.Lookup[int(at.Lookup)*blockSize+first]), left)
	}
}

// read copies a list, which reflection may read but not return, because package collate keeps it to itself.
func read[T any](to *[]T, from reflect.Value) {
	*to = make([]T, from.Len())
	for i := range *to {
		item, element := reflect.ValueOf(to).Elem().Index(i), from.Index(i)
		if item.Kind() != reflect.Struct {
			item.SetUint(element.Uint())
			continue
		}
		for f := range item.NumField() {
			item.Field(f).SetUint(element.Field(f).Uint())
		}
	}
}

// pack writes the tables as unpackTables reads them.
func (t *tables) pack(tt *testing.T) []byte {
	tt.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		tt.Fatal(err)
	}
	write := func(v any) {
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			tt.Fatal(err)
		}
	}
	write([]uint32{uint32(t.MaxLength), t.VariableTop})
	for _, list := range t.lists() {
		v := reflect.ValueOf(list).Elem()
		write(uint32(v.Len()))
		write(v.Interface())
	}
	if err := w.Close(); err != nil {
		tt.Fatal(err)
	}
	return b.Bytes()
}
