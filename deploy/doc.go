// Package deploy has the files with which Sluice is released, installed and run, and tests that use
// each of them with the real programs: proxies, systemd, Litestream. It has no code of its own.
package deploy
