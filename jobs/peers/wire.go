package peers

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"

	"sluice/flow"
)

// maxFrame bounds the bytes of a frame: all text that is buffered for a run, with each
// byte escaped.
const maxFrame = 32 << 20

// writeFrame writes a frame: its length as four big-endian bytes, then JSON.
func writeFrame(w io.Writer, t *flow.PeerText) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

// readFrame returns io.EOF at the end of the stream and io.ErrUnexpectedEOF inside a
// frame.
func readFrame(r io.Reader) (*flow.PeerText, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return nil, errors.New("a frame is too long")
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	t := &flow.PeerText{}
	return t, json.Unmarshal(data, t)
}
