package inflight

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"sluice/flow/value"
)

func TestReceive_keeps_bodies(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"empty": 0, "small": 100, "at_the_limit": Small, "large": 5*Small + 3} {
		t.Run("keeps_"+name, func(t *testing.T) {
			t.Parallel()
			dir, want := t.TempDir(), bytes.Repeat([]byte("[1]"), size/3+1)[:size]
			body, err := New(mib, dir).Receive(iotest.HalfReader(bytes.NewReader(want)), false)
			if err != nil {
				t.Fatal(err)
			}
			defer body.Close()
			got, err := body.Bytes()
			read, readErr := io.ReadAll(body.Reader())
			if err != nil || readErr != nil || !bytes.Equal(got, want) || !bytes.Equal(read, want) || body.Size != int64(size) {
				t.Errorf("%d and %d bytes, size %d; %v, %v", len(got), len(read), body.Size, err, readErr)
			}
			if body.Cost != CostOf(string(want)) {
				t.Errorf("cost %+v, want %+v", body.Cost, CostOf(string(want)))
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("the file %s has a name, so it outlives a crash", left[0].Name())
			}
			if (body.file != nil) != (size >= Small) {
				t.Errorf("%d bytes: file %v", size, body.file != nil)
			}
		})
	}
	t.Run("reports_a_truncated_body", func(t *testing.T) {
		t.Parallel()
		for _, n := range []int{10, 3 * Small} {
			body, err := New(mib, t.TempDir()).Receive(io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(io.ErrUnexpectedEOF)), false)
			if !errors.Is(err, io.ErrUnexpectedEOF) || body == nil || body.Size != int64(n) {
				t.Errorf("after %d bytes: %v", n, err)
			}
			body.Close()
		}
	})
	t.Run("reads_a_body_with_too_many_values_to_its_end", func(t *testing.T) {
		t.Parallel()
		for b, want := range map[*Budget]error{nil: ErrTooManyValues, New(1000*mib, t.TempDir()): ErrTooLarge} {
			content := strings.NewReader("[" + strings.Repeat("1,", 3*value.MaxValues) + "1]")
			body, err := b.Receive(content, true)
			if !errors.Is(err, want) || content.Len() != 0 {
				t.Errorf("%v, %d bytes were not read", err, content.Len())
			}
			body.Close()
		}
	})
	t.Run("says_that_a_file_cannot_be_kept", func(t *testing.T) {
		t.Parallel()
		if _, err := New(mib, t.TempDir()+"/missing").Receive(strings.NewReader(strings.Repeat("x", 2*Small)), false); !errors.Is(err, ErrNoSpace) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDecoding_estimates_memory compares the estimate with what the value has in the heap. It is not
// parallel, because others would allocate.
func TestDecoding_estimates_memory(t *testing.T) {
	var members strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&members, `"member_%d": 1, `, i)
	}
	picture := `"` + value.DataURLPrefix + strings.Repeat("x", 2*mib) + `",`
	for name, text := range map[string]string{
		"texts":     "[" + strings.Repeat(`"a text of about thirty characters",`, 100_000) + "1]",
		"numbers":   "[" + strings.Repeat("1,", 200_000) + "1]",
		"lists":     "[" + strings.Repeat("[[]],", 100_000) + "1]",
		"objects":   "[" + strings.Repeat(`{"id":123456,"ok":true},`, 100_000) + "1]",
		"members":   "{" + members.String() + `"z": 1}`,
		"long ones": "[" + strings.Repeat(`"`+strings.Repeat("x", 1000)+`",`, 5000) + "1]",
		"pictures":  "[" + strings.Repeat(picture, 3) + "1]",
		"escapes":   `["` + strings.Repeat(`xxxx\n`, mib) + `"]`,
	} {
		body, err := New(1000*mib, t.TempDir()).Receive(strings.NewReader(text), true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size := len(text)
		text = ""
		before := liveAfterGC()
		v, err := body.Decode()
		kept := liveAfterGC() - before
		runtime.KeepAlive(v)
		if got := body.Decoding(); err != nil || got+window < kept || got > 4*kept+window {
			t.Errorf("%s: %d bytes take %d, estimated as %d: %v", name, size, kept, got, err)
		}
		body.Close()
	}
}

func liveAfterGC() int64 {
	runtime.GC()
	runtime.GC() // the first one may have been running
	return liveHeap()
}

func TestCost_counts_values_of_JSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		``: 0, `null`: 1, `"a,b[\"]"`: 1, `[]`: 1, `[1, 2,3]`: 4, `[[1]]`: 3, `{"a":1}`: 2,
		`{"a":{"b":[true,"x",-1.5e3]}}`: 6, "[\n 1,\n null\n]": 3, `{"\\":"\\\\"}`: 2,
	} {
		if got := CostOf(text).Values; got != want {
			t.Errorf("%s has %d values, got %d", text, want, got)
		}
		var parts Cost
		for i := range len(text) {
			_, _ = parts.Write([]byte(text[i : i+1]))
		}
		if parts != CostOf(text) {
			t.Errorf("%s: %+v in parts, %+v at once", text, parts, CostOf(text))
		}
	}
}
