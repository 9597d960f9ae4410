//go:build !unix

package db

import "errors"

// mapBusyFile is not supported: marks may not survive a crash on other systems.
func mapBusyFile(string, int) (region, before []byte, err error) {
	return nil, nil, errors.ErrUnsupported
}
