package inflight

import (
	"bytes"
	"errors"
	"io"
	"os"
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
		content := strings.NewReader("[" + strings.Repeat("1,", 3*value.MaxValues) + "1]")
		body, err := New(mib, t.TempDir()).Receive(content, true)
		if !errors.Is(err, ErrTooManyValues) || content.Len() != 0 {
			t.Errorf("%v, %d bytes were not read", err, content.Len())
		}
		body.Close()
	})
	t.Run("says_that_a_file_cannot_be_kept", func(t *testing.T) {
		t.Parallel()
		if _, err := New(mib, t.TempDir()+"/missing").Receive(strings.NewReader(strings.Repeat("x", 2*Small)), false); !errors.Is(err, ErrNoSpace) {
			t.Errorf("got %v", err)
		}
	})
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
