package cases

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// maxRecordedInput bounds the stored input of a recording in bytes. It only serves to say what differs.
const maxRecordedInput = 256 << 10

// touchAfter is how old the time of the last use of a recording gets before it is written again.
const touchAfter = 24 * time.Hour

// FindRecording returns the recording for the hashes of a step and the repeat of a case, or nil.
func (s *Cases) FindRecording(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, nodeHash, inputHash string, repeat int) (*flow.Recording, error) {
	r, err := s.DB.Reads.FindRecording(ctx, gen.FindRecordingParams{FlowID: flowID, NodeHash: nodeHash, InputHash: inputHash, N: int64(repeat), WorkspaceID: ws})
	found, err := recordingOf(&r, err)
	if now := s.DB.NowMicros(); err == nil && found != nil && now-r.UsedAt > touchAfter.Microseconds() {
		err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
			return tx.Queries.TouchRecording(tx.Ctx, gen.TouchRecordingParams{FlowID: flowID, NodeHash: nodeHash, InputHash: inputHash, N: int64(repeat), UsedAt: now})
		})
	}
	return found, err
}

// FindLastRecording returns the newest recording of a node, or nil.
func (s *Cases) FindLastRecording(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, node string) (*flow.Recording, error) {
	r, err := s.DB.Reads.FindLastRecording(ctx, gen.FindLastRecordingParams{FlowID: flowID, Node: node, WorkspaceID: ws})
	return recordingOf(&r, err)
}

// ListRecordings returns recordings of a flow by their hashes and repeats, those after one.
func (s *Cases) ListRecordings(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, after *flow.Recording, limit int) ([]flow.Recording, error) {
	rows, err := s.DB.Reads.ListRecordings(ctx, gen.ListRecordingsParams{FlowID: flowID, WorkspaceID: ws, NodeHash: after.NodeHash, InputHash: after.InputHash, N: int64(after.Repeat), MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list the recordings of %s: %w", flowID, err)
	}
	list := make([]flow.Recording, len(rows))
	for i := range rows {
		r, err := recordingOf(&rows[i], nil)
		if err != nil {
			return nil, err
		}
		list[i] = *r
	}
	return list, nil
}

// CountRecordings returns how many recordings a flow has for a node with these settings.
func (s *Cases) CountRecordings(ctx context.Context, flowID flow.FlowID, nodeHash string) (int64, error) {
	n, err := s.DB.Reads.CountRecordings(ctx, gen.CountRecordingsParams{FlowID: flowID, NodeHash: nodeHash})
	if err != nil {
		return 0, fmt.Errorf("count the recordings of %s: %w", flowID, err)
	}
	return n, nil
}

// AddRecordings stores recordings, all of them or none, except for those that exist. It returns how many it added. They count against
// the quota of the workspace.
func (s *Cases) AddRecordings(ctx context.Context, list []flow.Recording) (added int, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		added = 0
		growth := map[flow.WorkspaceID]int64{}
		for i := range list {
			r := &list[i]
			size, err := s.insertRecording(tx, r)
			if err != nil {
				return err
			}
			if size > 0 {
				added++
				growth[r.WorkspaceID] += size
			}
		}
		for ws, bytes := range growth {
			if err := tx.TrackWithinQuota(ws, flow.Storage{Bytes: bytes}); err != nil {
				return err
			}
		}
		return nil
	})
	return added, err
}

// used is what a recorded step used.
type used struct {
	flow.Recorded
	CachedTokens    int64 `json:"cached_tokens,omitempty"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
}

func recordingOf(r *gen.Recording, err error) (*flow.Recording, error) {
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a recording: %w", err)
	}
	rec := &flow.Recording{
		WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, NodeHash: r.NodeHash, InputHash: r.InputHash, Repeat: int(r.N), Node: r.Node, Untrusted: r.Untrusted != 0, RunID: r.RunID, CreatedAt: dbconn.TimeOf(r.CreatedAt),
	}
	u, err := dbconn.Decode[used](r.Used)
	if err == nil {
		rec.Input, err = dbconn.Decode[map[string]any](r.Input)
	}
	if err == nil {
		rec.Outputs, err = dbconn.Decode[map[string]any](r.Outputs)
	}
	if err != nil {
		return nil, dbconn.Unreadable(err, "recording", r.Node)
	}
	rec.Usage = flow.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedTokens: u.CachedTokens, ReasoningTokens: u.ReasoningTokens, CostNanoUSD: u.CostNanoUSD}
	rec.Duration = time.Duration(u.Micros) * time.Microsecond
	return rec, nil
}

// SaveRecording stores a recording unless there is one for its hashes and repeat. It returns the one that is stored. Files in its outputs
// are kept.
func (s *Cases) SaveRecording(ctx context.Context, r *flow.Recording) (*flow.Recording, error) {
	size := int64(0)
	err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) (err error) {
		if size, err = s.insertRecording(tx, r); err == nil {
			tx.TrackBytes(r.WorkspaceID, size)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store a recording of %s: %w", r.Node, err)
	}
	if size > 0 {
		return r, nil
	}
	winner, err := s.FindRecording(ctx, r.WorkspaceID, r.FlowID, r.NodeHash, r.InputHash, r.Repeat)
	if err == nil && winner == nil {
		winner = r // it was deleted meanwhile
	}
	return winner, err
}

// insertRecording stores a recording, and keeps the files in its outputs. It returns how many bytes that takes; 0 if it exists.
func (s *Cases) insertRecording(tx *core.Tx, r *flow.Recording) (size int64, err error) {
	input := dbconn.EncodeAny(r.Input)
	if len(input) > maxRecordedInput {
		input = ""
	}
	outputs, u := r.Outputs, r.Usage
	if outputs == nil {
		outputs = map[string]any{}
	}
	body := dbconn.EncodeAny(outputs)
	inserted, err := tx.Queries.InsertRecording(tx.Ctx, gen.InsertRecordingParams{
		FlowID: r.FlowID, NodeHash: r.NodeHash, InputHash: r.InputHash, N: int64(r.Repeat), WorkspaceID: r.WorkspaceID, Node: r.Node, Input: input, Outputs: body, Untrusted: dbconn.BoolInt(r.Untrusted),
		Used:  dbconn.EncodeAny(used{flow.Recorded{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostNanoUSD: u.CostNanoUSD, Micros: r.Duration.Microseconds()}, u.CachedTokens, u.ReasoningTokens}),
		RunID: r.RunID, CreatedAt: s.DB.NowMicros(),
	})
	if err != nil {
		return 0, fmt.Errorf("store a recording of %s: %w", r.Node, err)
	}
	if inserted == 0 {
		return 0, nil
	}
	return int64(len(input) + len(body)), keepFiles(tx, r.WorkspaceID, outputs)
}

// recordingLife is how long recordings that no test uses are kept.
const recordingLife = 90 * 24 * time.Hour

// DropRecordings deletes recordings that no test has used for 90 days, at most limit.
func (s *Cases) DropRecordings(ctx context.Context, limit int) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		rows, err := tx.Queries.DeleteOldRecordings(tx.Ctx, gen.DeleteOldRecordingsParams{Before: dbconn.Micros(s.DB.Now().Add(-recordingLife)), MaxRows: int32(limit)})
		if err != nil {
			return fmt.Errorf("delete old recordings: %w", err)
		}
		for _, r := range rows {
			tx.TrackBytes(r.WorkspaceID, -r.Bytes)
		}
		return nil
	})
}
