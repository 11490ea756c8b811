export {
  type ConformanceOptions,
  type Progress,
  runConformance,
  UnknownOperation,
  UnusableTarget,
} from "./conformance.js";
export { type CheckReport, type ConformanceReport, type OperationReport, type ReportSummary } from "./report.js";
export { junitReport } from "./junit.js";
export { reportTable } from "./table.js";
