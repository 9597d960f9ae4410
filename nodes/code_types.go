package nodes

import _ "embed" // the types

// CodeTypes declares in TypeScript what JavaScript in code nodes can use.
//
//go:embed code.d.ts
var CodeTypes string
