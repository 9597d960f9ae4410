// Command sluice draws flows of AI models and serves them as an API.
//
// This package owns the command line, the configuration, the wiring of all
// other packages and the shutdown. It is the only package that knows all
// others; it has no rules about flows, runs or keys.
package main
