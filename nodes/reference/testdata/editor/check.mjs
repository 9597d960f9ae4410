// Asks the language service of VS Code for completions, problems and help in flow files,
// with the schema in a file. Prints one JSON object.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, file] = process.argv.slice(2);
const { getLanguageService, TextDocument } = createRequire(join(modules, "x.js"))("vscode-json-languageservice");
const service = getLanguageService({});
service.configure({ validate: true, schemas: [{ uri: "flow.json", fileMatch: ["*.flow.json"], schema: JSON.parse(readFileSync(file, "utf8")) }] });

// open returns a document whose cursor is at "|".
function open(node) {
  const text = `{"schema": "sluice.flow/v1", "name": "A", "nodes": [${node}]}`;
  const at = text.indexOf("|");
  const d = TextDocument.create("file:///a.flow.json", "json", 1, text.replace("|", ""));
  return { d, json: service.parseJSONDocument(d), position: d.positionAt(Math.max(at, 0)) };
}

async function complete(node) {
  const { d, json, position } = open(node);
  const list = await service.doComplete(d, position, json);
  return list.items.map((item) => item.label);
}

async function problems(node) {
  const { d, json } = open(node);
  return (await service.doValidation(d, json, { schemaRequest: "ignore" })).map((p) => p.message);
}

const { d, json, position } = open(`{"id": "a", "kind": "chat", "config": {"temper|ature": 1}}`);
const hover = await service.doHover(d, position, json);
console.log(
  JSON.stringify({
    kinds: await complete(`{"id": "a", "kind": |}`),
    fields: await complete(`{"id": "a", "kind": "chat", "config": {|}}`),
    options: await complete(`{"id": "a", "kind": "http_request", "config": {"method": |}}`),
    good: await problems(`{"id": "a", "kind": "chat", "config": {"prompt": "Hello"}}`),
    bad: await problems(`{"id": "a", "kind": "chat", "config": {"promt": "Hello"}}`),
    hover: JSON.stringify(hover?.contents ?? ""),
  }),
);
