const width = 30;

/** Updates one line in a terminal, or prints one line per call. `done` counts up to `all`. */
export function showProgress(done: number, all: number, note: string): void {
  const filled = Math.round((done / all) * width);
  const line = `${"█".repeat(filled)}${"░".repeat(width - filled)} ${String(done).padStart(3)}/${all}  ${note}`;
  if (!process.stdout.isTTY) console.log(line);
  else process.stdout.write(`\r${line}\u001b[K${done === all ? "\n" : ""}`);
}
