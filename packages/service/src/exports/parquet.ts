import { HeddleError } from "@heddle/errors";
import { stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { parseTime } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";
import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { CallEncoder } from "./call-encoder.js";
import type { Columns, ColumnType } from "./columns.js";

const elements: Readonly<Record<ColumnType, Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  integer: { type: "INT64" },
  time: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
};

/** JSON of a value as the column holds it: a time and an integer exactly, a string as it is, other JSON as its text. */
const values: Readonly<Record<ColumnType, (json: JsonText) => string | bigint | undefined>> = {
  text: (json) => stringValue(json) ?? json,
  integer: (json) => BigInt(json),
  time: (json) => parseTime(stringValue(json) ?? ""),
};

/** Rows are encoded together up to this many characters: enough to compress well, few enough that others get to run. */
const mostCharacters = 1_000_000;
const mostRows = 10_000;

/** Throws `unprocessable`, with a loc that begins with `select`, for names that a table cannot have. */
export function checkNames(names: readonly string[]): void {
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice === -1) return;
  throw new HeddleError("unprocessable", `${names[twice]} is there twice, and a table has a name once`, {
    loc: ["select", twice],
  });
}

/** Apache Parquet: a group of rows whenever there are enough, and at the end where each group is. */
export class ParquetEncoder implements CallEncoder {
  readonly #columns: Columns;
  readonly #bytes = new ByteWriter();
  readonly #file: ParquetWriter;
  #rows: Array<string | bigint | undefined>[];
  #characters = 0;

  constructor(columns: Columns) {
    this.#columns = columns;
    const { names, types } = columns;
    this.#rows = names.map(() => []);
    this.#file = new ParquetWriter({
      writer: this.#bytes,
      createdBy: "heddle",
      schema: [
        { name: "call", num_children: names.length },
        ...names.map((name, at) => ({ name, repetition_type: "OPTIONAL" as const, ...elements[types[at] ?? "text"] })),
      ],
    });
  }

  add(call: StoredCall, userName: string | undefined): Uint8Array | undefined {
    const { types } = this.#columns;
    for (const [at, json] of this.#columns.valuesOf(call, userName).entries()) {
      this.#rows[at]?.push(json === undefined ? undefined : values[types[at] ?? "text"](json));
      this.#characters += json?.length ?? 0;
    }
    const isFull = this.#characters >= mostCharacters || (this.#rows[0]?.length ?? 0) >= mostRows;
    return isFull ? this.#group() : undefined;
  }

  end(): Uint8Array {
    const rest = this.#group();
    void this.#file.finish();
    return Buffer.concat([rest, this.#taken()]);
  }

  #group(): Uint8Array {
    const columnData = this.#columns.names.map((name, at) => ({
      name,
      data: this.#rows[at] ?? [],
      // Bounds of long texts help no reader to skip them.
      statistics: this.#columns.types[at] !== "text",
    }));
    void this.#file.write({ columnData, rowGroupSize: mostRows });
    this.#rows = this.#columns.names.map(() => []);
    this.#characters = 0;
    return this.#taken();
  }

  #taken(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice();
    // Its offset goes on: it is the one in the file.
    this.#bytes.index = 0;
    return bytes;
  }
}
