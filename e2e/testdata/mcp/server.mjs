// A server of the official SDK for JavaScript, with sessions. It prints its URL, and "gone" once it has forgotten its
// sessions after a call of forget.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { randomUUID } from "node:crypto";

const require = createRequire(process.argv[2] + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = await load("zod");

const sessions = new Map();

function newServer() {
  const server = new McpServer({ name: "javascript", version: "1" });
  server.registerTool("add", { description: "Adds.", inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() }, annotations: { readOnlyHint: true } },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }));
  server.registerTool("key", { description: "Returns the key of the call.", inputSchema: {} }, async (_, extra) => ({ content: [{ type: "text", text: String(extra._meta?.["sluice/idempotency-key"]) }] }));
  server.registerTool("forget", { description: "Forgets all sessions.", inputSchema: {} }, async () => {
    setTimeout(() => { sessions.clear(); console.log("gone"); }, 50);
    return { content: [{ type: "text", text: "Soon." }] };
  });
  return server;
}

http.createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  let transport = sessions.get(id);
  if (id && !transport) {
    response.writeHead(404).end();
    return;
  }
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
    await newServer().connect(transport);
  }
  await transport.handleRequest(request, response);
}).listen(0, "127.0.0.1", function () { console.log(`http://127.0.0.1:${this.address().port}/mcp`); });
