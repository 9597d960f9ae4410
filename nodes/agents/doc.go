// Package agents decides what an agent does next: it asks the model for another turn, makes the calls
// that the model asked for, or ends. All of it follows from the recorded turns and calls. It calls
// nothing itself, and knows neither providers' wire formats nor the kinds that are tools.
package agents
