package eventstream_test

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"sluice/providers/eventstream"
)

// got is an event as the tests compare it.
type got struct {
	Name, Data string
	Cut        bool
}

// read returns all events of a stream and the error that ended it.
func read(r io.Reader) (list []got, err error) {
	events := eventstream.NewReader(r, 1000)
	for {
		e, err := events.Next()
		if err != nil {
			return list, err
		}
		list = append(list, got{e.Name, string(e.Data), e.Cut})
	}
}

// TestNext_follows_the_standard takes its cases from the standard and from servers that differ from it.
func TestNext_follows_the_standard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []got
	}{
		{"joins_data_lines", "data: YHOO\ndata: +2\ndata: 10\n\n", []got{{Data: "YHOO\n+2\n10"}}},
		{"ignores_comments_and_ids", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", []got{{Data: "first event"}, {Data: "second event"}, {Data: " third event"}}},
		{"keeps_empty_data", "data\n\ndata\ndata\n\ndata:\n\n", []got{{Data: ""}, {Data: "\n"}, {Data: ""}}},
		{"drops_one_space_only", "data:test\n\ndata: test\n\ndata:  test\n\n", []got{{Data: "test"}, {Data: "test"}, {Data: " test"}}},
		{"ends_lines_with_CR", "event: a\rdata: 1\r\rdata: 2\r\r", []got{{Name: "a", Data: "1"}, {Data: "2"}}},
		{"ends_lines_with_CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []got{{Name: "a", Data: "1"}, {Data: "2"}}},
		{"mixes_line_ends", "data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\n\n", []got{{Data: "1\n2\n3"}, {Data: "4"}}},
		{"skips_a_byte_order_mark", "\uFEFFdata: 1\n\ndata: \uFEFF2\n\n", []got{{Data: "1"}, {Data: "\uFEFF2"}}},
		{"skips_one_byte_order_mark_only", "\uFEFF\uFEFFdata: 1\n\ndata: 2\n\n", []got{{Data: "2"}}},
		{"forgets_the_name_of_an_event_without_data", "event: a\n\ndata: 1\n\n", []got{{Data: "1"}}},
		{"ignores_unknown_fields", "retry: 10\nfoo: bar\ndatax: 1\nnothing\ndata: 1\n\n", []got{{Data: "1"}}},
		{"keeps_colons", "data: a:b: c\n\n", []got{{Data: "a:b: c"}}},
		{"marks_an_event_that_was_cut", "data: 1\n\ndata: 2\ndata: 3", []got{{Data: "1"}, {Data: "2\n3", Cut: true}}},
		{"reads_nothing_from_nothing", "", nil},
		{"keeps_the_bytes_of_half_characters", "data: Gr\xc3\n\n", []got{{Data: "Gr\xc3"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for what, r := range map[string]io.Reader{"whole": strings.NewReader(c.stream), "by_byte": iotest.OneByteReader(strings.NewReader(c.stream))} {
				if list, err := read(r); err != io.EOF || !reflect.DeepEqual(list, c.want) {
					t.Errorf("%s: got %+v, %v; want %+v", what, list, err, c.want)
				}
			}
		})
	}
}

// TestNext_does_not_wait sends an event with CR alone, after which nothing arrives: the event
// must be returned without the byte that follows.
func TestNext_does_not_wait(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "data: 1\r\r")
	}()
	events := eventstream.NewReader(r, 1000)
	if e, err := events.Next(); err != nil || string(e.Data) != "1" {
		t.Fatalf("got %q, %v", e.Data, err)
	}
	broken := errors.New("broken")
	_ = w.CloseWithError(broken)
	if _, err := events.Next(); err != broken {
		t.Errorf("got %v", err)
	}
}

func TestNext_is_bounded(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"long_line":  "data: " + strings.Repeat("x", 1000) + "\n\n",
		"many_lines": strings.Repeat("data: xxxxxxxxxx\n", 100) + "\n",
		"no_end":     strings.Repeat("x", 100_000),
	} {
		if list, err := read(strings.NewReader(stream)); err != eventstream.ErrTooLong {
			t.Errorf("%s: got %d events, %v", name, len(list), err)
		}
	}
	if list, err := read(strings.NewReader(strings.Repeat(": ping\n", 100_000) + "data: 1\n\n")); err != io.EOF || len(list) != 1 {
		t.Errorf("comments count toward the limit: %d events, %v", len(list), err)
	}
}
