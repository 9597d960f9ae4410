package pdfium

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/andybalholm/brotli"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// compressed is pdfium.wasm of the npm package @embedpdf/pdfium.
//
//go:embed pdfium.wasm.br
var compressed []byte

// errAborted is returned if the module called abort, failed an assertion or accessed memory
// out of bounds. The engine is then unusable.
var errAborted = errors.New("pdfium: the module gave up")

// maxMemory is the memory limit of a module, in pages of 64 KiB: 384 MiB.
const maxMemory = 384 << 20 / wasmPage

// Version returns a short name of the module that differs between builds of it.
func Version() string {
	sum := sha256.Sum256(compressed)
	return hex.EncodeToString(sum[:6])
}

// Engine is PDFium, ready to open documents. It is not safe for concurrent use:
// the module has one memory and one stack. After a call that failed with anything
// but one of this package's exported errors, it may only be closed.
type Engine struct {
	runtime wazero.Runtime
	module  api.Module
}

// Prepare unpacks and compiles the module into a directory, which takes seconds of CPU time.
// New with that directory then takes a tenth of a second. Several processes can prepare the
// same directory concurrently.
func Prepare(ctx context.Context, cacheDir string) error {
	wasm, err := unpack()
	if err != nil {
		return err
	}
	rt, _, err := compile(ctx, wasm, cacheDir)
	if err != nil {
		return err
	}
	if err := rt.Close(ctx); err != nil {
		return err
	}
	return keepModule(cacheDir, wasm)
}

// moduleFile is the unpacked module, beside the compiled one: reading it is ten
// times as fast as unpacking it.
const moduleFile = "pdfium.wasm"

// keepModule writes the file atomically, since other processes may read it.
func keepModule(dir string, wasm []byte) error {
	f, err := os.CreateTemp(dir, moduleFile+".*")
	if err != nil {
		return fmt.Errorf("keep PDFium: %w", err)
	}
	_, err = f.Write(wasm)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, moduleFile))
	}
	if err != nil {
		return fmt.Errorf("keep PDFium: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// New starts an engine with the module in a prepared directory. The caller must close it.
func New(ctx context.Context, cacheDir string) (*Engine, error) {
	wasm, err := os.ReadFile(filepath.Join(cacheDir, moduleFile))
	if err != nil {
		return nil, fmt.Errorf("read PDFium: %w", err)
	}
	rt, compiled, err := compile(ctx, wasm, cacheDir)
	if err != nil {
		return nil, err
	}
	e := &Engine{runtime: rt}
	if err := host(ctx, rt, compiled); err != nil {
		return nil, errors.Join(err, rt.Close(ctx))
	}
	if e.module, err = rt.InstantiateModule(withMemory(ctx), compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize", "__wasm_call_ctors")); err != nil {
		return nil, errors.Join(fmt.Errorf("start PDFium: %w", err), rt.Close(ctx))
	}
	if _, err := e.call(ctx, "PDFiumExt_Init"); err != nil {
		return nil, errors.Join(err, rt.Close(ctx))
	}
	return e, nil
}

// compile returns the module as machine code, from the cache if it is there. The
// cache belongs to one version of wazero, CPU and operating system; wazero checks
// that. Contexts do not stop a call: the checks would slow every loop down, and
// callers end the process instead.
func compile(ctx context.Context, wasm []byte, cacheDir string) (wazero.Runtime, wazero.CompiledModule, error) {
	cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the cache of compiled modules: %w", err)
	}
	cfg := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(maxMemory).WithCloseOnContextDone(false).WithCompilationCache(cache)
	rt := wazero.NewRuntimeWithConfig(ctx, cfg)
	module, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("compile PDFium: %w", err), rt.Close(ctx))
	}
	return rt, module, nil
}

// unpack returns the module that is embedded in the binary.
func unpack() ([]byte, error) {
	var wasm bytes.Buffer
	wasm.Grow(3 * len(compressed)) // it has 2.8 times as many bytes
	if _, err := wasm.ReadFrom(brotli.NewReader(bytes.NewReader(compressed))); err != nil {
		return nil, fmt.Errorf("unpack PDFium: %w", err)
	}
	return wasm.Bytes(), nil
}

// Close frees all memory of the engine and its documents.
func (e *Engine) Close(ctx context.Context) error { return e.runtime.Close(ctx) }

// call calls a function of the module that returns at most one value. A trap or
// an abort of the module is an error, after which the engine is unusable.
func (e *Engine) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f := e.module.ExportedFunction(name)
	if f == nil {
		return 0, fmt.Errorf("pdfium: the module has no %s", name)
	}
	results, err := f.Call(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("pdfium: %s: %w", name, err)
	}
	if len(results) == 0 {
		return 0, nil
	}
	return results[0], nil
}

// allocate reserves memory of the module.
func (e *Engine) allocate(ctx context.Context, size int) (uint32, error) {
	at, err := e.call(ctx, "malloc", uint64(size))
	if err == nil && uint32(at) == 0 {
		err = fmt.Errorf("pdfium: no memory for %d bytes", size)
	}
	return uint32(at), err
}

func (e *Engine) free(ctx context.Context, at uint32) {
	_, _ = e.call(ctx, "free", uint64(at)) // the next call fails as well, and says so
}

// put copies data into memory of the module.
func (e *Engine) put(ctx context.Context, data []byte) (uint32, error) {
	at, err := e.allocate(ctx, max(len(data), 1))
	if err == nil && !e.module.Memory().Write(at, data) {
		err = errAborted
	}
	return at, err
}
