#!/usr/bin/env node
// The check runs on every Node.js that has ES modules: no static import, and no syntax newer than ES2019.
const oldest = "20.19";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [oldestMajor = 0, oldestMinor = 0] = oldest.split(".").map(Number);

if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  process.stderr.write(
    `heddle: Node.js ${oldest} or newer is needed. ${process.execPath} is ${process.versions.node}.\n`,
  );
  process.exit(1);
} else {
  void import("./cli/run.js")
    .then(({ runCommand }) => runCommand(process.argv.slice(2)))
    // The engine's client keeps idle sockets open, which would keep the process running.
    .then((code) => process.exit(code));
}
