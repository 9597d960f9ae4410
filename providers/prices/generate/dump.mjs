// Prints the prices of the npm package @pydantic/genai-prices as JSON. The package
// does not export its data, so this adds an export to a copy of its source. The data
// is the first constant of the file.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const source = readFileSync("node_modules/@pydantic/genai-prices/dist/index.js", "utf8");
const [, name] = source.match(/^const (\w+) = \[/);
const copy = "node_modules/data.mjs";
writeFileSync(copy, `${source}\nexport { ${name} as data };\n`);
const { data } = await import(pathToFileURL(copy));
rmSync(copy);
process.stdout.write(JSON.stringify(data));
