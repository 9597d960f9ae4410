// Package telemetry writes the traces of runs with the OpenTelemetry protocol, as OTLP over HTTP in protobuf.
//
// A trace is written when its root run has ended, from what was recorded: the database has the steps that an earlier process
// executed, so a run that moved after a crash is one trace without gaps. IDs are derived (package trace), and each run is
// written by the process that recorded its end, so no span is written twice. Steps are not written earlier, because what a process had not
// sent when it was killed would be missing.
//
// Nothing here slows runs down. Spans pass through a queue of fixed size. If it is full, they are dropped and counted. A
// process that is killed loses the spans that it had not sent: those of the last seconds.
package telemetry
