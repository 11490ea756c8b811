/**
 * Formats whose output is a row after a row and nothing else. The engine formats each chunk of a streamed
 * result as a document of its own, so only these may be streamed; the others are built in memory first.
 */
export function isStreamable(format: string): boolean {
  return streamable.has(format.toLowerCase());
}

const streamable = lowerCased(
  "JSONEachRow JSONLines NDJSON JSONStringsEachRow JSONCompactEachRow JSONCompactStringsEachRow " +
    "TabSeparated TSV TabSeparatedRaw TSVRaw Raw CSV TSKV LineAsString RowBinary Native RawBLOB MsgPack",
);

/** Formats in which a line break is always the end of a row, so that data may be cut there. */
export function isLinePerRow(format: string): boolean {
  return linePerRow.has(format.toLowerCase());
}

const linePerRow = lowerCased(
  "JSONEachRow JSONLines NDJSON JSONStringsEachRow JSONCompactEachRow JSONCompactStringsEachRow " +
    "TabSeparated TSV TabSeparatedRaw TSVRaw Raw TSKV LineAsString JSONAsString JSONAsObject",
);

function lowerCased(names: string): Set<string> {
  return new Set(names.toLowerCase().split(" "));
}

export function contentTypeOf(format: string): string {
  if (/EachRow/i.test(format) || /^(JSONLines|NDJSON)$/i.test(format)) {
    return "application/x-ndjson; charset=UTF-8";
  }
  if (/^JSON/i.test(format)) return "application/json; charset=UTF-8";
  if (/^CSV/i.test(format)) return "text/csv; charset=UTF-8; header=absent";
  if (/^(TabSeparated|TSV|Raw$|TSKV)/i.test(format)) {
    return "text/tab-separated-values; charset=UTF-8";
  }
  if (/^XML$/i.test(format)) return "application/xml; charset=UTF-8";
  if (/^(RowBinary|Native|Parquet|Arrow|ORC|Avro|MsgPack|BSON|RawBLOB|Protobuf)/i.test(format)) {
    return "application/octet-stream";
  }
  return "text/plain; charset=UTF-8";
}
