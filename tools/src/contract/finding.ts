/** Something in the hand-written contract that has to be corrected. */
export interface Finding {
  /** Relative to the `spec` folder. */
  file: string;
  /** From 1. */
  line: number;
  /** What is wrong and, where that does not tell it, what to do. */
  message: string;
}

/** One line per finding, `spec/tracing/paths/calls.yaml:24: …`, in the order of files and lines. */
export function findingLines(findings: Finding[]): string[] {
  const ordered = findings.toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  return [...new Set(ordered.map(({ file, line, message }) => `spec/${file}:${line}: ${message}`))];
}
