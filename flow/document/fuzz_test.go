package document

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sluice/flow/contract"
	"sluice/flow/flowtest"
)

// FuzzDocument checks that reading never panics, that every problem has a code,
// a detail and a valid pointer, and that documents survive a round trip.
func FuzzDocument(f *testing.F) {
	files, _ := filepath.Glob("testdata/documents/*.json")
	for _, file := range files {
		var c documentCase
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &c) != nil {
			f.Fatal(file, err)
		}
		f.Add([]byte(c.Document))
	}
	f.Add(flowtest.Document(threeInARow))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := ParseDocument(data)
		if d == nil && len(problems) == 0 {
			t.Fatal("neither a document nor a problem")
		}
		if d == nil {
			return
		}
		more := Validate(d, flowtest.Kinds)
		for _, p := range append(problems, more...) {
			if p.Code == "" || p.Detail == "" || p.Pointer != "" && p.Pointer[0] != '/' {
				t.Errorf("%+v", p)
			}
		}
		if len(problems) == 0 {
			wantRoundTrip(t, d)
		}
		contract.Schema(contract.Inputs(d, flowtest.Kinds))
	})
}
