// Package catalog lists the models and providers that a workspace can use, with their prices
// and abilities, for the model picker, the API and the commands. It also validates and tests
// credentials.
//
// It must not know HTTP or HTML; it returns the structs that pages show.
package catalog
