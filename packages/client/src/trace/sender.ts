import { logOnce, platform, settings } from "./settings.js";

/** What waits at most; twice as much for the ends of calls that have started. */
const maxWaiting = { bytes: 16_000_000, records: 50_000 };
/** Of one request. */
const maxBatch = { bytes: 4_000_000, records: 1_000 };
const collecting = 200;
const attemptTimeout = 10_000;
const exitTimeout = 3_000;
const firstDelay = 500;
const maxDelay = 30_000;

/** As it is sent, so that bytes of any script are counted as what they are. */
let waiting: Uint8Array<ArrayBuffer>[] = [];
let bytes = 0;
let dropped = 0;
const encoder = new TextEncoder();
let sending: Promise<void> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let wake: () => void = () => undefined;
let attempt: AbortController | undefined;

/** A timer that does not keep the process alive. */
function later(run: () => void, milliseconds: number): ReturnType<typeof setTimeout> {
  const handle = setTimeout(run, milliseconds);
  (handle as { unref?: () => void }).unref?.();
  return handle;
}

function drop(count: number): void {
  dropped += count;
  logOnce("records of calls are dropped, more wait than may; how many is said when the service answers again.");
}

function tellDropped(): void {
  if (dropped > 0) logOnce(`${dropped} records of calls were dropped.`);
  dropped = 0;
}

/** Takes an item of `POST /call/upsert_batch`; false if too much waits for a service that is slow or away. */
export function send(item: string, isEnd: boolean): boolean {
  const allowance = isEnd ? 2 : 1;
  const record = encoder.encode(item);
  if (bytes + record.length > maxWaiting.bytes * allowance || waiting.length >= maxWaiting.records * allowance) {
    drop(1);
    return false;
  }
  waiting.push(record);
  bytes += record.length;
  exitHook();
  if (bytes > maxBatch.bytes || waiting.length > maxBatch.records) begin();
  else timer ??= later(begin, collecting);
  return true;
}

function begin(): void {
  clearTimeout(timer);
  timer = undefined;
  sending ??= sendAll().finally(() => (sending = undefined));
}

async function sendAll(): Promise<void> {
  let failures = 0;
  let most = maxBatch.records;
  while (waiting.length > 0) {
    let size = 0;
    let count = 0;
    while (count < Math.min(most, waiting.length) && (count === 0 || size + waiting[count]!.length < maxBatch.bytes))
      size += waiting[count++]!.length;
    const items = waiting.slice(0, count).flatMap((record, index) => (index > 0 ? [",", record] : [record]));
    const outcome = await post(new Blob(['{"batch":[', ...items, "]}"]), count);
    if (typeof outcome === "number") {
      const delay = Math.max(outcome, Math.min(maxDelay, firstDelay * 2 ** failures++) * (1 - Math.random() / 2));
      await new Promise<void>((resolve) => {
        wake = resolve;
        later(resolve, delay);
      });
    } else if (outcome === "too large") {
      most = count >> 1;
    } else {
      for (const { length } of waiting.splice(0, count)) bytes -= length;
      failures = 0;
      most = maxBatch.records;
      if (outcome === "stored") tellDropped();
    }
  }
}

/** What became of it: milliseconds to wait at least if it is to be sent again. Does not throw. */
async function post(body: Blob, count: number): Promise<"stored" | "refused" | "too large" | number> {
  const { baseUrl, apiKey } = settings();
  attempt = new AbortController();
  const limit = setTimeout(() => attempt?.abort(new Error("it does not answer")), attemptTimeout);
  try {
    const response = await fetch(`${baseUrl}/call/upsert_batch`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(apiKey ? { authorization: `Basic ${btoa(`api:${apiKey}`)}` } : {}),
      },
      body,
      signal: attempt.signal,
    });
    const text = await response.text();
    const { status } = response;
    if (response.ok) {
      if (text.includes('"error"'))
        logOnce(`${baseUrl} did not store some calls: ${text.slice(text.indexOf('"error"'), 500)}`);
      return "stored";
    }
    if (status === 413 && count > 1) return "too large";
    const passes = status === 408 || status === 429 || status >= 500;
    if (passes) {
      logOnce(`${baseUrl} answers ${status}, calls are sent again later.`);
      return Math.min(60_000, Math.max(0, wanted(response.headers.get("retry-after") ?? "")));
    }
    const remedy =
      status === 401 || status === 403 ? " Set HEDDLE_API_KEY to a key that may write to the project." : "";
    logOnce(`${baseUrl} refused calls with ${status}: ${text.slice(0, 300)}${remedy}`);
    return "refused";
  } catch (error) {
    const { message, cause } = error as { message?: string; cause?: { message?: string } };
    logOnce(
      `no service at ${baseUrl} (${cause?.message || message}), calls are sent later. Set HEDDLE_URL to its address.`,
    );
    return 0;
  } finally {
    clearTimeout(limit);
  }
}

/** Milliseconds: `Retry-After` is a number of seconds, or a date. */
const wanted = (after: string): number => Number(after) * 1_000 || Date.parse(after) - Date.now() || 0;

/**
 * Sends what waits; true when all of it has been sent, false when the time was over. Keeps the process alive until then.
 */
export async function flush(timeout = 10_000): Promise<boolean> {
  begin();
  wake();
  let limit: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => (limit = setTimeout(resolve, timeout, false)));
  const done = await Promise.race([sending?.then(() => true), late]);
  clearTimeout(limit);
  return done ?? true;
}

let hooked = false;

/** Before a process ends by itself it sends what waits, or says that it could not. */
function exitHook(): void {
  if (hooked) return;
  hooked = true;
  platform?.on?.("beforeExit", () => void atExit());
}

async function atExit(): Promise<void> {
  if (waiting.length === 0 && sending === undefined) return;
  if (await flush(exitTimeout)) return;
  logOnce(`the process ends, ${waiting.length + dropped} records of calls were not sent.`);
  waiting = [];
  bytes = 0;
  attempt?.abort();
  wake();
}
