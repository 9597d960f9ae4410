// An OpenID Connect provider. It takes the directory of its packages and the redirect URL of its client, and prints its
// issuer. Each line of its input is JSON, {"person": "lin@example.com", "groups": ["a"]}: what it says of a person from then
// on. It answers each with a line "ok", and ends with its input.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, redirect] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(path.join(modules, "oidc-provider", "lib", "index.js")));
const groups = new Map();

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "sluice",
      client_secret: "a-secret-of-the-client",
      redirect_uris: [redirect],
      post_logout_redirect_uris: [new URL("/sign-in", redirect).href],
    }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    scopes: ["openid", "email", "profile", "groups"],
    cookies: { keys: ["a-key-of-cookies"] },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: true, name: id.split("@")[0], groups: groups.get(id) ?? [] }),
    }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
  console.info = () => {}; // its notes would stand between the answers
});

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const said = JSON.parse(line);
  groups.set(said.person, said.groups);
  console.log("ok");
});
lines.on("close", () => process.exit(0));
