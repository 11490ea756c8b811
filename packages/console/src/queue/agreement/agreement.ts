/** An answer of an annotator, its value as exact text. */
export interface Opinion {
  /** Ref of what it is about. */
  about: string;
  field: string;
  annotator: string;
  value: string;
}

export interface Agreement {
  field: string;
  /** Calls that several annotators have answered. */
  calls: number;
  /** Of these, the calls on which all say the same. */
  alike: number;
  /** Krippendorff's alpha over all answers to these calls, each value a name; undefined where all answers are one value. */
  alpha: number | undefined;
}

/** How far annotators agree on each field, over the calls that several of them answered. Of one annotator the last counts. */
export function agreementOf(opinions: readonly Opinion[]): Agreement[] {
  const fields = new Map<string, Map<string, Map<string, string>>>();
  for (const { about, field, annotator, value } of opinions) {
    const calls = fields.get(field) ?? new Map<string, Map<string, string>>();
    const answers = calls.get(about) ?? new Map<string, string>();
    fields.set(field, calls.set(about, answers.set(annotator, value)));
  }
  return [...fields].map(([field, calls]) => {
    const shared = [...calls.values()].map((answers) => [...answers.values()]).filter(({ length }) => length > 1);
    const alike = shared.filter((values) => new Set(values).size === 1).length;
    return { field, calls: shared.length, alike, alpha: alphaOf(shared) };
  });
}

function alphaOf(units: readonly string[][]): number | undefined {
  const total = units.reduce((sum, { length }) => sum + length, 0);
  const counts = new Map<string, number>();
  let differing = 0;
  for (const values of units) {
    const within = new Map<string, number>();
    for (const value of values) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
      within.set(value, (within.get(value) ?? 0) + 1);
    }
    for (const count of within.values()) differing += (count * (values.length - count)) / (values.length - 1);
  }
  const expected = [...counts.values()].reduce((sum, count) => sum + count * (total - count), 0) / (total - 1);
  return expected > 0 ? 1 - differing / expected : undefined;
}
