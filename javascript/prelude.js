// Runs before the program: removes what depends on timing or memory, replaces the
// clock and the random numbers, and defines console and the functions that Go calls.
// Everything that is needed later is taken here, before the program can change it.
(() => {
  "use strict";
  const g = globalThis, { stringify, parse } = JSON, Text = String, RealDate = Date, PromiseOf = Promise.resolve.bind(Promise), { construct } = Reflect;
  const host = { log: g.__log, done: g.__done, failed: g.__failed, compare: g.__compare };
  for (const name of ["__log", "__done", "__failed", "__compare", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "performance"]) delete g[name];

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

  // Without memory for an error, the engine throws null. The reserve is for reporting that.
  let reserve = new ArrayBuffer(262144);
  const failed = (e) => {
    reserve = null;
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

  // There is no data of locales and time zones, so a locale or an option that would change the
  // result is an error; ignoring it would return a wrong text.
  const method = (of, name, value) => Object.defineProperty(of, name, { value, writable: true, configurable: true, enumerable: false });
  const unsupported = (name, instead) => new TypeError(`${name} cannot honor a locale or options here: code has no data of locales, and its time zone is UTC. ${instead}`);
  const plainOnly = (of, name, instead) => {
    const plain = of[name];
    method(of, name, { [name](locales, options) {
      if (locales !== undefined || options !== undefined) throw unsupported(name, instead);
      return plain.call(this);
    } }[name]);
  };
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) plainOnly(RealDate.prototype, name, "Use toISOString or the getUTC functions");
  for (const of of [Number.prototype, BigInt.prototype]) plainOnly(of, "toLocaleString", "Use toString or toFixed");
  for (const of of [Array.prototype, Object.getPrototypeOf(Int8Array).prototype]) plainOnly(of, "toLocaleString", "Format the items, then join them");

  const localeOf = (locales) => locales === undefined ? "" : Text(typeof locales === "object" && locales !== null ? locales[0] ?? "" : locales);
  const special = ["az", "el", "hy", "lt", "tr"]; // languages with rules of their own for uppercase and lowercase
  for (const name of ["toLocaleUpperCase", "toLocaleLowerCase"]) {
    const plain = String.prototype[name.replace("Locale", "")];
    method(String.prototype, name, { [name](locales) {
      const language = localeOf(locales).toLowerCase().split("-")[0];
      if (special.includes(language)) throw new TypeError(`${name} cannot honor the locale ${language} here. Use ${name.replace("Locale", "")} for the rules of other languages`);
      return plain.call(this);
    } }[name]);
  }

  const refuseCompare = (what) => new TypeError(`localeCompare cannot honor ${what} here`);
  const choice = (options, name, allowed) => {
    const value = options[name];
    if (value === undefined) return "";
    if (!allowed.includes(Text(value))) throw refuseCompare(`${name}: ${Text(value)}`);
    return Text(value);
  };
  method(String.prototype, "localeCompare", { localeCompare(that, locales, options) {
    if (this === undefined || this === null) throw new TypeError("localeCompare needs a text");
    const a = Text(this), b = Text(that);
    if (locales === undefined && options === undefined) return host.compare(a, b);
    const locale = localeOf(locales), o = options === undefined ? {} : Object(options);
    choice(o, "usage", ["sort"]);
    choice(o, "ignorePunctuation", ["false"]);
    choice(o, "collation", ["default"]);
    const sensitivity = choice(o, "sensitivity", ["base", "accent", "variant"]) || "variant";
    const result = host.compare(a, b, locale, !!o.numeric, sensitivity, choice(o, "caseFirst", ["upper", "lower", "false"]));
    if (result === undefined || result === null) throw refuseCompare(`the locale ${locale}`);
    return result;
  } }.localeCompare);

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
