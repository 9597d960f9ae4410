package components

import (
	"encoding/json"
	"math"
	"regexp"
	"sluice/flow/value"
	"strconv"
	"strings"
)

// Values of runs are those of package value. A
// file is an object with its ID under "file".

// fileIDPattern matches IDs of stored files. An object is shown as a file if its field
// "file" is such an ID.
var fileIDPattern = regexp.MustCompile(`^file_[0-9a-z]{26}$`)

// fileID returns the ID of a file value.
func fileID(v any) (id string, ok bool) {
	id, _ = value.Get(v, "file").(string)
	return id, fileIDPattern.MatchString(id)
}

// number returns the value of a JSON number.
func number(v any) (f float64, ok bool) {
	n, ok := v.(json.Number)
	if !ok {
		f, ok = v.(float64)
		return f, ok
	}
	f, err := n.Float64()
	return f, err == nil
}

// plainText returns a string unchanged, "" for null, and anything else as JSON.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return encodeJSON(v)
}

// encodeJSON returns v as compact JSON with the members of objects in their order.
func encodeJSON(v any) string {
	return string(value.Encode(v))
}

// pointer returns one reference token of a JSON pointer (RFC 6901), with its slash.
func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// Size formats a number of bytes, such as 1.5 MiB.
func Size(bytes int64) string {
	size, unit := float64(bytes), 0
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for math.Round(size*10) >= 10240 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return strconv.FormatFloat(math.Round(size*10)/10, 'f', -1, 64) + " " + units[unit]
}
