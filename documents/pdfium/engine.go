package pdfium

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// compressed is pdfium.wasm of the npm package @embedpdf/pdfium.
//
//go:embed pdfium.wasm.gz
var compressed []byte

var errAborted = errors.New("pdfium: the module gave up")

// maxMemory is how much memory a module may take, in pages of 64 KiB: 384 MiB.
const maxMemory = 384 << 20 / wasmPage

// Version returns a short name of the module that differs between builds of it.
func Version() string {
	sum := sha256.Sum256(compressed)
	return hex.EncodeToString(sum[:6])
}

// Engine is PDFium, ready to open documents. It is not safe for concurrent use.
type Engine struct {
	runtime wazero.Runtime
	module  api.Module
}

// Prepare compiles the module into a directory, which takes seconds of
// computing, so that New with that directory takes a tenth of a second. The
// directory may be shared by processes, and by versions of this program.
func Prepare(ctx context.Context, cacheDir string) error {
	rt, _, err := compile(ctx, cacheDir)
	if err != nil {
		return err
	}
	return rt.Close(ctx)
}

// New starts an engine with the compiled module in a directory, or compiles it
// if there is none. Close ends it.
func New(ctx context.Context, cacheDir string) (*Engine, error) {
	rt, compiled, err := compile(ctx, cacheDir)
	if err != nil {
		return nil, err
	}
	e := &Engine{runtime: rt}
	if err := host(ctx, rt, compiled); err != nil {
		return nil, errors.Join(err, rt.Close(ctx))
	}
	if e.module, err = rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize", "__wasm_call_ctors")); err != nil {
		return nil, errors.Join(fmt.Errorf("start PDFium: %w", err), rt.Close(ctx))
	}
	if _, err := e.call(ctx, "PDFiumExt_Init"); err != nil {
		return nil, errors.Join(err, rt.Close(ctx))
	}
	return e, nil
}

func compile(ctx context.Context, cacheDir string) (wazero.Runtime, wazero.CompiledModule, error) {
	cfg := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(maxMemory).WithCloseOnContextDone(false)
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, nil, fmt.Errorf("open the cache of compiled modules: %w", err)
		}
		cfg = cfg.WithCompilationCache(cache)
	}
	wasm, err := unpack()
	if err != nil {
		return nil, nil, err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, cfg)
	module, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("compile PDFium: %w", err), rt.Close(ctx))
	}
	return rt, module, nil
}

func unpack() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unpack PDFium: %w", err)
	}
	wasm, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack PDFium: %w", err)
	}
	return wasm, nil
}

// Close frees all that the engine and its documents hold.
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
