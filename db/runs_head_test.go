package db_test

import (
	"reflect"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
)

func TestFindRunHead_leaves_out_large_content(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for size, wantWhole := range map[int]bool{10: true, 1 << 20: false} {
			r := w.start(func(n *flow.NewRun) {
				n.Run.Inputs = value.NewObject(value.Member{Name: "text", Value: strings.Repeat("x", size)})
			})
			head, whole, err := w.FindRunHead(w.ctx, ws, w.flow.ID, r.ID)
			w.must(err)
			if whole != wantWhole || (head.Inputs.Len() == 1) != wantWhole {
				t.Errorf("%d bytes: whole %t, inputs %d", size, whole, head.Inputs.Len())
			}
			if found := w.find(r.ID); !reflect.DeepEqual(found, r) {
				t.Errorf("%d bytes: found %+v\nstarted %+v", size, found, r)
			}
			head.Inputs, head.Metadata = r.Inputs, r.Metadata
			if !reflect.DeepEqual(head, r) {
				t.Errorf("%d bytes: the head is %+v\nstarted %+v", size, head, r)
			}
		}
	})
}
