import type { CheckReport, ConformanceReport, OperationReport } from "./report.js";

/** The report as text: one line per operation, then the first failure of each in full. */
export function reportTable({ base_url, operations, summary, duration_ms }: ConformanceReport): string {
  const width = Math.max(...operations.map(({ operation }) => operation.length), "operation".length);
  const head = ["operation".padEnd(width), "passed", "failed", "first failure"].join("  ");
  const lines = operations.map((operation) => lineOf(operation, width));
  const failures = operations.flatMap((operation) => {
    const failed = operation.checks.filter(({ outcome }) => outcome === "failed");
    return failed[0] === undefined ? [] : [failureText(operation, failed[0], failed.length - 1)];
  });
  const skipped = operations.flatMap(({ operation, checks }) =>
    checks
      .filter(({ outcome }) => outcome === "skipped")
      .map(({ name, message }) => `  ${operation}, ${name}: ${message ?? ""}`),
  );
  const missing = operations.filter(({ outcome }) => outcome === "not_implemented").map(({ operation }) => operation);
  const parts = [
    [head, ...lines].join("\n"),
    ...failures,
    ...(skipped.length === 0 ? [] : [["Not checked:", ...skipped].join("\n")]),
    ...(missing.length === 0 ? [] : [`Not implemented (501): ${missing.join(", ")}`]),
    [
      `${base_url}: ${count(summary.passed, "operation")} passed, ${summary.failed} failed, `,
      `${summary.not_implemented} not implemented; ${count(summary.checks_passed, "check")} passed, `,
      `${summary.checks_failed} failed, ${summary.checks_skipped} skipped (${(duration_ms / 1000).toFixed(1)} s)`,
    ].join(""),
  ];
  return parts.join("\n\n");
}

function lineOf({ operation, outcome, checks }: OperationReport, width: number): string {
  const name = operation.padEnd(width);
  if (outcome === "not_implemented") return `${name}  not implemented`;
  const countOf = (wanted: CheckReport["outcome"]) => checks.filter((check) => check.outcome === wanted).length;
  const first = checks.find((check) => check.outcome === "failed");
  const columns = [String(countOf("passed")).padStart(6), String(countOf("failed")).padStart(6)];
  return [name, ...columns, ...(first === undefined ? [] : [`${first.name}: ${first.message ?? ""}`])].join("  ");
}

function failureText({ operation, method, path }: OperationReport, check: CheckReport, more: number): string {
  const { name, message = "", expected = "", request, response } = check;
  return [
    `${operation} (${method} ${path}), ${name}${more === 0 ? "" : `, and ${count(more, "more failed check")}`}`,
    `  found     ${message}`,
    `  expected  ${expected}`,
    ...(request === undefined ? [] : [`  request   ${indented(request)}`]),
    ...(response === undefined ? [] : [`  response  ${indented(response)}`]),
  ].join("\n");
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n            ");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
