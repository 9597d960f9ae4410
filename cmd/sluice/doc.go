// Command sluice draws flows of AI models and serves them as an API.
//
// This package owns the command line, the configuration, the wiring of all the
// others and the shutdown. It is the only place that knows everyone; it holds
// no rule about flows, runs or keys.
package main
