// Package catalog tells the dashboard which models and providers a workspace can use: the lists
// that the model picker searches, their prices and abilities, and the credentials behind them.
//
// It must not know HTTP or HTML; it returns the structs that pages show.
package catalog
