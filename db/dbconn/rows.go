package dbconn

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// Micros returns a time in microseconds since 1970, the format of time columns. The
// zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// TimeOf is the inverse of Micros. It returns times in UTC.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// BoolInt returns 1 for true and 0 for false, the format of flags.
func BoolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// EncodeObject encodes an object as JSON. It returns "" for nil.
func EncodeObject(o *value.Object) string {
	if o == nil {
		return ""
	}
	return value.Text(o)
}

// EncodeAny encodes a value as JSON. It returns "" for nil.
func EncodeAny(v any) string {
	if v == nil {
		return ""
	}
	return value.Text(v)
}

// Texts encodes the values of one write, which often share large parts. The zero value is ready to use.
type Texts struct{ value.Texts }

// EncodeMap encodes a map as JSON. It returns "" for nil; an empty, non-nil map is "{}".
func (t *Texts) EncodeMap(m map[string]any) string {
	if m == nil {
		return ""
	}
	return t.Text(m)
}

// EncodeObject returns what the function EncodeObject returns.
func (t *Texts) EncodeObject(o *value.Object) string {
	if o == nil {
		return ""
	}
	return t.Text(o)
}

// EncodeAny returns what the function EncodeAny returns.
func (t *Texts) EncodeAny(v any) string {
	if v == nil {
		return ""
	}
	return t.Text(v)
}

// EncodeError encodes an error as JSON. It returns "" for nil.
func EncodeError(e *flow.Error) string {
	if e == nil {
		return ""
	}
	return string(flow.EncodeJSON(e))
}

// Decode decodes stored JSON; "" gives the zero value. Unlike flow.DecodeJSON it does
// not limit the depth: a value of the maximum depth is one level deeper inside the
// outputs of a step. Values of type any keep the order of their members; in structs, the
// types that hold them see to that.
func Decode[T any](text string) (v T, err error) {
	if text == "" {
		return v, nil
	}
	switch target := any(&v).(type) {
	case *any:
		*target, err = value.DecodeStored(text)
		return v, stored(err)
	case **value.Object:
		*target, err = decodeObject(text)
		return v, err
	case *map[string]any:
		o, err := decodeObject(text)
		if o != nil {
			*target = o.Map()
		}
		return v, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return v, stored(err)
	}
	return v, nil
}

// stored marks the error of a row that cannot be read as permanent.
func stored(err error) error {
	if err == nil {
		return nil
	}
	return flow.Permanent(fmt.Errorf("read stored JSON: %w", err))
}

// DecodeList decodes a list that EncodeList wrote. It ignores errors.
func DecodeList[T ~string](text string) []T {
	list, _ := Decode[[]T](text)
	return list
}

// EncodeList encodes a list as JSON. It returns "" for an empty list.
func EncodeList[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	return string(flow.EncodeJSON(list))
}

// ValidText replaces NUL and invalid UTF-8, which PostgreSQL rejects, by U+FFFD.
func ValidText(s string) string {
	if !strings.Contains(s, "\x00") {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// NotFoundErr turns sql.ErrNoRows into CodeNotFound. The message is the same for
// an object that does not exist and for one of another workspace.
func NotFoundErr(err error, what string) error {
	if IsNoRows(err) {
		return flow.Errorf(flow.CodeNotFound, "There is no such %s.", what)
	}
	return err
}

// IsNoRows reports whether a query for one row found none.
func IsNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// MustAffect is NotFoundErr for updates, given the number of rows they changed.
func MustAffect(n int64, err error, what string) error {
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return NotFoundErr(err, what)
}

// ConvertRow converts a row that a query found. It returns CodeNotFound if there was
// no row.
func ConvertRow[A, B any](row A, err error, what string, convert func(A) B) (*B, error) {
	if err != nil {
		return nil, NotFoundErr(err, what)
	}
	v := convert(row)
	return &v, nil
}

// ConvertRows converts the rows of a query. The format and its arguments name the
// act in an error.
func ConvertRows[A, B any](rows []A, err error, convert func(A) B, format string, args ...any) ([]B, error) {
	if err != nil {
		return nil, fmt.Errorf(format+": %w", append(args, err)...)
	}
	return MapRows(rows, convert), nil
}

// Collect reads all rows of a query that sqlc did not generate and closes them.
// It takes the results of QueryContext.
func Collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (list []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// ScanText scans a row of one text column, for Collect.
func ScanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }

// MapRows converts each row.
func MapRows[A, B any](rows []A, convert func(A) B) []B {
	list := make([]B, len(rows))
	for i, r := range rows {
		list[i] = convert(r)
	}
	return list
}

// LastID sorts after every identifier in all collations. Paging backward starts from
// it.
const LastID = "zzzz"

// CursorOrEnd returns an ID, or LastID if it is empty.
func CursorOrEnd(id string) string {
	if id == "" {
		return LastID
	}
	return id
}

// LockedReader makes a source of randomness safe for concurrent use.
type LockedReader struct {
	mu sync.Mutex
	R  io.Reader
}

// Read fills p.
func (l *LockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return io.ReadFull(l.R, p)
}

// FirstError runs steps until one fails, and returns its error.
func FirstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// CompareTexts compares pairs of texts and returns the result of the first pair that
// differs.
func CompareTexts(pairs ...string) int {
	for i := 0; i < len(pairs); i += 2 {
		if c := cmp.Compare(pairs[i], pairs[i+1]); c != 0 {
			return c
		}
	}
	return 0
}

// Earliest converts the result of a query for the earliest time. It returns the zero
// time if the query found no row.
func Earliest(us int64, err error) (time.Time, error) {
	if IsNoRows(err) {
		return time.Time{}, nil
	}
	return TimeOf(us), err
}

// decodeObject decodes an object that was stored. It returns nil for null.
func decodeObject(text string) (*value.Object, error) {
	decoded, err := value.DecodeStored(text)
	o, ok := value.AsObject(decoded)
	if !ok && err == nil && decoded != nil {
		err = fmt.Errorf("wanted an object, got %.20q", text)
	}
	return o, stored(err)
}
