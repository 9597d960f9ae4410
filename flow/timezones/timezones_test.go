package timezones

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write timezones.gz")

// TestDatabase_is_that_of_Go compares the zones with those of the Go release, which time/tzdata has too.
func TestDatabase_is_that_of_Go(t *testing.T) {
	t.Parallel()
	want := zonesOfGo(t)
	if *update {
		if err := os.WriteFile("timezones.gz", encode(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !maps.Equal(database(), want) {
		t.Error("timezones.gz is outdated; run: go generate ./flow/timezones")
	}
}

// TestLoadLocation_finds_zones_that_the_machine_lacks adds a zone that no machine has. It is not parallel, because the others
// read the zones too.
func TestLoadLocation_finds_zones_that_the_machine_lacks(t *testing.T) {
	const name = "Sluice/Nowhere"
	if _, err := time.LoadLocation(name); err == nil {
		t.Fatal("an unknown zone was found")
	}
	database()[name] = database()["Asia/Kathmandu"]
	defer delete(database(), name)
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	if at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).In(zone).Format("15:04 -07:00"); at != "17:45 +05:45" {
		t.Errorf("it is %s in Kathmandu", at)
	}
}

// TestFind_returns_data_that_package_time_reads reads all zones.
func TestFind_returns_data_that_package_time_reads(t *testing.T) {
	t.Parallel()
	for name := range database() {
		data, err := find(name)
		if err == nil {
			_, err = time.LoadLocationFromTZData(name, []byte(data))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecode_refuses_what_is_cut_off(t *testing.T) {
	t.Parallel()
	whole := "\x03\x00\x02UTCab\x03\x00\x00GMT"
	if zones, err := decode(whole); err != nil || zones["UTC"] != "ab" || zones["GMT"] != "ab" {
		t.Errorf("%v, %v", zones, err)
	}
	for n := range len(whole) {
		if _, err := decode(whole[:n]); err == nil && n != 0 && n != 8 {
			t.Errorf("%d bytes were read", n)
		}
	}
}

// zonesOfGo returns the zones in the file of the Go release, by name.
func zonesOfGo(t *testing.T) map[string]string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	zones := map[string]string{}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		file, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		zones[f.Name] = string(data)
	}
	return zones
}

// encode writes zones as decode reads them: the length of the name, that of the data, the name, and the data. Zones with equal
// data follow one another, and all but the first are without data.
func encode(t *testing.T, zones map[string]string) []byte {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(zones), func(a, b string) int {
		return cmp.Or(cmp.Compare(zones[a], zones[b]), cmp.Compare(a, b))
	})
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, name := range names {
		data := zones[name]
		if data == last {
			data = ""
		}
		last = zones[name]
		head := binary.BigEndian.AppendUint16([]byte{byte(len(name))}, uint16(len(data)))
		if _, err := w.Write(append(append(head, name...), data...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
