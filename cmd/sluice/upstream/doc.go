// Package upstream connects the program to the providers of AI models: one set of clients for
// the server and the commands, the secrets in the environment, the model servers on this
// machine, and the private addresses that requests to them may reach.
//
// It must not know flows or pages, and it has no settings of its own: package main passes them
// in.
package upstream
