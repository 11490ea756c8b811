// Reads vitest's JSON report (the first argument; the others are the commands that failed) and prints what a long log
// hides: which tests failed, which passed only when they were repeated, and in how many each backend was used. The last
// line is "N passed, N failed". Exits with 1 where anything failed, no test passed, or none used Postgres or S3.
import { readFileSync } from "node:fs";

const [, , reportFile, ...failedCommands] = process.argv;
const { testResults = [] } = read(reportFile);
const tests = testResults.flatMap(({ name, assertionResults }) =>
  assertionResults.map((test) => ({ file: name, ...test })),
);
const failed = tests.filter(({ status }) => status === "failed");
const passed = tests.filter(({ status }) => status === "passed");
// A file that fails to load has no failed test of its own: it counts as one.
const unloaded = testResults.filter(
  ({ status, assertionResults }) => status === "failed" && assertionResults.every((test) => test.status !== "failed"),
);

for (const command of failedCommands) print(`failed: ${command}`);
for (const test of failed) print(`failed: ${title(test)}`);
for (const { name, message } of unloaded) print(`failed: ${relative(name)}: ${firstLine(message)}`);
for (const test of passed.filter(({ failureMessages }) => failureMessages.length > 0)) {
  print(`passed only when repeated: ${title(test)}`);
}
const onPostgres = countOn("Postgres");
const onS3 = countOn("S3");
print(`postgres: ${onPostgres} tests`);
print(`s3: ${onS3} tests`);

const somethingElse = onPostgres === 0 || onS3 === 0 || failedCommands.length > 0;
const failures = failed.length + unloaded.length || (somethingElse ? 1 : 0);
print(`${passed.length} passed, ${failures} failed`);
process.exitCode = failures === 0 && passed.length > 0 ? 0 : 1;

function read(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}

function title({ file, fullName, failureMessages }) {
  return `${relative(file)} > ${fullName}: ${firstLine(failureMessages[0] ?? "")}`;
}

function relative(file) {
  return file.replace(`${process.cwd()}/`, "");
}

function firstLine(text) {
  return text.split("\n", 1)[0].slice(0, 300);
}

/** Suites that run on several backends have the name of each in their title. */
function countOn(backend) {
  return passed.filter(({ ancestorTitles }) => ancestorTitles.some((ancestor) => ancestor.includes(backend))).length;
}

function print(line) {
  process.stdout.write(`${line}\n`);
}
