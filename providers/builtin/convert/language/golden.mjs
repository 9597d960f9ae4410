// Writes testdata/languages.json: the probabilities that the published JavaScript network gives to each line of
// sentences.txt, in the order of its languages, which the Go tests must reproduce. A line is: expected code, tab, text;
// the text may hold \n, \t and \u{…}.
import { readFileSync, writeFileSync } from "node:fs";
import lande from "lande";

const unescape = (s) => s.replace(/\\n/g, "\n").replace(/\\t/g, "\t").replace(/\\u\{([0-9a-f]+)\}/g, (_, hex) => String.fromCodePoint(parseInt(hex, 16)));
const lines = readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean);
const golden = lines.map((line) => {
  const [want, raw] = line.split("\t");
  const text = unescape(raw);
  const scores = Object.fromEntries(lande(text).filter(([, p]) => p >= 1e-6).map(([code, p]) => [code, Number(p.toPrecision(7))]));
  return { want, text, scores };
});
writeFileSync(process.argv[3], "[\n" + golden.map((g) => JSON.stringify(g)).join(",\n") + "\n]\n");
const right = golden.filter((g) => Object.keys(g.scores)[0] === g.want).length;
console.log(`${process.argv[3]}: ${golden.length} texts, ${right} of ${golden.filter((g) => g.want !== "-").length} as expected`);
