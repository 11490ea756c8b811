import { styleText } from "node:util";
import { visibleLine } from "@heddle/exact-json";
import measure from "fast-string-truncated-width";

type Color = "red" | "yellow" | "green" | "cyan" | "dim";

export interface Column<Row> {
  title: string;
  /** Any text; what a terminal would obey is shown by its code. */
  of: (row: Row) => string;
  align?: "right";
  /** Where the table is too wide, the column is cut down to so much. */
  least?: number;
  /** Where cutting is not enough, columns are left out, the highest first; without, never. */
  dispensable?: number;
  color?: (row: Row) => Color | undefined;
}

interface Paper {
  /** Columns of the terminal; undefined for lines of any length. */
  width: number | undefined;
  colors: boolean;
}

const gap = "  ";

/** Lines of cells in columns that are as wide as those of `rows` need, and no wider than the paper. */
export class Table<Row> {
  readonly #columns: readonly Sized<Row>[];
  readonly #colors: boolean;

  constructor(columns: readonly Column<Row>[], rows: readonly Row[], { width, colors }: Paper) {
    const natural = columns.map((column) => ({
      ...column,
      width: Math.max(widthOf(column.title), ...rows.map((row) => widthOf(visibleLine(column.of(row))))),
    }));
    this.#columns = width === undefined ? natural : fit(natural, width);
    this.#colors = colors;
  }

  header(): string {
    return this.#line(({ title }) => ({ text: title, color: "dim" }));
  }

  line(row: Row): string {
    return this.#line(({ of, color }) => ({ text: visibleLine(of(row)), color: color?.(row) }));
  }

  #line(cellOf: (column: Sized<Row>) => { text: string; color?: Color | undefined }): string {
    const cells = this.#columns.map((column, at) => {
      const { text, color } = cellOf(column);
      const cut = shorten(text, column.width);
      const space = " ".repeat(Math.max(0, column.width - widthOf(cut)));
      const styled = color !== undefined && this.#colors ? styleText(color, cut, { validateStream: false }) : cut;
      if (column.align === "right") return space + styled;
      return at === this.#columns.length - 1 ? styled : styled + space;
    });
    return cells.join(gap).trimEnd();
  }
}

type Sized<Row> = Column<Row> & { width: number };

function fit<Row>(columns: readonly Sized<Row>[], width: number): Sized<Row>[] {
  const excess = columns.reduce((sum, column) => sum + column.width + gap.length, -gap.length) - width;
  if (excess <= 0) return [...columns];
  const spare = columns.reduce((sum, column) => sum + spareOf(column), 0);
  if (spare >= excess) return cutDown(columns, excess);
  const ranks = columns.map(({ dispensable = -1 }) => dispensable);
  const most = Math.max(...ranks);
  if (most >= 0) return fit(columns.toSpliced(ranks.indexOf(most), 1), width);
  return cutDown(columns, spare);
}

const spareOf = <Row>({ width, least = width }: Sized<Row>): number => Math.max(0, width - least);

/** Takes `excess` from the columns that have something to spare, first from the one that has most. */
function cutDown<Row>(columns: readonly Sized<Row>[], excess: number): Sized<Row>[] {
  const result = columns.map((column) => ({ ...column }));
  for (let left = excess; left > 0; left--) {
    const widest = result.reduce((a, b) => (spareOf(b) > spareOf(a) ? b : a));
    widest.width -= 1;
  }
  return result;
}

const widthOf = (text: string): number => measure(text).width;

/** The text, or its beginning with an ellipsis where it is wider. */
export function shorten(text: string, width: number): string {
  const { truncated, ellipsed, index } = measure(text, { limit: width, ellipsis: "…", ellipsisWidth: 1 });
  return truncated ? `${text.slice(0, index)}${ellipsed ? "…" : ""}` : text;
}
