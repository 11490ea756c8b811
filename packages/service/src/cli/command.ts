import type { StartOptions } from "../boot/start.js";

/** For tests; the defaults are those of a service. */
export interface ServeOptions extends Pick<StartOptions, "jobLeaseMs"> {
  /** How long a start waits for stores that do not respond. */
  storesWithinMs?: number;
}

/** What a command of `heddle` may use besides its arguments. */
export interface CommandContext {
  /** Writes one line to stdout. */
  print: (line: string) => void;
  serve: ServeOptions;
}

/** A command of `heddle`. */
export interface Command {
  /** The valid forms, one per line, and what they mean. */
  usage: () => string;
  /** Throws {@link UsageError} for arguments that are not valid. */
  run: (args: string[], context: CommandContext) => Promise<void>;
}

/** An invalid command line: `message` names the mistake, `usage` the valid forms. */
export class UsageError extends Error {
  override name = "UsageError";
  constructor(
    message: string,
    readonly usage: string,
  ) {
    super(message);
  }
}
