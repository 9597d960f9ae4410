package account

// What the tests of the room need of its insides.
const (
	RefusalTime = refusalTime
	FreeLinks   = freeLinkTries
)
