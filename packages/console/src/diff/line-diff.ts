export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

const lineOf = (kind: DiffLine["kind"]) => (text: string) => ({ kind, text });

/** What is done to each line of one list, and which of another come between, to make that of it. */
type Edits = (left: readonly string[], right: readonly string[]) => DiffLine["kind"][];

const replaceAll: Edits = (left, right) => [
  ...left.map((): "removed" => "removed"),
  ...right.map((): "added" => "added"),
];

/**
 * The fewest lines to remove and add that make one list of the other (Myers). Where they differ by more than `most` lines,
 * `otherwise` says what is done between their common beginning and end, by default to replace it: a shortest difference of much
 * would take long and help nobody.
 */
export function lineDiff(
  before: readonly string[],
  after: readonly string[],
  most = 1000,
  otherwise = replaceAll,
): DiffLine[] {
  let begin = 0;
  while (begin < before.length && begin < after.length && before[begin] === after[begin]) begin++;
  let [endBefore, endAfter] = [before.length, after.length];
  while (endBefore > begin && endAfter > begin && before[endBefore - 1] === after[endAfter - 1]) {
    endBefore--;
    endAfter--;
  }
  const [left, right] = [before.slice(begin, endBefore), after.slice(begin, endAfter)];
  return [
    ...before.slice(0, begin).map(lineOf("same")),
    ...(shortest(left, right, most) ?? linesOf(otherwise(left, right), left, right)),
    ...before.slice(endBefore).map(lineOf("same")),
  ];
}

function linesOf(kinds: DiffLine["kind"][], left: readonly string[], right: readonly string[]): DiffLine[] {
  let [x, y] = [0, 0];
  return kinds.map((kind): DiffLine => {
    const text = (kind === "added" ? right[y] : left[x]) ?? "";
    if (kind !== "added") x++;
    if (kind !== "removed") y++;
    return { kind, text };
  });
}

/** Undefined where it has more than `most` changes. */
function shortest(left: readonly string[], right: readonly string[], most: number): DiffLine[] | undefined {
  /** How far each diagonal was reached after so many changes. */
  const reached: Map<number, number>[] = [];
  let furthest = new Map([[1, 0]]);
  for (let changes = 0; changes <= Math.min(most, left.length + right.length); changes++) {
    reached.push(furthest);
    furthest = new Map(furthest);
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = isDown(furthest, diagonal, changes) ? at(furthest, diagonal + 1) : at(furthest, diagonal - 1) + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x++;
      furthest.set(diagonal, x);
      if (x >= left.length && x - diagonal >= right.length) return walkBack(left, right, reached);
    }
  }
  return undefined;
}

const at = (furthest: ReadonlyMap<number, number>, diagonal: number): number => furthest.get(diagonal) ?? -1;
const isDown = (furthest: ReadonlyMap<number, number>, diagonal: number, changes: number): boolean =>
  diagonal === -changes || (diagonal !== changes && at(furthest, diagonal - 1) < at(furthest, diagonal + 1));

function walkBack(
  left: readonly string[],
  right: readonly string[],
  reached: readonly ReadonlyMap<number, number>[],
): DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [left.length, right.length];
  for (let changes = reached.length - 1; changes >= 0; changes--) {
    const furthest = reached[changes] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = isDown(furthest, diagonal, changes);
    // Where the lines that are alike begin, after the change.
    const start = changes === 0 ? 0 : down ? at(furthest, diagonal + 1) : at(furthest, diagonal - 1) + 1;
    while (x > start) {
      lines.push({ kind: "same", text: left[--x] ?? "" });
      y--;
    }
    if (changes === 0) break;
    if (down) lines.push({ kind: "added", text: right[--y] ?? "" });
    else lines.push({ kind: "removed", text: left[--x] ?? "" });
  }
  return lines.toReversed();
}

export interface DiffPart {
  lines: DiffLine[];
  /** So many lines before them are alike and left out. */
  skipped: number;
}

/** What changed, with some lines around it. */
export function changedParts(lines: readonly DiffLine[], around = 3): DiffPart[] {
  const parts: DiffPart[] = [];
  let shownTo = 0;
  for (let index = 0; index < lines.length; index++) {
    if (lines[index]?.kind === "same") continue;
    const from = Math.max(shownTo, index - around);
    const to = Math.min(lines.length, index + around + 1);
    const last = parts.at(-1);
    if (last !== undefined && from <= shownTo) last.lines.push(...lines.slice(shownTo, to));
    else parts.push({ lines: lines.slice(from, to), skipped: from - shownTo });
    shownTo = to;
  }
  return parts;
}
