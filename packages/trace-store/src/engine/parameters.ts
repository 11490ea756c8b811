/** One HTTP field of a ClickHouse server holds 128 KiB; half of that leaves space for escapes. */
const listBytes = 64 * 1024;

type Scalar = string | number | bigint;
type Pair = readonly [string, string];
export type ParameterValue = Scalar | null | readonly Scalar[];

/**
 * The bound parameters of one statement. Values never become SQL text: `bind` and `in` return the placeholders.
 *
 * ```ts
 * const p = new Parameters();
 * const sql = `SELECT id FROM calls WHERE project_id = ${p.bind("String", project)} AND ${p.in("id", "String", ids)}`;
 * await engine.rows(sql, p);
 * ```
 */
export class Parameters {
  readonly values: Record<string, ParameterValue> = {};
  #count = 0;

  /** A placeholder for one value, e.g. `{p0:String}`. */
  bind(type: string, value: ParameterValue): string {
    const name = `p${this.#count++}`;
    this.values[name] = value;
    return `{${name}:${type}}`;
  }

  /**
   * `expression IN (list)` with the list split over parameters of at most 64 KB each. An empty list is false.
   */
  in(expression: string, type: string, list: readonly Scalar[]): string {
    return either(this.lists(type, list).map((chunk) => `${expression} IN (${chunk})`));
  }

  /** Placeholders of a list that is split over parameters of at most 64 KB each. */
  lists(type: string, list: readonly Scalar[]): string[] {
    return listChunks(list).map((chunk) => this.bind(`Array(${type})`, chunk));
  }

  /**
   * `(first, second) IN (pairs)`, so that one statement finds the rows of many projects, however many there are. The primary
   * key is used as with two equations. Without pairs it is false.
   */
  inPairs(columns: readonly [string, string], pairs: readonly Pair[]): string {
    return either(this.pairs(pairs).map((chunk) => `(${columns.join(", ")}) IN (${chunk})`));
  }

  /** Arrays of pairs from parameters of at most 64 KB each. */
  pairs(pairs: readonly Pair[]): string[] {
    return listChunks(pairs).map((chunk) => {
      const lists = [0, 1].map((at) =>
        this.bind(
          "Array(String)",
          chunk.map((pair) => pair[at] ?? ""),
        ),
      );
      return `arrayZip(${lists.join(", ")})`;
    });
  }

  /** A time in microseconds as a `DateTime64(6,'UTC')` constant that the primary key can use. */
  time(us: bigint): string {
    return `fromUnixTimestamp64Micro(${this.bind("Int64", us)}, 'UTC')`;
  }

  /** `expression IN (list)` for a list of times in microseconds. */
  inTimes(expression: string, list: readonly bigint[]): string {
    // Without quotes, a DateTime64 in an array is its number of ticks. A function of the array would be computed per part.
    return this.in(expression, "DateTime64(6, 'UTC')", list);
  }
}

function either(conditions: string[]): string {
  if (conditions.length > 1) return `(${conditions.join(" OR ")})`;
  return conditions[0] ?? "0";
}

function listChunks<T extends Scalar | Pair>(list: readonly T[]): T[][] {
  const chunks: T[][] = [];
  let chunk: T[] = [];
  let bytes = 0;
  for (const item of list) {
    const size = typeof item === "object" ? sizeOf(item[0]) + sizeOf(item[1]) : sizeOf(item);
    if (chunk.length > 0 && bytes + size > listBytes) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

/** Quotes and comma, and every character as if it needed an escape or three bytes. */
function sizeOf(item: Scalar): number {
  return typeof item === "string" ? item.length * 3 + 3 : 24;
}
