package dbconn_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbconn"
)

func TestIsOutage_includes_closed_connections(t *testing.T) {
	t.Parallel()
	for _, err := range []error{pgconn.ErrConnClosed, io.ErrUnexpectedEOF} {
		if !dbconn.IsOutage(fmt.Errorf("commit: %w", err)) {
			t.Errorf("%v is not an outage", err)
		}
	}
	if dbconn.IsOutage(errors.New("syntax error")) {
		t.Error("every error is an outage")
	}
}
