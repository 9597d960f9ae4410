package pdfium

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/emscripten"
)

// wasmPage is the unit in which the memory of a module grows, in bytes.
const wasmPage = 64 << 10

// noSystemCall is -ENOSYS, the answer to every system call: PDFium asks for files
// only to look for fonts, and uses its own ones when it finds no others.
const noSystemCall = -52

// host provides the imports of a module. Emscripten, its compiler, expects JavaScript to
// provide these functions; wazero implements those for exceptions. Unknown imports return
// ENOSYS: a module with a missing import does not start, and PDFium handles failing system
// calls.
func host(ctx context.Context, rt wazero.Runtime, module wazero.CompiledModule) error {
	exceptions, err := emscripten.NewFunctionExporterForModule(module)
	if err != nil {
		return fmt.Errorf("give exceptions: %w", err)
	}
	env := rt.NewHostModuleBuilder("env")
	exceptions.ExportFunctions(env)
	wasi := rt.NewHostModuleBuilder("wasi_snapshot_preview1")
	for _, f := range module.ImportedFunctions() {
		from, name, _ := f.Import()
		to, call := env, calls[name]
		if isException(name) {
			continue
		}
		if call == nil {
			call = refuse
		}
		if from != "env" {
			to = wasi
		}
		to.NewFunctionBuilder().WithGoModuleFunction(call, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, b := range []wazero.HostModuleBuilder{env, wasi} {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("give imports: %w", err)
		}
	}
	return nil
}

// isException reports whether an import emulates setjmp and longjmp, which
// WebAssembly does not have: invoke_… calls a function and catches a longjmp out
// of it.
func isException(name string) bool {
	return len(name) > 7 && name[:7] == "invoke_" || name == "_emscripten_throw_longjmp"
}

// calls are the implemented imports. All others return ENOSYS.
var calls = map[string]api.GoModuleFunc{
	"_abort_js":              func(context.Context, api.Module, []uint64) { panic(errAborted) },
	"__assert_fail":          func(context.Context, api.Module, []uint64) { panic(errAborted) },
	"_emscripten_memcpy_js":  copyMemory,
	"emscripten_resize_heap": growMemory,
	"emscripten_date_now": func(_ context.Context, _ api.Module, stack []uint64) {
		stack[0] = api.EncodeF64(float64(time.Now().UnixMilli()))
	},
	"_gmtime_js":    calendar,
	"_localtime_js": calendar, // times are UTC
	"_tzset_js":     func(context.Context, api.Module, []uint64) {},
	"environ_get":   func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 },
	"environ_sizes_get": func(_ context.Context, m api.Module, stack []uint64) {
		m.Memory().WriteUint32Le(uint32(stack[0]), 0)
		m.Memory().WriteUint32Le(uint32(stack[1]), 0)
		stack[0] = 0
	},
}

// refuse returns ENOSYS from a system call. Arguments and results share the stack, so a call
// with neither has no place for a result.
func refuse(_ context.Context, _ api.Module, stack []uint64) {
	if len(stack) > 0 {
		stack[0] = api.EncodeI32(noSystemCall)
	}
}

// copyMemory is memcpy(to, from, n) within the memory of the module.
func copyMemory(_ context.Context, m api.Module, stack []uint64) {
	to, from, n := uint32(stack[0]), uint32(stack[1]), uint32(stack[2])
	data, ok := m.Memory().Read(from, n)
	if !ok || !m.Memory().Write(to, data) {
		panic(errAborted)
	}
}

// growMemory grows the memory to the requested size and a fifth more, so that it is called
// less often. It returns 0 if the limit of the runtime is reached, which makes the module's
// malloc fail.
func growMemory(_ context.Context, m api.Module, stack []uint64) {
	memory := m.Memory()
	have, want := uint64(memory.Size()), uint64(uint32(stack[0]))
	for _, size := range []uint64{max(want, have+have/5), want} {
		if size <= have {
			break
		}
		if _, ok := memory.Grow(uint32((size - have + wasmPage - 1) / wasmPage)); ok {
			stack[0] = 1
			return
		}
	}
	stack[0] = 0
}

// calendar writes the time of stack[0] as C's struct tm to stack[1]: ten 32-bit
// integers, in which months and days of the year count from 0 and years from 1900.
// Emscripten passes a 64-bit time as one number or as two halves, low one first,
// depending on how the module was built.
func calendar(_ context.Context, m api.Module, stack []uint64) {
	t := time.Unix(int64(stack[0]), 0).UTC()
	at := uint32(stack[1])
	if len(stack) > 2 { // the seconds came in halves
		t, at = time.Unix(int64(stack[1]<<32|uint64(uint32(stack[0]))), 0).UTC(), uint32(stack[2])
	}
	var tm []byte
	for _, v := range []int{t.Second(), t.Minute(), t.Hour(), t.Day(), int(t.Month()) - 1, t.Year() - 1900, int(t.Weekday()), t.YearDay() - 1, 0, 0} {
		tm = binary.LittleEndian.AppendUint32(tm, uint32(v))
	}
	m.Memory().Write(at, tm)
}
