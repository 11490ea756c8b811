import type { CheckReport, ConformanceReport, OperationReport } from "./report.js";

/** The report as JUnit XML: one test suite per operation, one test case per check. */
export function junitReport({ operations, summary, duration_ms, started_at }: ConformanceReport): string {
  const skipped = summary.checks_skipped + summary.not_implemented;
  const attributes = {
    name: "heddle conformance",
    tests: summary.checks_passed + summary.checks_failed + skipped,
    failures: summary.checks_failed,
    skipped,
    time: seconds(duration_ms),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    open("testsuites", attributes),
    ...operations.map((operation) => suiteOf(operation, started_at)),
    "</testsuites>",
    "",
  ].join("\n");
}

function suiteOf({ operation, outcome, checks, ...report }: OperationReport, timestamp: string): string {
  const count = (wanted: CheckReport["outcome"]) => checks.filter((check) => check.outcome === wanted).length;
  const classname = `${report.interface}.${operation}`;
  if (outcome === "not_implemented") {
    return [
      open("testsuite", { name: operation, tests: 1, failures: 0, skipped: 1, timestamp }),
      open("testcase", { classname, name: "implemented" }),
      '<skipped message="not implemented: the server responds with 501"/>',
      "</testcase>",
      "</testsuite>",
    ].join("\n");
  }
  const counts = { tests: checks.length, failures: count("failed"), skipped: count("skipped") };
  return [
    open("testsuite", { name: operation, ...counts, timestamp }),
    ...checks.map((check) => caseOf(check, classname)),
    "</testsuite>",
  ].join("\n");
}

function caseOf({ name, outcome, duration_ms, message = "", ...check }: CheckReport, classname: string): string {
  const start = open("testcase", { classname, name, time: seconds(duration_ms) });
  if (outcome === "passed") return `${start}</testcase>`;
  if (outcome === "skipped") return `${start}${open("skipped", { message })}</skipped></testcase>`;
  const text = [`expected: ${check.expected}`, check.request, check.response].filter(Boolean).join("\n\n");
  return `${start}${open("failure", { message })}${escaped(text)}</failure></testcase>`;
}

function open(tag: string, attributes: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  return `<${tag}${pairs.join("")}>`;
}

/** Text of a server may hold what XML cannot: it is replaced. */
function escaped(text: string): string {
  return (
    text
      // oxlint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("\n", "&#10;")
  );
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}
