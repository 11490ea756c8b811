import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";

const maxPathBytes = 1024;
const maxNameBytes = 255;
// Names that some file system does not keep, or that lead out of the directory that a version is written to.
const unsafe = /[\p{Cc}\p{Surrogate}\\]/u;

/**
 * Throws `unprocessable` unless the path can be written below any directory, and only there: relative, of names
 * separated by one slash each, without `.` and `..`, backslashes and control characters.
 */
export function checkFilePath(path: string, ...loc: Loc): void {
  const fail = (what: string) => new HeddleError("unprocessable", `a path ${what}`, { loc });
  if (path === "") throw fail("must not be empty");
  if (Buffer.byteLength(path) > maxPathBytes) throw fail(`must have at most ${maxPathBytes} bytes`);
  if (unsafe.test(path)) throw fail("must not hold backslashes, control characters or lone surrogates");
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) throw fail("must be relative");
  for (const name of path.split("/")) {
    if (name === "") throw fail("must not have empty names");
    if (name === "." || name === "..") throw fail("must not hold the names . and ..");
    if (Buffer.byteLength(name) > maxNameBytes) throw fail(`must have names of at most ${maxNameBytes} bytes`);
  }
}

/** Throws `unprocessable` when two of the files, whose paths are valid, cannot be in one directory. */
export function checkFilesFit(paths: readonly string[], ...loc: Loc): void {
  const files = new Set<string>();
  for (const [at, path] of paths.entries()) {
    if (files.has(path))
      throw new HeddleError("unprocessable", `${path} is named twice`, { loc: [...loc, at, "path"] });
    files.add(path);
  }
  for (const [at, path] of paths.entries()) {
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
      const directory = path.slice(0, slash);
      if (!files.has(directory)) continue;
      throw new HeddleError("unprocessable", `${directory} is a file and also a directory`, {
        loc: [...loc, at, "path"],
      });
    }
  }
}
