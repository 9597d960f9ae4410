package nodes

import (
	"sync"

	"sluice/providers/builtin"
)

// real returns the real built-in model, for tests that depend on its results.
var real = sync.OnceValue(func() Deps { return Deps{Model: builtin.New()} })
