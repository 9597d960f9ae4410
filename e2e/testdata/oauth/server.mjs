// An MCP server whose tokens come from an independent authorization server at the same address: oidc-provider, with client
// registration, PKCE and refresh tokens that work once. The server refuses the first token of each sign-in, as if it had been ended
// early, so that Sluice must refresh it. It prints its URL, and "refreshed" for each refresh. POST /revoke ends all that people have allowed.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.argv[2] + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { default: Provider } = await load("oidc-provider");

let provider, base;

function newServer(account) {
  const server = new McpServer({ name: "desk", version: "1" });
  server.registerTool("who_am_i", { description: "Says who calls.", inputSchema: {}, annotations: { readOnlyHint: true } },
    async () => ({ content: [{ type: "text", text: `You are ${account}.` }] }));
  return server;
}

async function mcp(request, response) {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
  const found = token && await provider.AccessToken.find(token);
  if (!found || first.has(token) || found.isExpired || found.aud !== base + "/mcp" || revoked.has(found.grantId)) {
    response.writeHead(401, { "WWW-Authenticate": `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"` }).end();
    return;
  }
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  await newServer(found.accountId).connect(transport);
  await transport.handleRequest(request, response);
}

const listener = http.createServer(async (request, response) => {
  const { pathname } = new URL(request.url, base);
  if (pathname === "/mcp") {
    await mcp(request, response);
  } else if (pathname === "/.well-known/oauth-protected-resource/mcp") {
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ resource: base + "/mcp", authorization_servers: [base], scopes_supported: ["desk:read"] }));
  } else if (pathname === "/revoke") {
    grants.forEach((id) => revoked.add(id));
    response.writeHead(204).end();
  } else {
    provider.callback()(request, response);
  }
});

const first = new Set(), grants = new Set(), revoked = new Set();

listener.listen(0, "127.0.0.1", () => {
  base = `http://127.0.0.1:${listener.address().port}`;
  provider = new Provider(base, {
    clients: [],
    cookies: { keys: ["a key of this test"] },
    scopes: ["openid", "email", "offline_access", "desk:read"],
    claims: { openid: ["sub"], email: ["email"] },
    conformIdTokenClaims: false, // the email address is in the ID token
    features: {
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: "desk:read", audience: base + "/mcp", accessTokenFormat: "opaque" }),
        useGrantedResource: () => true,
      },
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: () => true,
    ttl: { AccessToken: 3600, Grant: 86400, Interaction: 3600, RefreshToken: 86400, Session: 3600 },
    findAccount: (ctx, id, token) => {
      if (token?.grantId && revoked.has(token.grantId)) {
        return undefined;
      }
      if (token?.grantId) {
        grants.add(token.grantId);
      }
      return { accountId: id, claims: () => ({ sub: id, email: `${id}@northwind.com` }) };
    },
  });
  provider.on("grant.success", (ctx) => {
    if (ctx.oidc.params.grant_type === "refresh_token") {
      console.log("refreshed");
    } else {
      first.add(ctx.body.access_token);
    }
  });
  provider.on("server_error", (ctx, err) => console.error(err));
  console.log(base + "/mcp");
});
