package account

// Exports internals for the tests of package account_test.
const (
	RefusalTime = refusalTime
	FreeLinks   = freeLinkTries
)
