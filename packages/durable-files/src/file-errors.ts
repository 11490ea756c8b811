import { HeddleError, mapErrors } from "@heddle/errors";

/** Runs work on files. An error of the system, such as a full disk or a missing permission, becomes `failed`. */
export async function withFileErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    throw new HeddleError("failed", `${what}: ${systemReason(error)}`, { cause: error });
  }
}

/** Runs work that reads files written by this package: `invalid` becomes `corrupt`. */
export async function readStored<T>(work: () => Promise<T>): Promise<T> {
  const corrupt = { code: "corrupt", loc: undefined } as const;
  return await mapErrors((error) => (error.code === "invalid" ? error.with(corrupt) : error), work);
}

/** Returns the message of a system error without the paths in it: `EACCES: permission denied`. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "syscall" in error ? (error.message.split(",")[0] ?? error.message) : error.message;
}
