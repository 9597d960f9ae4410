// A mail server that prints what it receives: a line with its port, then a line of JSON for each message. It refuses the
// first attempt at each message, so that the sender must try again.
const path = require("node:path");
const { SMTPServer } = require(path.join(process.argv[2], "smtp-server"));

const seen = new Set();
const server = new SMTPServer({
  secure: false,
  disabledCommands: ["STARTTLS"],
  allowInsecureAuth: true,
  onAuth(auth, _session, done) {
    if (auth.username === "mailer" && auth.password === "secret") done(null, { user: auth.username });
    else done(new Error("wrong password"));
  },
  onData(stream, session, done) {
    const parts = [];
    stream.on("data", (part) => parts.push(part));
    stream.on("end", () => {
      const raw = Buffer.concat(parts).toString("utf8");
      const id = (/^message-id:\s*(\S+)/im.exec(raw) || [])[1] || "";
      if (!seen.has(id)) {
        seen.add(id);
        done(Object.assign(new Error("Try again later"), { responseCode: 451 }));
        return;
      }
      console.log(JSON.stringify({ to: session.envelope.rcptTo.map((r) => r.address), id, raw }));
      done();
    });
  },
});
server.listen(0, "127.0.0.1", () => console.log(server.server.address().port));
