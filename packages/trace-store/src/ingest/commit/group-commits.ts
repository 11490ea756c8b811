/** One request's share of a commit. */
export interface CommitEntry {
  bytes: number;
  rows: number;
}

export interface CommitQueue<Entry extends CommitEntry> {
  /** Adds to the next commit. Returns false, without adding, when too much waits already. */
  add(entry: Entry): boolean;
  /** What waits for a commit. */
  waiting(): CommitEntry & { requests: number };
  /** Runs a task between two commits. */
  runExclusive<T>(task: () => Promise<T>): Promise<T>;
  /** Commits what waits and stops; `add` takes nothing afterwards. */
  close(): Promise<void>;
}

/** Well below 64 MB one insert is one block, which is stored whole or not at all. */
const commitBytes = 56 * 1024 * 1024;
/** What is done before and after the insert takes a turn of the event loop: 20 ms for so many. */
export const commitRows = 8192;
const waitingBytes = 4 * commitBytes;
/** From this size a commit waits for half of the expected requests only, then for none. */
const waitForHalfBytes = 1024 * 1024;
/** From this size a commit takes no more than half of them. */
const takeHalfBytes = 2 * waitForHalfBytes;
const waitForNoneBytes = 16 * waitForHalfBytes;
/** From this size it waits a short time only. */
const shortWaitBytes = 128 * 1024;
const shortWaitRows = 50;
/** Of this many requests the cost of a commit is small. */
const shortWaitRequests = 8;
const shortestMs = 5;
const longestMs = 200;
/**
 * Shares of the time that commits take. Up to the first no request waits for others, from the second on it waits as long
 * as it may.
 */
const [lowShare, busyShare] = [0.5, 0.8];

/**
 * Groups requests into commits that run one after another. `commit` settles the entries itself and never rejects.
 *
 * A commit costs the engine a part and several fsyncs, whatever its size. So when commits take most of the time, small
 * requests wait up to twice as long as a commit, at most 200 ms, for more to come; else, and when one client sends one
 * after the other, they wait 5 ms. Large requests, and many at once, wait only for as many requests as were under way at
 * the last commit: their clients send the next request right after the response, and it belongs in the same commit. Of
 * oversized requests a commit takes half, and waits for it as long as the last commits took: the other half is prepared
 * meanwhile. Groups of different sizes would leave the engine or the main thread with nothing to do in every second one.
 */
export function groupCommits<Entry extends CommitEntry>(
  commit: (entries: Entry[]) => Promise<void>,
): CommitQueue<Entry> {
  let waiting: Entry[] = [];
  let bytes = 0;
  let rows = 0;
  /** When the first of them arrived, or the last commit ended. */
  let since = 0;
  /** When the last of them arrived. */
  let latest = 0;
  const tasks: Array<() => Promise<void>> = [];
  let closed = false;
  let usualMs = 0;
  /** Requests under way when the last commit ended: those in it and those that came meanwhile. */
  let expected = 1;
  let lastEnd = 0;
  /** Share of the time that the last commits took. */
  let busy = 0;
  let running: Promise<void> | undefined;
  let wake: (() => void) | undefined;

  const large = () => bytes >= shortWaitBytes || rows >= shortWaitRows || waiting.length >= shortWaitRequests;

  /** Whether the next commit need not wait for more. */
  const isDue = () =>
    closed || tasks.length > 0 || bytes >= waitForNoneBytes || (large() && waiting.length >= enough());

  const enough = () => (bytes >= waitForHalfBytes ? expected / 2 : expected);

  /** The next request of one client that sends one after the other: it came soon after the response to the last. */
  const isAlone = () => expected === 1 && waiting.length === 1 && since - lastEnd < usualMs / 2;

  /** Until when the next commit waits for more. */
  const waitsUntil = () => {
    const longest = since + Math.min(longestMs, usualMs);
    if (bytes >= waitForHalfBytes) return longest;
    // The requests of several clients are read one after another, and each takes milliseconds.
    if (large()) return Math.min(longest, Math.max(since, latest) + Math.min(20, usualMs / 4));
    if (isAlone() || since - lastEnd > longestMs) return since + shortestMs;
    const pressure = Math.min(1, Math.max(0, (busy - lowShare) / (busyShare - lowShare)));
    return since + Math.min(longestMs, Math.max(shortestMs, 2 * usualMs * pressure));
  };

  async function run(): Promise<void> {
    for (;;) {
      const task = tasks.shift();
      if (task !== undefined) await task();
      if (waiting.length > 0) {
        // At least one iteration of the event loop, for requests that came together.
        if (!isDue()) await pause(waitsUntil() - performance.now());
        while (!isDue() && waitsUntil() > performance.now()) await pause(waitsUntil() - performance.now());
        await commitOnce();
      } else if (tasks.length === 0) {
        // Here, not when the promise settles: a request may arrive in between.
        running = undefined;
        return;
      }
    }
  }

  async function commitOnce(): Promise<void> {
    let taken = 0;
    let takenBytes = 0;
    let takenRows = 0;
    for (const entry of waiting) {
      if (taken > 0 && (takenBytes + entry.bytes > commitBytes || takenRows + entry.rows > commitRows)) break;
      if (takenBytes >= takeHalfBytes && taken >= enough()) break;
      takenBytes += entry.bytes;
      takenRows += entry.rows;
      rows -= entry.rows;
      taken++;
    }
    const batch = waiting.slice(0, taken);
    waiting = waiting.slice(taken);
    bytes -= takenBytes;
    const start = performance.now();
    await commit(batch);
    const end = performance.now();
    const tookMs = end - start;
    busy = smoothed(busy, tookMs / Math.max(1, end - lastEnd));
    usualMs = usualMs === 0 ? tookMs : smoothed(usualMs, tookMs);
    lastEnd = end;
    since = end;
    expected = batch.length + waiting.length;
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, ms));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function start(): void {
    if (running !== undefined) {
      if (isDue()) wake?.();
    } else if (waiting.length > 0 || tasks.length > 0) running = run();
  }

  return {
    add(entry) {
      if (closed || bytes + entry.bytes > waitingBytes) return false;
      latest = performance.now();
      if (waiting.length === 0) since = latest;
      waiting.push(entry);
      bytes += entry.bytes;
      rows += entry.rows;
      start();
      return true;
    },
    waiting: () => ({ requests: waiting.length, rows, bytes }),
    runExclusive(task) {
      return new Promise((resolve, reject) => {
        tasks.push(() => task().then(resolve, reject));
        start();
      });
    },
    async close() {
      closed = true;
      start();
      await running;
    },
  };
}

/** The mean of what was measured, in which the last measurement counts most. */
function smoothed(mean: number, measured: number): number {
  return mean * 0.7 + measured * 0.3;
}
