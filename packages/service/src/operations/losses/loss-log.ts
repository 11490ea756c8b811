import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathExists } from "@heddle/durable-files";

/** The parts of the service that keep data. */
export type StoringPart = "traces" | "control_plane" | "blobs";

interface Loss {
  /** When it was noticed; ISO 8601. */
  at: string;
  part: StoringPart;
  /** One sentence for the response of the system check, which every key may read: it names no project and no path. */
  lost: string;
}

/** What has been stored and cannot be read any more. It is kept in a file until an operator deletes the file. */
export interface LossLog {
  /** Logs a loss and keeps it, once. `detail` is for the log only. */
  report(part: StoringPart, lost: string, detail?: string): void;
  list(): Loss[];
  /** Logs what was in the list when it was opened. */
  logEarlier(): void;
}

const fileName = "losses.jsonl";
/** Losses that are kept; those beyond it are only logged. */
const mostKept = 100;

/** Opens the list of a data directory. */
export function openLossLog(dataDir: string, log: (line: string) => void): LossLog {
  const path = join(dataDir, fileName);
  const earlier = readLosses(path);
  return {
    report(part, lost, detail) {
      const kept = readLosses(path);
      if (kept.length >= mostKept || kept.some((loss) => loss.part === part && loss.lost === lost)) return;
      log(`${lost}${detail === undefined ? "" : ` (${detail})`}; restore a backup, or delete ${path} to accept it`);
      const loss: Loss = { at: new Date().toISOString(), part, lost };
      try {
        appendFileSync(path, `${JSON.stringify(loss)}\n`, { mode: 0o600, flush: true });
      } catch (error) {
        log(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    list: () => readLosses(path),
    logEarlier() {
      for (const { at, lost } of earlier) log(`noticed on ${at}: ${lost}; delete ${path} when you have dealt with it`);
    },
  };
}

function readLosses(path: string): Loss[] {
  if (!pathExists(path)) return [];
  const losses: Loss[] = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    try {
      if (line !== "") losses.push(JSON.parse(line) as Loss);
    } catch {
      // A line that a crash cut short.
    }
  }
  return losses;
}
