// Package busy records which runs execute inside this process, in memory that survives a
// crash of the process. Package fairness decides which run is suspected of the crash.
package busy
