package db

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sluice/flow"
)

// micros is a time as the database keeps it, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encodeMap is ” for a map that is not there, which an empty one is.
func encodeMap(m map[string]any) string {
	if m == nil {
		return ""
	}
	return string(flow.EncodeJSON(m))
}

func encodeAny(v any) string {
	if v == nil {
		return ""
	}
	return string(flow.EncodeJSON(v))
}

func encodeError(e *flow.Error) string {
	if e == nil {
		return ""
	}
	return string(flow.EncodeJSON(e))
}

// decode reads what encode wrote. It is laxer than flow.DecodeJSON: a value of
// the greatest depth, put into the map of a step's outputs, is deeper still.
func decode[T any](text string) (v T, err error) {
	if text == "" {
		return v, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return v, flow.Permanent(fmt.Errorf("read stored JSON: %w", err))
	}
	return v, nil
}

// decodeList is for lists of names that were written by ourselves.
func decodeList[T ~string](text string) []T {
	list, _ := decode[[]T](text)
	return list
}

func encodeList[T ~string](list []T) string {
	if len(list) == 0 {
		return ""
	}
	return string(flow.EncodeJSON(list))
}

// clean makes foreign text fit for PostgreSQL, which takes neither NUL nor
// broken UTF-8.
func clean(s string) string {
	if !strings.Contains(s, "\x00") {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// missing turns "no rows" into not_found, in the same words for what is not
// there and for what belongs to another workspace.
func missing(err error, what string) error {
	if isNoRows(err) {
		return flow.Errorf(flow.CodeNotFound, "There is no such %s.", what)
	}
	return err
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// touched is missing for updates that report how many rows they changed.
func touched(n int64, err error, what string) error {
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return missing(err, what)
}

func mapRows[A, B any](rows []A, convert func(A) B) []B {
	list := make([]B, len(rows))
	for i, r := range rows {
		list[i] = convert(r)
	}
	return list
}

// lastID sorts after every identifier, also where a collation puts signs before
// letters; paging backwards starts from it.
const lastID = "zzzz"

func before(id string) string {
	if id == "" {
		return lastID
	}
	return id
}

// lockedReader lets many goroutines draw randomness from one source.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return io.ReadFull(l.r, p)
}
