import { HeddleError } from "@heddle/errors";
import type { LoraConfig, Trainer } from "@heddle/training";
import type { TrainerProcess } from "./trainer-client.js";
import type { TrainerOpening } from "./trainer-protocol.js";

export interface TrainerPoolSettings {
  /** Maximum number of processes. */
  maxProcesses: number;
  /** Time that the process of a closed trainer is kept for the next one. 0: it ends with its trainer. */
  idleMs: number;
}

/** What a trainer is opened with. */
export interface TrainerRequest {
  trainerOptions: TrainerOpening;
  /** The adapter that will be trained; undefined for all weights. */
  adapter: LoraConfig | undefined;
  start: (signal: AbortSignal) => Promise<TrainerProcess>;
}

/**
 * Processes of trainers. That of a closed trainer is kept for a while, with its graphs and weights, for a trainer of
 * the same base model and kind.
 */
export interface TrainerPool {
  /** Opens a trainer. Rejects with `busy` if as many are open as there may be processes. */
  open(describe: () => Promise<TrainerRequest>, signal: AbortSignal): Promise<Trainer>;
  /** Ends all processes. The caller has aborted the signals of trainers that are being opened. */
  close(): Promise<void>;
}

interface IdleProcess {
  process: TrainerProcess;
  key: string;
  timer: NodeJS.Timeout;
}

export function trainerPool({ maxProcesses, idleMs }: TrainerPoolSettings): TrainerPool {
  /** Trainers that are open or being opened. */
  let open = 0;
  let closed = false;
  const beingOpened = new Set<Promise<Trainer>>();
  const inUse = new Set<TrainerProcess>();
  /** The one that was closed last comes last. */
  let idle: IdleProcess[] = [];

  function keep(process: TrainerProcess, key: string): void {
    const timer = setTimeout(() => void remove(process)?.close(), idleMs).unref();
    idle.push({ process, key, timer });
    void process.exited.then(() => remove(process));
  }

  /** Removes a process from the idle ones. Returns undefined if it is not one of them. */
  function remove(process: TrainerProcess): TrainerProcess | undefined {
    const found = idle.find((each) => each.process === process);
    if (!found) return undefined;
    clearTimeout(found.timer);
    idle = idle.filter((each) => each !== found);
    return process;
  }

  async function processFor({ trainerOptions, start }: TrainerRequest, key: string, signal: AbortSignal) {
    const warm = idle.findLast((each) => each.key === key);
    if (warm) {
      const process = remove(warm.process) ?? warm.process;
      const reused = await process.reopen(trainerOptions, signal).catch(async (error: unknown) => {
        await process.close();
        throw error;
      });
      if (reused) return process;
      await process.close();
    }
    while (idle[0] && open + idle.length > maxProcesses) await remove(idle[0].process)?.close();
    return await start(signal);
  }

  async function openTrainer(describe: () => Promise<TrainerRequest>, signal: AbortSignal): Promise<Trainer> {
    open++;
    let freed = false;
    const free = (): void => {
      if (!freed) open--;
      freed = true;
    };
    try {
      const request = await describe();
      const key = keyOf(request);
      const process = await processFor(request, key, signal);
      inUse.add(process);
      const end = (): void => {
        inUse.delete(process);
        free();
      };
      void process.exited.then(end);
      return process.trainer(request.adapter, async (released) => {
        inUse.delete(process);
        if (released && idleMs > 0 && !closed) keep(process, key);
        else await process.close();
        free();
      });
    } catch (error) {
      free();
      throw error;
    }
  }

  return {
    async open(describe, signal) {
      if (open >= maxProcesses) {
        const all = `${maxProcesses} of ${maxProcesses}`;
        throw new HeddleError("busy", `${all} trainers are open; close one before opening another`);
      }
      const opened = openTrainer(describe, signal);
      beingOpened.add(opened);
      try {
        return await opened;
      } finally {
        beingOpened.delete(opened);
      }
    },
    async close() {
      closed = true;
      await Promise.allSettled(beingOpened);
      const processes = [...inUse, ...idle.flatMap(({ process }) => remove(process) ?? [])];
      await Promise.allSettled(processes.map((process) => process.close()));
    },
  };
}

function keyOf({ trainerOptions, adapter }: TrainerRequest): string {
  const shape = adapter && [adapter.rank, adapter.alpha, adapter.targets.toSorted()];
  return JSON.stringify([trainerOptions.spec.weights.baseModel, shape ?? null]);
}
