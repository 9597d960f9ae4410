// Reads C# files with tree-sitter's grammar and prints the place of each fault.
// node csharp.mjs NODE_MODULES FILE…
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const { Parser, Language } = await import(pathToFileURL(join(modules, "web-tree-sitter", "web-tree-sitter.js")));
await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(join(modules, "tree-sitter-c-sharp", "tree-sitter-c_sharp.wasm")));
for (const file of files) {
  const faults = (node) => (node.isError || node.isMissing ? [node] : node.children.flatMap(faults));
  for (const { startPosition: at, text } of faults(parser.parse(await readFile(file, "utf8")).rootNode)) {
    console.log(`${file}:${at.row + 1}:${at.column + 1}: ${text.slice(0, 80)}`);
  }
}
