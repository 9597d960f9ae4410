// Package timezones lets time.LoadLocation find the zones of the IANA database on machines that have none, such as
// containers. Importing it is enough. It does what time/tzdata of the standard library does, with an eighth of the bytes,
// because it has the database compressed. It knows nothing of schedules.
package timezones

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for timezones.gz
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"syscall"
	_ "unsafe" // for go:linkname
)

// packed is the database of the Go release that builds Sluice.
//
//go:generate go test -run ^TestDatabase_is_that_of_Go$ . -update
//go:embed timezones.gz
var packed []byte

// registerLoadFromEmbeddedTZData is the function of package time that time/tzdata calls, which is all that it does besides
// having the data.
//
//go:linkname registerLoadFromEmbeddedTZData time.registerLoadFromEmbeddedTZData
func registerLoadFromEmbeddedTZData(func(string) (string, error))

func init() { registerLoadFromEmbeddedTZData(find) }

// find returns the data of a zone by its name. Package time asks it for a zone that the machine does not have.
func find(name string) (string, error) {
	if data, ok := database()[name]; ok {
		return data, nil
	}
	return "", syscall.ENOENT // which package time expects
}

// database decompresses the data of all zones, by name, when a zone is first needed.
var database = sync.OnceValue(func() map[string]string {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(broken(err))
	}
	all, err := io.ReadAll(r)
	if err != nil {
		panic(broken(err))
	}
	zones, err := decode(string(all))
	if err != nil {
		panic(broken(err))
	}
	return zones
})

// broken is an error that only a broken build can cause.
func broken(err error) error { return fmt.Errorf("read the embedded time zones: %w", err) }

// decode reads the zones that encode has written. Zones with equal data share it.
func decode(all string) (map[string]string, error) {
	zones, last := map[string]string{}, ""
	for len(all) > 0 {
		if len(all) < 3 {
			return nil, io.ErrUnexpectedEOF
		}
		nameEnd := 3 + int(all[0])
		end := nameEnd + int(binary.BigEndian.Uint16([]byte(all[1:3])))
		if len(all) < end {
			return nil, io.ErrUnexpectedEOF
		}
		if end > nameEnd {
			last = all[nameEnd:end]
		}
		zones[all[3:nameEnd]] = last
		all = all[end:]
	}
	return zones, nil
}
