package main

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// plainError returns the text of an error. Errors about files are reworded to
// name the file and the fix, because those of the operating system, such as "open
// x: no such file or directory", suggest none.
func plainError(err error) string {
	text := err.Error()
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return text
	}
	words := "" // the problem and its fix
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		words = "there is no file or directory " + e.Path + "; check the path"
	case errors.Is(e.Err, fs.ErrExist):
		words = e.Path + " exists already; choose another name or remove it first"
	case errors.Is(e.Err, syscall.EROFS):
		words = e.Path + " is on a read-only file system; choose another place"
	case errors.Is(e.Err, fs.ErrPermission):
		words = "you have no permission for " + e.Path + "; run the command as its owner or change its mode"
	case errors.Is(e.Err, syscall.EISDIR):
		words = e.Path + " is a directory; give a file"
	case errors.Is(e.Err, syscall.ENOTDIR):
		words = "a part of the path " + e.Path + " is not a directory; check the path"
	case errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.EDQUOT):
		words = "there is no space left for " + e.Path + "; free some space on its disk"
	default:
		return text
	}
	return strings.Replace(text, e.Error(), words, 1)
}
