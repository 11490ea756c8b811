export {
  type ConformanceOptions,
  type Progress,
  runConformance,
  UnknownOperation,
} from "./conformance.js";
export { type CheckReport, type ConformanceReport, type OperationReport, type ReportSummary } from "./report.js";
