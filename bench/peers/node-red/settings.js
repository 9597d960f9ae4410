// Settings of Node-RED for bench: no editor, no files written.
module.exports = {
  flowFile: process.env.BENCH_FLOWS,
  uiHost: "127.0.0.1",
  uiPort: process.env.BENCH_PORT,
  httpAdminRoot: false,
  credentialSecret: false,
  diagnostics: { enabled: false },
  telemetry: { enabled: false },
  runtimeState: { enabled: false },
  logging: { console: { level: "info", metrics: false, audit: false } },
};
