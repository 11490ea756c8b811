/** What a run found, as it is written to JSON. */
export interface ConformanceReport {
  /** The server that was judged. */
  base_url: string;
  /** Versions of the documents by interface. */
  spec_versions: Record<string, string>;
  started_at: string;
  duration_ms: number;
  summary: ReportSummary;
  operations: OperationReport[];
}

export interface ReportSummary {
  /** Operations of which every check passed. */
  passed: number;
  /** Operations with a failed check. */
  failed: number;
  /** Operations that responded with 501. */
  not_implemented: number;
  checks_passed: number;
  checks_failed: number;
  /** Checks that did not apply to what the server holds. */
  checks_skipped: number;
}

export interface OperationReport {
  operation: string;
  interface: "tracing" | "training";
  method: string;
  path: string;
  outcome: "passed" | "failed" | "not_implemented";
  checks: CheckReport[];
}

export interface CheckReport {
  name: string;
  outcome: "passed" | "failed" | "skipped";
  duration_ms: number;
  /** What was found, or why the check was skipped. */
  message?: string;
  expected?: string;
  /** Method, path and the beginning of the body; without the key. */
  request?: string;
  /** Status, media type and the beginning of the body. */
  response?: string;
}

export function summaryOf(operations: readonly OperationReport[]): ReportSummary {
  const count = (outcome: OperationReport["outcome"]) => operations.filter((one) => one.outcome === outcome).length;
  const checks = operations.flatMap((operation) => operation.checks);
  const countChecks = (outcome: CheckReport["outcome"]) => checks.filter((one) => one.outcome === outcome).length;
  return {
    passed: count("passed"),
    failed: count("failed"),
    not_implemented: count("not_implemented"),
    checks_passed: countChecks("passed"),
    checks_failed: countChecks("failed"),
    checks_skipped: countChecks("skipped"),
  };
}
