package builtin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// unpacked returns the file of the model.
func unpacked(t *testing.T) []byte {
	t.Helper()
	file, err := unpackModel()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestNewEncoderRefusesBrokenFiles(t *testing.T) {
	t.Parallel()
	modelFile := unpacked(t)
	vocabularyEnd := bytes.Index(modelFile, []byte("\x09embedding")) - 4
	renamed := bytes.Replace(modelFile, []byte("\x0boutput.bias"), []byte("\x0boutput.bios"), 1)
	for name, file := range map[string][]byte{
		"empty":       nil,
		"other magic": []byte("PK\x03\x04 something else"),
		"cut early":   modelFile[:100],
		"no tensors":  append(bytes.Clone(modelFile[:vocabularyEnd]), 0, 0, 0, 0),
		"cut late":    modelFile[:len(modelFile)-1],
		"absent":      renamed,
	} {
		if _, err := newEncoder(file); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := newEncoder(renamed); err == nil || !strings.Contains(err.Error(), "output.bias") {
		t.Errorf("error %v does not name what is missing", err)
	}
}

func TestLicenseIsEmbedded(t *testing.T) {
	t.Parallel()
	if !strings.Contains(License(), "Apache License") || !strings.Contains(License(), "int8") {
		t.Error("license or notice of change is missing")
	}
}

// After the converter is run again, it checks that the weights are still the documented ones.
func TestModelFileIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("model/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(unpacked(t))
	if !strings.Contains(string(readme), hex.EncodeToString(sum[:])) {
		t.Errorf("model/README.md does not state the sum %x", sum)
	}
}
