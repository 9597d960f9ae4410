package value

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTexts_encodes_shared_parts_like_Text(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a \"text\"\n", 1000)
	list := []any{}
	for range 500 {
		list = append(list, NewObject(Member{"b", json.Number("1.50")}, Member{"a", "x"}))
	}
	object := NewObject(Member{"list", list}, Member{"text", long}, Member{"small", []any{}})
	var texts Texts
	for i, v := range []any{
		map[string]any{"body": list}, map[string]any{"body": list, "more": 1}, list, list[:300], list[:0], object, []any{object, object},
		long, long[:len(long)-1], map[string]any{"nested": []any{map[string]any{"object": object, "of": list}}}, (*Object)(nil), nil, []any(nil), "", true,
	} {
		if got, want := texts.Text(v), Text(v); got != want {
			t.Errorf("value %d: got %.100s, want %.100s", i, got, want)
		}
	}
	if len(texts.known) == 0 {
		t.Error("nothing is remembered")
	}
}

func TestTexts_encodes_shared_parts_once(t *testing.T) {
	t.Parallel()
	list := []any{strings.Repeat("x", rememberedBytes)}
	var texts Texts
	before := texts.Text(map[string]any{"first": list})
	list[0] = "changed" // which callers must not do: it shows that the list is not encoded again
	if after := texts.Text(map[string]any{"other": list}); after != strings.Replace(before, "first", "other", 1) {
		t.Errorf("it was encoded again: %.100s", after)
	}
}

func TestDecode_leaves_no_unused_space(t *testing.T) {
	t.Parallel()
	v, err := Decode([]byte(`[1,[2,[],{"a":[3,4,5],"b":{}}],{"c":1,"d":2,"e":3},6,7]`))
	if err != nil {
		t.Fatal(err)
	}
	var check func(v any)
	check = func(v any) {
		switch v := v.(type) {
		case []any:
			if cap(v) != len(v) {
				t.Errorf("a list of %d values has space for %d", len(v), cap(v))
			}
			for _, item := range v {
				check(item)
			}
		case *Object:
			if cap(v.members) != len(v.members) {
				t.Errorf("an object of %d members has space for %d", len(v.members), cap(v.members))
			}
			for _, m := range v.members {
				check(m.Value)
			}
		}
	}
	check(v)
	if got, want := Text(v), `[1,[2,[],{"a":[3,4,5],"b":{}}],{"c":1,"d":2,"e":3},6,7]`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestEncode_allocates_nothing_for_names(t *testing.T) {
	o := NewObject(Member{"first", true}, Member{"second", false}, Member{"third", nil})
	buffer := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buffer = encoder{}.append(buffer[:0], o) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
