//go:build !unix

package db

import "errors"

// mapBusyFile is not known to keep marks over a crash on other systems.
func mapBusyFile(string, int) (region, before []byte, err error) {
	return nil, nil, errors.ErrUnsupported
}
