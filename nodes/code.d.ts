// What JavaScript in Code nodes of Sluice can use. Written by "sluice kinds --types".
//
// Put this file beside your code as code.d.ts, and set "lib": ["ES2023"] and
// "types": [] in tsconfig.json, because code has no DOM, timers or network.
//
//   /** @type {SluiceCode<{ items: { price: number }[] }, { total: number }>} */
//   export default ({ items }) => ({ total: items.reduce((sum, i) => sum + i.price, 0) });

/** A file of the run, as it comes from a port. It can be passed on; its content cannot be read. */
interface SluiceFile {
  file: string;
  name?: string;
  mime?: string;
  size?: number;
  url?: string;
}

/** A value of a port. */
type SluiceValue = null | boolean | number | string | SluiceFile | SluiceValue[] | { [name: string]: SluiceValue };

/**
 * The default export of a Code node: a function of the values of the input ports, by name. It
 * returns one value, for the port result, or an object with a value for each name under Outputs.
 */
type SluiceCode<Inputs = { [name: string]: SluiceValue }, Outputs = SluiceValue> = (inputs: Inputs) => Outputs | Promise<Outputs>;

/** Writes to the log of the step, which keeps 64 KiB. */
declare const console: Record<"log" | "info" | "warn" | "error" | "debug", (...values: unknown[]) => void>;
