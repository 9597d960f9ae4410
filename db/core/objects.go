package core

import (
	"context"
	"io"
	"time"
)

// Objects is an object storage. Get returns fs.ErrNotExist for an object that does not exist. All other
// errors mean that the storage cannot be used at the moment.
type Objects interface {
	// Put stores an object of size bytes with a SHA-256 in hex. open returns the content from its
	// beginning, for each attempt.
	Put(ctx context.Context, key string, size int64, hash string, open func() io.Reader) error
	// Get returns length bytes from an offset, all further ones if length is negative.
	Get(ctx context.Context, key string, from, length int64) (io.ReadCloser, error)
	// Delete deletes an object. A missing object is not an error.
	Delete(ctx context.Context, key string) error
	// List calls each for all objects whose keys begin with prefix, in order.
	List(ctx context.Context, prefix string, each func(key string, size int64, modified time.Time) error) error
	// Link returns a URL with which anyone can get an object for a while.
	Link(ctx context.Context, key, mediaType, disposition string, lifetime time.Duration) (string, error)
}
