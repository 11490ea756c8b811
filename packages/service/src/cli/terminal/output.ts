/** Where a command writes what it found. */
export interface Output {
  /** Columns of the terminal; undefined for a file or pipe, which gets lines of any length. */
  width: number | undefined;
  colors: boolean;
  /** Resolves when the text is taken. */
  write: (text: string | Uint8Array) => Promise<void>;
  /** What is not part of the result, as one line on stderr. */
  note: (line: string) => void;
}

/** The stdout of this process. A reader that has seen enough, as `head`, ends the process without a word. */
export function standardOutput(env: NodeJS.ProcessEnv): Output {
  const { stdout, stderr } = process;
  const quietly = (error: Error) => {
    if ((error as NodeJS.ErrnoException).code === "EPIPE") process.exit(0);
    throw error;
  };
  for (const stream of [stdout, stderr]) stream.on("error", quietly);
  return {
    width: stdout.isTTY ? stdout.columns || 80 : undefined,
    colors: stdout.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    write: async (text) =>
      new Promise((resolve) => {
        stdout.write(text, (error) => {
          if (!error) resolve();
        });
      }),
    note: (line) => void stderr.write(`${line}\n`),
  };
}
