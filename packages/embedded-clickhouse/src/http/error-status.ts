/** HTTP status of an error code, as the server's HTTP handler assigns them. */
export function statusOfError(code: number): number {
  return statuses.get(code) ?? 500;
}

const statuses = new Map<number, number>([
  // What cannot be read: text, numbers, dates, quoted strings, queries; and wrong types, columns, arguments.
  ...all(400, [6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223]),
  ...all(400, [321, 376, 427, 441, 675, 676]),
  [194, 401], // a password is required
  ...all(403, [192, 193, 497, 512, 516]), // users, passwords, access
  // Something unknown: table, function, identifier, type, storage, database, setting, format, role…
  ...all(404, [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511]),
  [159, 408], // the query took too long
  [381, 411],
  [229, 413], // the query text is too long
  [779, 415],
  [48, 501], // not implemented
  ...all(503, [76, 209, 439]), // a file cannot be opened, a socket timed out, no thread is left
]);

function all(status: number, codes: number[]): Array<[number, number]> {
  return codes.map((code) => [code, status]);
}
