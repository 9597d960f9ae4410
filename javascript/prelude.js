// Runs before the program: removes what depends on timing or memory, replaces the
// clock and the random numbers, and defines console and the functions that Go calls.
// Everything that is needed later is taken here, before the program can change it.
(() => {
  "use strict";
  const g = globalThis, { stringify, parse } = JSON, Text = String, RealDate = Date, PromiseOf = Promise.resolve.bind(Promise), { construct } = Reflect;
  const host = { log: g.__log, done: g.__done, failed: g.__failed };
  for (const name of ["__log", "__done", "__failed", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "performance"]) delete g[name];

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return Text(value);
    if (typeof value === "object" && value !== null) {
      try { return stringify(value, (_, v) => typeof v === "bigint" ? Text(v) : v) ?? Text(value); } catch { return Text(value); }
    }
    return Text(value);
  };
  const log = (...values) => { host.log(values.map(show).join(" ")); };
  const hidden = (name, value) => Object.defineProperty(g, name, { value, writable: true, configurable: true, enumerable: false });
  hidden("console", { log, info: log, warn: log, error: log, debug: log });

  const failed = (e) => {
    if (e instanceof Error) host.failed(Text(e.name), Text(e.message), Text(e.stack));
    else host.failed("", show(e), "");
  };
  // A BigInt becomes a marked text, which Go converts to a number.
  let mark;
  const stringifyExactly = (value) => {
    try { return stringify(value); } catch { return stringify(value, (_, v) => typeof v === "bigint" ? mark + Text(v) : v); }
  };
  const ended = (value) => {
    try {
      const json = stringifyExactly(value);
      if (json === undefined && value !== undefined) throw new TypeError(`a ${typeof value} cannot be returned`);
      host.done(json ?? "");
    } catch (e) { failed(e); }
  };

  // Called with the time in milliseconds, four numbers of 32 bits, the inputs as JSON, and
  // the mark of texts in them that stand for a BigInt.
  hidden("__start", (now, a, b, c, d, inputs, marked) => {
    delete g.__start;
    const Clock = function Date(...parts) {
      if (new.target === undefined) return new RealDate(now).toString();
      return construct(RealDate, parts.length ? parts : [now], new.target);
    };
    Clock.prototype = RealDate.prototype;
    Object.defineProperty(RealDate.prototype, "constructor", { value: Clock, writable: true, configurable: true });
    Object.defineProperty(Clock, "length", { value: 7 });
    Object.assign(Clock, { now: () => now, parse: RealDate.parse, UTC: RealDate.UTC });
    hidden("Date", Clock);

    // sfc32, a generator of good quality with 128 bits of state.
    const next = () => {
      const t = (((a + b) | 0) + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (c << 21) | (c >>> 11);
      c = (c + t) | 0;
      return t >>> 0;
    };
    for (let i = 0; i < 15; i++) next();
    Math.random = () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;

    mark = marked;
    const values = inputs.includes(mark) ? parse(inputs, (_, v) => typeof v === "string" && v.startsWith(mark) ? BigInt(v.slice(mark.length)) : v) : parse(inputs);
    import("code").then((module) => {
      if (typeof module.default !== "function") throw new TypeError("the code has no default function: begin it with export default function (inputs) {");
      return PromiseOf(module.default(values)).then(ended);
    }).catch(failed);
  });
})();
