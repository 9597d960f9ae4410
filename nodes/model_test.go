package nodes

import (
	"sync"

	"sluice/providers/builtin"
)

// real is the model itself, for tests of what only it can tell.
var real = sync.OnceValue(func() Deps { return Deps{Model: builtin.New()} })
