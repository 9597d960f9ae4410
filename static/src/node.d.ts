// The parts of Node's API that the unit tests (*.test.ts) use.
declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): void;
  export function describe(name: string, run: () => void): void;
}
declare module "node:assert/strict" {
  const assert: {
    (value: unknown, message?: string): asserts value;
    equal(got: unknown, want: unknown, message?: string): void;
    deepEqual(got: unknown, want: unknown, message?: string): void;
    notEqual(got: unknown, want: unknown, message?: string): void;
    throws(run: () => unknown, error?: RegExp): void;
  };
  export default assert;
}
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function readdirSync(path: string): string[];
}
