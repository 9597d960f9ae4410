package inflight

import (
	"encoding/json"
	"sluice/flow/value"
	"unsafe"
)

// remembered is the size in bytes from which a value is known again.
const remembered = 4 << 10

// Weight is how many bytes a value takes.
type Weight struct {
	Heap int64 // in memory
	Text int64 // as JSON, without escapes
}

func (w Weight) plus(v Weight) Weight { return Weight{w.Heap + v.Heap, w.Text + v.Text} }

// Weigher returns how much values take. Values are shared between the steps of a run, so it
// recognizes each large one. It is not safe for concurrent use.
type Weigher struct {
	known map[part]known
}

// part identifies a text, list or object in memory.
type part struct {
	at unsafe.Pointer
	n  int
}

type known struct {
	Weight
	kept bool
}

// Weigh returns the weight of a value.
func (w *Weigher) Weigh(v any) Weight {
	total, _ := w.weigh(v, false)
	return total
}

// Keep returns the bytes in memory of the parts of a value that no earlier call has counted.
func (w *Weigher) Keep(v any) int64 {
	_, fresh := w.weigh(v, true)
	return fresh
}

// weigh returns the weight of a value, and the bytes of its parts that are not kept yet.
func (w *Weigher) weigh(v any, keep bool) (total Weight, fresh int64) {
	switch v := v.(type) {
	case string:
		return w.text(v, keep)
	case json.Number:
		n := int64(len(v))
		return Weight{scalarSize + n, n + 1}, scalarSize + n
	case []any:
		if len(v) == 0 {
			return Weight{parentSize, 3}, parentSize
		}
		return w.large(part{unsafe.Pointer(unsafe.SliceData(v)), len(v)}, keep, func() (total Weight, fresh int64) {
			return w.list(v, keep)
		})
	case *value.Object:
		return w.large(part{unsafe.Pointer(v), -1}, keep, func() (total Weight, fresh int64) { return w.object(v, keep) })
	case map[string]any:
		return w.unordered(v, keep)
	}
	return Weight{0, 6}, 0
}

func (w *Weigher) list(v []any, keep bool) (total Weight, fresh int64) {
	fresh = int64(parentSize + 16*cap(v))
	total = Weight{fresh, 3}
	for i := range v {
		t, f := w.weigh(v[i], keep)
		total, fresh = total.plus(t), fresh+f
	}
	return total, fresh
}

func (w *Weigher) object(o *value.Object, keep bool) (total Weight, fresh int64) {
	total, fresh = Weight{parentSize, 3}, parentSize
	for i := range o.Len() {
		t, f := w.member(o.At(i), keep)
		total, fresh = total.plus(t), fresh+f
	}
	return total, fresh
}

// unordered is object for a map. It does not sort the members.
func (w *Weigher) unordered(m map[string]any, keep bool) (total Weight, fresh int64) {
	total, fresh = Weight{parentSize, 3}, parentSize
	for name, item := range m {
		t, f := w.member(value.Member{Name: name, Value: item}, keep)
		total, fresh = total.plus(t), fresh+f
	}
	return total, fresh
}

func (w *Weigher) member(m value.Member, keep bool) (total Weight, fresh int64) {
	own := int64(memberSize + slotSize + len(m.Name))
	t, f := w.weigh(m.Value, keep)
	return t.plus(Weight{own, int64(len(m.Name)) + 3}), own + f
}

func (w *Weigher) text(s string, keep bool) (total Weight, fresh int64) {
	n := int64(len(s))
	total = Weight{scalarSize + n, n + 3}
	if len(s) < remembered {
		return total, total.Heap
	}
	return w.large(part{unsafe.Pointer(unsafe.StringData(s)), len(s)}, keep, func() (Weight, int64) { return total, total.Heap })
}

// large weighs something unless it is known already, and remembers it if it is large.
func (w *Weigher) large(at part, keep bool, weigh func() (total Weight, fresh int64)) (total Weight, fresh int64) {
	if k, ok := w.known[at]; ok && (k.kept || !keep) {
		if k.kept {
			return k.Weight, 0
		}
		return k.Weight, k.Heap
	}
	total, fresh = weigh()
	if total.Heap < remembered {
		return total, fresh
	}
	if w.known == nil {
		w.known = map[part]known{}
	}
	w.known[at] = known{total, keep}
	return total, fresh
}
