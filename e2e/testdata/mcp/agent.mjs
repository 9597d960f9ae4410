// An agent that speaks to Sluice with the official client for JavaScript. It
// reads one request a line, {"op", …}, and answers each with one line or, where
// progress is told, several. It ends with its standard input.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, url, key] = process.argv.slice(2);
const require = createRequire(modules + "/");
const load = (path) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + path)).href.replace("/dist/cjs/", "/dist/esm/"));
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const say = (o) => process.stdout.write(JSON.stringify(o) + "\n");
const client = new Client({ name: "sluice-test", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: "Bearer " + key } } });

const operations = {
  connect: async () => {
    await client.connect(transport);
    return { server: client.getServerVersion(), capabilities: client.getServerCapabilities(), session: transport.sessionId };
  },
  list: () => client.listTools(),
  call: async ({ name, arguments: given, abort }) => {
    const stop = new AbortController();
    const onprogress = (progress) => {
      say({ progress });
      if (abort) stop.abort("the person pressed stop");
    };
    // The client holds structured content against the tool's output schema.
    return client.callTool({ name, arguments: given }, undefined, { onprogress, signal: stop.signal });
  },
  close: async () => {
    await transport.terminateSession();
    await client.close();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  try {
    say({ answer: await operations[request.op](request) });
  } catch (e) {
    say({ error: { message: String(e.message ?? e), code: e.code } });
  }
}
