// Runs the platform's own client against the fake and prints what it saw as one
// JSON object. Arguments: node_modules, base URL, token.
import { createRequire } from "node:module";

const [modules, baseUrl, auth] = process.argv.slice(2);
const require = createRequire(modules + "/");
const Replicate = require("replicate");
const replicate = new Replicate({ auth, baseUrl, useFileOutput: false });
const saw = {};

saw.account = (await replicate.accounts.current()).username;

const model = await replicate.models.get("acme", "echo");
saw.model = { owner: model.owner, name: model.name, version: model.latest_version.id };
const version = await replicate.models.versions.get("acme", "echo", model.latest_version.id);
saw.required = version.openapi_schema.components.schemas.Input.required;

const made = await replicate.predictions.create({ version: model.latest_version.id, input: { prompt: "hello" }, wait: 5 });
saw.made = { status: made.status, output: made.output };
saw.run = await replicate.run(`acme/echo:${model.latest_version.id}`, { input: { prompt: "run" } });
saw.official = await replicate.run("acme/house", { input: { prompt: "by name" } });
const slow = await replicate.predictions.create({ version: model.latest_version.id, input: { prompt: "slow" } });
saw.slow = { first: slow.status, last: (await replicate.wait(slow, { interval: 5 })).output };

saw.stream = [];
for await (const event of replicate.stream("acme/writer", { input: { prompt: "write" } })) {
  saw.stream.push([event.event, event.data]);
}

const held = await replicate.predictions.create({ version: model.latest_version.id, input: { prompt: "held" } });
saw.canceled = (await replicate.predictions.cancel(held.id)).status;
saw.after = (await replicate.predictions.get(held.id)).status;

const file = await replicate.files.create(new Blob(["some words"], { type: "text/plain" }));
saw.file = { type: file.content_type, size: file.size, same: (await replicate.files.get(file.id)).urls.get === file.urls.get };
saw.files = (await replicate.files.list()).results.length;
const withFile = await replicate.run(`acme/echo:${model.latest_version.id}`, { input: { prompt: "file", file: new Blob(["x"]) } });
saw.uploaded = withFile.file.startsWith(baseUrl + "/files/");
saw.deleted = await replicate.files.delete(file.id);

saw.collections = (await replicate.collections.list()).results.map((c) => c.slug);
saw.collection = (await replicate.collections.get("words")).models.map((m) => m.name);
saw.search = (await replicate.models.search("writes")).results.map((m) => m.name);

saw.pages = [];
for await (const page of replicate.paginate(replicate.models.list)) saw.pages.push(page.length);
saw.predictions = 0;
for await (const page of replicate.paginate(replicate.predictions.list)) saw.predictions += page.length;

const failing = async (act) => {
  try {
    await act();
    return "no error";
  } catch (e) {
    return e.response ? e.response.status : e.message;
  }
};
saw.unknown = await failing(() => replicate.models.get("acme", "nothing"));
saw.invalid = await failing(() => replicate.run("acme/house", { input: {} }));
saw.failed = await failing(() => replicate.run("acme/house", { input: { prompt: "fail" } }));
saw.refused = await failing(() => new Replicate({ auth: "wrong", baseUrl }).accounts.current());

console.log(JSON.stringify(saw));
