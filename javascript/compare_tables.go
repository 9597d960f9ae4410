package javascript

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for compare_tables.gz
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/collate/build"
)

// packedTables are the tables with which package collate compares texts, of the languages in sorted alone, compressed. The
// tables of the package itself are for all languages and take 1.3 MB in the program, and only collate.New uses them.
//
//go:generate go test -run ^TestTables_are_those_of_collate$ . -update
//go:embed compare_tables.gz
var packedTables []byte

// tables are those of package collate, with what no language in sorted uses set to zero.
type tables struct {
	Expansions   []uint32
	Contracted   []uint32
	Contractions []struct{ L, H, N, I uint8 }
	Lookup       []uint16
	Values       []uint32
	Orders       []order // of sortedNames
	MaxLength    int     // of a contraction
	VariableTop  uint32
}

// order is where the tables of a language begin.
type order struct{ Lookup, Values uint32 }

// lists returns the lists of the tables, in the order in which they are packed.
func (t *tables) lists() []any {
	return []any{&t.Expansions, &t.Contracted, &t.Contractions, &t.Lookup, &t.Values, &t.Orders}
}

// unpackTables decompresses the tables when texts are first compared.
var unpackTables = sync.OnceValue(func() *tables {
	r, err := gzip.NewReader(bytes.NewReader(packedTables))
	if err != nil {
		panic(brokenTables(err))
	}
	data, err := io.ReadAll(r)
	if err != nil {
		panic(brokenTables(err))
	}
	t := &tables{}
	if err := t.decode(bytes.NewReader(data)); err != nil {
		panic(brokenTables(err))
	}
	return t
})

// brokenTables is an error that only a broken build can cause.
func brokenTables(err error) error {
	return fmt.Errorf("read the embedded tables for comparing texts: %w", err)
}

// decode reads what encode has written.
func (t *tables) decode(r io.Reader) error {
	var head [2]uint32
	if err := binary.Read(r, binary.LittleEndian, &head); err != nil {
		return err
	}
	t.MaxLength, t.VariableTop = int(head[0]), head[1]
	for _, to := range t.lists() {
		var n uint32
		if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
			return err
		}
		list := reflect.ValueOf(to).Elem()
		list.Set(reflect.MakeSlice(list.Type(), int(n), int(n)))
		if err := binary.Read(r, binary.LittleEndian, list.Interface()); err != nil {
			return err
		}
	}
	return nil
}

// blockSize is the number of entries of a block in the lists of package collate.
const blockSize = 64

// newCollator returns a collator of a language in sortedNames. It equals that of collate.New.
//
// The type of a table is internal to golang.org/x/text. An empty one is built by the package that writes the tables of
// collate, and is filled here.
func newCollator(language int, options ...collate.Option) *collate.Collator {
	t := unpackTables()
	table, err := build.NewBuilder().Build()
	if err != nil {
		panic(brokenTables(err))
	}
	to, at := reflect.ValueOf(table).Elem(), t.Orders[language]
	fill := func(field reflect.Value, v any) { field.Set(reflect.ValueOf(v).Convert(field.Type())) }
	fill(to.FieldByName("ExpandElem"), t.Expansions)
	fill(to.FieldByName("ContractElem"), t.Contracted)
	fill(to.FieldByName("ContractTries"), t.Contractions)
	fill(to.FieldByName("MaxContractLen"), t.MaxLength)
	fill(to.FieldByName("VariableTop"), t.VariableTop)
	trie := to.FieldByName("Index")
	fill(trie.FieldByName("Index"), t.Lookup)
	fill(trie.FieldByName("Values"), t.Values)
	fill(trie.FieldByName("Index0"), t.Lookup[blockSize*at.Lookup:])
	fill(trie.FieldByName("Values0"), t.Values[blockSize*at.Values:])
	return collate.NewFromTable(table, options...)
}
