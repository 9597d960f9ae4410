package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"sluice/flow"
)

func TestAuditWriter_writes_a_line_for_each_entry(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	write := auditWriter(&out)
	write(flow.AuditRecord{Seq: 7, MAC: "abc", AuditEntry: flow.AuditEntry{ID: "aud_1", Action: "key.create", Target: "a\nb"}})
	write(flow.AuditRecord{Seq: 8})
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var first struct {
		Audit struct {
			Number               int64
			Action, Target, Hash string
		}
	}
	if err := json.Unmarshal(lines[0], &first); err != nil || len(lines) != 2 || first.Audit.Number != 7 || first.Audit.Action != "key.create" || first.Audit.Target != "a\nb" || first.Audit.Hash != "abc" {
		t.Errorf("%s %v", out.Bytes(), err)
	}
}
