//go:build race

package e2e

// raceEnabled says that the binary under test is built with the race detector,
// as these tests are. Everything is several times slower then.
const raceEnabled = true
